package shaders

// AddGated selects dst[r, i] += x[r, i] / (1 + exp(-gate[r, 0])).
type AddGated struct{}

// Program implements Variant.
func (AddGated) Program() Program {
	return Program{
		File:     "add_gated.wgsl",
		Entry:    "add_gated",
		Bindings: []Access{ReadWrite, Read, Read, Uniform}, // dst, x, gate, params
	}
}

// AddGatedParams: dst and x are [Rows, N], gate [Rows, 1]; offsets and strides in f32 elements.
type AddGatedParams struct {
	Rows       uint32
	N          uint32
	DstOff     uint32
	DstStride  uint32
	XOff       uint32
	XStride    uint32
	GateOff    uint32
	GateStride uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p AddGatedParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
