package shaders

// GatedAct selects the activation ("silu", "gelu_tanh", "clamped_swiglu") of a gated MLP: dst[r, i] = act(gate[r, i]) *
// up[r, i], or for clamped_swiglu g / (1 + exp(-alpha*g)) * (u + 1), where g = min(gate, limit) and u is up between
// -limit and limit.
type GatedAct struct{ Act string }

// Program implements Variant.
func (v GatedAct) Program() Program {
	return Program{
		File:     "gated_act.wgsl",
		Entry:    "gated_act",
		Defines:  actDefine(v.Act),
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
	LimitBits  uint32 // bits of an f32, for clamped_swiglu alone
	AlphaBits  uint32 // the same
	Pad0       uint32
	Pad1       uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p GatedActParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
