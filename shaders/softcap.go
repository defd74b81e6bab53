package shaders

// Softcap selects x[r, i] = limit * tanh(x[r, i] / limit).
type Softcap struct{}

// Program implements Variant.
func (Softcap) Program() Program {
	return Program{
		File:     "softcap.wgsl",
		Entry:    "apply_softcap",
		Bindings: []Access{ReadWrite, Uniform}, // x, params
	}
}

// SoftcapParams: x is [Rows, N]; the offset and the stride in f32 elements.
type SoftcapParams struct {
	Rows      uint32
	N         uint32
	XOff      uint32
	XStride   uint32
	LimitBits uint32 // bits of the f32 limit, above 0
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p SoftcapParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
