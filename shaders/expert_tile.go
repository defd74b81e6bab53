package shaders

// ExpertTile selects the matrix product in which every row, here called a slot, has the matrix of an expert, in tiles of slots
// that have the same one: matmul_tile.wgsl with the rows that ExpertSort{Tile.Rows} has sorted.
type ExpertTile struct {
	Format string
	Packed bool
	Tile   Tile
}

// Storage returns the workgroup memory it needs, in bytes: beside the tile where its rows of x begin.
func (v ExpertTile) Storage() int { return v.Tile.Bytes() + 4*v.Tile.Rows }

// Program implements Variant.
func (v ExpertTile) Program() Program {
	p := MatMul(v).Program()
	p.Defines["GATHER"] = "1"
	p.Bindings = []Access{Read, Read, Read, Read, ReadWrite, Uniform} // w, scales or w again, x, order, dst, params
	return p
}

// ExpertTileParams: dst[s, o] = sum over k of x[s/PerRow, k] * w[ids[s]*M + o, k] for every s < Slots and o from Col0 to
// Col0+Cols-1 whose row of w is one of RowLo..RowHi-1, which are what the bound part of w holds. A slot whose id is not below
// Experts gets zeros, in every dispatch. Offsets and strides are in elements.
type ExpertTileParams struct {
	K         uint32 // row length of w and x; a multiple of the format's block
	M         uint32 // rows of one expert
	Slots     uint32
	PerRow    uint32 // slots that share a row of x
	XOff      uint32 // [slots/perRow, k]
	XStride   uint32
	DstOff    uint32 // [slots, m]
	DstStride uint32
	Experts   uint32
	RowLo     uint32 // first row of w of this binding
	RowHi     uint32 // one past its last
	RowUnits  uint32 // of a packed row: units of 32 elements, in Q8_0 groups of 512
	Col0      uint32 // first column of this dispatch
	Cols      uint32 // of this dispatch
	Tiles     uint32 // that the slots are cut into
	Pad0      uint32
}

// Grid returns the workgroups: one for each tile of the output, empty ones among them.
func (v ExpertTile) Grid(p ExpertTileParams) Grid {
	return Fold(ceilDiv(p.Cols, uint32(v.Tile.Cols)) * int(p.Tiles))
}
