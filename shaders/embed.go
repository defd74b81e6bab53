package shaders

// Embed selects the embedding look-up for a table of the given format ("F32", "Q8_0", ...).
type Embed struct {
	Format string
	Packed bool
}

// Program implements Variant.
func (v Embed) Program() Program {
	defines, bindings := formatDefine(v.Format), []Access{Read, Read, ReadWrite, Uniform} // table, tokens, dst, params
	if v.Packed {
		packedDefine(v.Format, defines)
		bindings = []Access{Read, Read, Read, ReadWrite, Uniform} // table, scales, tokens, dst, params
	}
	return Program{File: "embed.wgsl", Entry: "embed", Defines: defines, Bindings: bindings}
}

// EmbedParams covers the table rows RowLo..RowHi-1, which are what the bound table holds: a table split over
// several bindings takes one dispatch for each part, and each writes only the rows whose token it holds.
type EmbedParams struct {
	N         uint32 // row length in elements
	Rows      uint32 // tokens
	TokensOff uint32
	DstOff    uint32
	DstStride uint32
	RowLo     uint32 // first table row of this binding
	RowHi     uint32 // one past its last
	RowUnits  uint32 // of a packed row: units of 32 elements, in Q8_0 groups of 512
}

// Grid returns the workgroups: one a token.
func (p EmbedParams) Grid() Grid { return Fold(int(p.Rows)) }
