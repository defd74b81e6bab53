package shaders

// MatMulSum selects the sum over the parts that MatMulPanel has split a product's sums into.
type MatMulSum struct{}

// Program implements Variant.
func (MatMulSum) Program() Program {
	return Program{
		File: "matmul_sum.wgsl", Entry: "matmul_sum",
		Bindings: []Access{Read, ReadWrite, Uniform}, // parts, dst, params
	}
}

// MatMulSumParams: dst is [Rows, M], parts [Parts, Rows, M].
type MatMulSumParams struct {
	M         uint32
	Rows      uint32
	Parts     uint32
	DstOff    uint32
	DstStride uint32
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row.
func (p MatMulSumParams) Grid() Grid { return spanGrid(p.Rows, p.M) }
