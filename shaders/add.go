package shaders

// Add selects dst[r, i] += x[r, i].
type Add struct{}

// Program implements Variant.
func (Add) Program() Program {
	return Program{
		File:     "add.wgsl",
		Entry:    "add",
		Bindings: []Access{ReadWrite, Read, Uniform}, // dst, x, params
	}
}

// AddParams: dst and x are [Rows, N]; offsets and strides in f32 elements.
type AddParams struct {
	Rows      uint32
	N         uint32
	DstOff    uint32
	DstStride uint32
	XOff      uint32
	XStride   uint32
	Pad0      uint32
	Pad1      uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p AddParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
