package shaders

// MatVec selects the matrix product for few rows: one workgroup for each weight row and activation row.
type MatVec struct{ Format string }

// Program implements Variant.
func (v MatVec) Program() Program {
	return Program{
		File:     "matvec.wgsl",
		Entry:    "matvec",
		Defines:  formatDefine(v.Format),
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // w, x, dst, params
	}
}

// MatVecParams: dst[r, o] = sum over k of x[r, k] * w[o, k] for r < Rows, o < M. Offsets and
// strides are in f32 elements.
type MatVecParams struct {
	K         uint32 // row length of w and x in elements; a multiple of the format's block
	M         uint32 // weight rows in this binding
	Rows      uint32 // activation rows
	XOff      uint32
	XStride   uint32
	DstOff    uint32 // includes the column of this binding's first weight row
	DstStride uint32
	Row0      uint32 // weight row of output 0 in this binding
}

// Grid returns the workgroups of MatVec: one an output.
func (p MatVecParams) Grid() Grid {
	g := Fold(int(p.M))
	g.Z = min(p.Rows, MaxGridDim)
	return g
}
