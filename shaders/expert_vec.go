package shaders

// ExpertVec selects the product of few slots with the matrices of their experts: matvec_packed.wgsl with a slot for its one row
// of x.
type ExpertVec struct {
	Format      string
	Threads     int
	Rows        int
	ExactHalves bool
}

func (v ExpertVec) matVec() MatVecPacked {
	return MatVecPacked{Format: v.Format, Threads: v.Threads, Rows: v.Rows, Tokens: 1, ExactHalves: v.ExactHalves}
}

// Storage returns the workgroup memory it needs, in bytes.
func (v ExpertVec) Storage() int { return v.matVec().Storage() }

// Program implements Variant.
func (v ExpertVec) Program() Program {
	p := v.matVec().Program()
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
