package shaders

// Largest TopKParams.K, and the most groups of columns that the second step compares.
const (
	MaxTopK       = 64
	maxTopKGroups = 512
)

// TopK selects one of the two steps of finding the largest elements of each row.
type TopK struct{ Merge bool }

// Program implements Variant.
func (v TopK) Program() Program {
	defines := map[string]string{}
	if v.Merge {
		defines["MERGE"] = "1"
	}
	return Program{
		File: "topk.wgsl", Entry: "topk", Defines: defines,
		Bindings: []Access{Read, Read, ReadWrite, ReadWrite, ReadWrite, Uniform}, // x, at, found, values, ids, params
	}
}

// TopKParams: found holds Words words.
type TopKParams struct {
	Rows         uint32
	N            uint32
	K            uint32 // at most MaxTopK and N
	XOff         uint32
	XStride      uint32
	AtOff        uint32
	Places       uint32 // rows of values and ids
	ValuesOff    uint32
	ValuesStride uint32
	IDOff        uint32
	IDStride     uint32
	Groups       uint32 // of columns, at most maxTopKGroups
	Size         uint32 // columns of a group
	Pad0         uint32
	Pad1         uint32
	Pad2         uint32
}

// Group sets Groups and Size for rows of N.
func (p *TopKParams) Group() {
	p.Size = max(32, (p.N+maxTopKGroups-1)/maxTopKGroups)
	p.Groups = (p.N + p.Size - 1) / p.Size
}

// Words returns the size of found: the first of every group, and what may be in the chosen groups.
func (p TopKParams) Words() int {
	return int(p.Rows) * 2 * (int(p.Groups) + int(min(p.K, p.Groups))*int(p.Size))
}

// Grid returns the workgroups of a step.
func (v TopK) Grid(p TopKParams) Grid {
	if v.Merge {
		return Fold(int(p.Rows))
	}
	return Fold(int(p.Rows) * int(p.Groups))
}
