package shaders

// GatedAct selects the activation ("silu") of a gated MLP: dst[r, i] = act(gate[r, i]) * up[r, i].
type GatedAct struct{ Act string }

// Program implements Variant.
func (v GatedAct) Program() Program {
	return Program{
		File:     "gated_act.wgsl",
		Entry:    "gated_act",
		Defines:  map[string]string{"ACT_" + upper(v.Act): "1"},
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // gate, up, dst, params
	}
}

// GatedActParams: all three matrices are [Rows, N]; offsets and strides in f32 elements.
type GatedActParams struct {
	Rows       uint32
	N          uint32
	GateOff    uint32
	GateStride uint32
	UpOff      uint32
	UpStride   uint32
	DstOff     uint32
	DstStride  uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p GatedActParams) Grid() Grid { return Fold(int(p.Rows) * ceilDiv(p.N, rowSpan)) }
