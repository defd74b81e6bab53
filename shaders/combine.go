package shaders

// Combine selects dst[r, i] = sum over j of weights[r, j] * x[r*used+j, i].
type Combine struct{}

// Program implements Variant.
func (Combine) Program() Program {
	return Program{
		File:     "combine.wgsl",
		Entry:    "combine",
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // x, weights, dst, params
	}
}

// CombineParams: offsets and strides are in f32 elements.
type CombineParams struct {
	Rows          uint32
	N             uint32
	Used          uint32 // rows of x for each row of dst
	XOff          uint32 // [rows*used, n]
	XStride       uint32
	WeightsOff    uint32 // [rows, used]
	WeightsStride uint32
	DstOff        uint32 // [rows, n]
	DstStride     uint32
	Pad0          uint32
	Pad1          uint32
	Pad2          uint32
}

// Grid returns the workgroups: one for each stretch of 256 elements of a row of dst.
func (p CombineParams) Grid() Grid { return spanGrid(p.Rows, p.N) }
