package shaders

// ExpertBias selects x[s, i] += bias[ids[s], i].
type ExpertBias struct{}

// Program implements Variant.
func (ExpertBias) Program() Program {
	return Program{
		File:     "expert_bias.wgsl",
		Entry:    "expert_bias",
		Bindings: []Access{ReadWrite, Read, Read, Uniform}, // x, bias, ids, params
	}
}

// ExpertBiasParams: offsets and strides are in elements. A row whose id is not below Experts stays as it is.
type ExpertBiasParams struct {
	Slots      uint32
	N          uint32
	Experts    uint32
	XOff       uint32 // [slots, n]
	XStride    uint32
	BiasOff    uint32 // [experts, n]
	BiasStride uint32
	IDOff      uint32 // [slots] u32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p ExpertBiasParams) Grid() Grid { return spanGrid(p.Slots, p.N) }
