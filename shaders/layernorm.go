package shaders

// LayerNorm selects the norm by mean and variance, with a bias or without.
type LayerNorm struct{ Bias bool }

// Program implements Variant.
func (v LayerNorm) Program() Program {
	p := Program{
		File:     "layernorm.wgsl",
		Entry:    "layernorm",
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // src, w, dst, params
	}
	if v.Bias {
		p.Defines = map[string]string{"BIAS": "1"}
		p.Bindings = []Access{Read, Read, ReadWrite, Read, Uniform} // src, w, dst, bias, params
	}
	return p
}

// LayerNormParams: offsets and strides are in f32 elements.
type LayerNormParams struct {
	Rows      uint32
	N         uint32
	SrcOff    uint32 // [rows, n]
	SrcStride uint32
	DstOff    uint32 // [rows, n]
	DstStride uint32
	WOff      uint32 // [n]
	BiasOff   uint32 // [n], read with Bias alone
	EpsBits   uint32 // bits of the f32 epsilon
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups: one a row.
func (p LayerNormParams) Grid() Grid { return Fold(int(p.Rows)) }
