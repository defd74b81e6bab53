package shaders

// ExpertMatMul selects the matrix product in which every row, here called a slot, has the matrix of an expert.
type ExpertMatMul struct {
	Format string
	Packed bool
}

// Program implements Variant.
func (v ExpertMatMul) Program() Program {
	defines, bindings := formatDefine(v.Format), []Access{Read, Read, Read, ReadWrite, Uniform} // w, x, ids, dst, params
	if v.Packed {
		packedDefine(v.Format, defines)
		bindings = []Access{Read, Read, Read, Read, ReadWrite, Uniform} // w, scales, x, ids, dst, params
	}
	return Program{File: "expert_matmul.wgsl", Entry: "expert_matmul", Defines: defines, Bindings: bindings}
}

// ExpertMatMulParams: dst[s, o] = sum over k of x[s/PerRow, k] * w[ids[s]*M + o, k] for every s < Slots, o < M whose
// row of w is one of RowLo..RowHi-1, which are what the bound part of w holds: a weight split over several bindings
// takes one dispatch for each part. An id that is not below Experts gives zeros, in every dispatch. Offsets and
// strides are in elements.
type ExpertMatMulParams struct {
	K         uint32 // row length of w and x; a multiple of the format's block
	M         uint32 // rows of one expert
	Slots     uint32
	PerRow    uint32 // slots that share a row of x
	XOff      uint32 // [slots/perRow, k]
	XStride   uint32
	DstOff    uint32 // [slots, m]
	DstStride uint32
	IDOff     uint32 // [slots] u32
	Experts   uint32
	RowLo     uint32 // first row of w of this binding
	RowHi     uint32 // one past its last
	RowUnits  uint32 // of a packed row: units of 32 elements, in Q8_0 groups of 512
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups: one an output.
func (p ExpertMatMulParams) Grid() Grid {
	g := Fold(int(p.M))
	g.Z = min(p.Slots, MaxGridDim)
	return g
}
