package shaders

// AddBias selects x[r, i] += bias[i].
type AddBias struct{}

// Program implements Variant.
func (AddBias) Program() Program {
	return Program{
		File:     "add_bias.wgsl",
		Entry:    "add_bias",
		Bindings: []Access{ReadWrite, Read, Uniform}, // x, bias, params
	}
}

// AddBiasParams: x is [Rows, N], bias [N]; offsets and the stride in f32 elements.
type AddBiasParams struct {
	Rows    uint32
	N       uint32
	XOff    uint32
	XStride uint32
	BiasOff uint32
	Pad0    uint32
	Pad1    uint32
	Pad2    uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p AddBiasParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
