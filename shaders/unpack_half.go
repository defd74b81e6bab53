package shaders

// UnpackHalf selects the conversion of packed halves to f32, exact or by the built-in function.
type UnpackHalf struct{ BuiltIn bool }

// Program implements Variant.
func (v UnpackHalf) Program() Program {
	p := Program{
		File:     "unpack_half.wgsl",
		Entry:    "unpack_half",
		Defines:  map[string]string{},
		Bindings: []Access{Read, ReadWrite, Uniform}, // src, dst, params
	}
	if v.BuiltIn {
		p.Defines["BUILT_IN"] = "1"
	}
	return p
}

// UnpackHalfParams: dst is [Rows, N], src [Rows, ceil(N/2)] words of two halves; offsets and strides in words.
type UnpackHalfParams struct {
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
func (p UnpackHalfParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
