package shaders

// Act selects an activation ("silu", "gelu_tanh"): dst[r, i] = act(src[r, i]).
type Act struct{ Act string }

// Program implements Variant.
func (v Act) Program() Program {
	return Program{
		File:     "act.wgsl",
		Entry:    "apply_act",
		Defines:  actDefine(v.Act),
		Bindings: []Access{Read, ReadWrite, Uniform}, // src, dst, params
	}
}

// ActParams: src and dst are [Rows, N]; offsets and strides in f32 elements.
type ActParams struct {
	Rows      uint32
	N         uint32
	SrcOff    uint32
	SrcStride uint32
	DstOff    uint32
	DstStride uint32
	Pad0      uint32
	Pad1      uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p ActParams) Grid() Grid { return spanGrid(p.Rows, p.N) }

// actDefine selects a function of activation.tmpl, or of a kernel's own.
func actDefine(act string) map[string]string { return map[string]string{"ACT_" + upper(act): "1"} }
