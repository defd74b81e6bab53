package shaders

// ExpertVec selects the product of few slots with the matrices of their experts: the product of one row of x, with a slot for
// that row.
type ExpertVec struct{ MatVecPacked }

// Program implements Variant.
func (v ExpertVec) Program() Program {
	p := v.MatVecPacked.Program()
	p.Defines["EXPERTS"] = "1"
	p.Bindings = []Access{Read, Read, Read, Read, ReadWrite, Uniform} // w, scales, x, ids, dst, params
	return p
}

// ExpertVecParams: as ExpertMatMulParams, but for units of a row, and offset and stride of x in vectors of four elements.
type ExpertVecParams struct {
	Units     uint32 // of a weight row
	M         uint32 // rows of one expert
	K4        uint32 // row length of x
	Tokens    uint32 // 1
	XOff4     uint32
	XStride4  uint32
	DstOff    uint32 // [slots, m]
	DstStride uint32
	PerRow    uint32 // slots that share a row of x
	IDOff     uint32 // [slots] u32
	Experts   uint32
	RowLo     uint32 // first row of w of this binding
	RowHi     uint32 // one past its last
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups for so many slots, MaxGridDim or fewer.
func (v ExpertVec) Grid(p ExpertVecParams, slots int) Grid {
	g := Fold(ceilDiv(p.M, uint32(v.Rows)))
	g.Z = uint32(slots)
	return g
}
