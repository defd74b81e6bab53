package shaders

// Scale selects x[r, i] *= factor.
type Scale struct{}

// Program implements Variant.
func (Scale) Program() Program {
	return Program{
		File:     "scale.wgsl",
		Entry:    "scale",
		Bindings: []Access{ReadWrite, Uniform}, // x, params
	}
}

// ScaleParams: x is [Rows, N]; the offset and the stride in f32 elements.
type ScaleParams struct {
	Rows       uint32
	N          uint32
	XOff       uint32
	XStride    uint32
	FactorBits uint32 // bits of the f32 factor
	Pad0       uint32
	Pad1       uint32
	Pad2       uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p ScaleParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
