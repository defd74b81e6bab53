package shaders

// ArgMax selects one of the two steps of finding the largest element of each row.
type ArgMax struct{ Merge bool }

// Program implements Variant.
func (v ArgMax) Program() Program {
	defines := map[string]string{}
	if v.Merge {
		defines["MERGE"] = "1"
	}
	return Program{
		File: "argmax.wgsl", Entry: "argmax", Defines: defines,
		Bindings: []Access{Read, ReadWrite, ReadWrite, Uniform}, // x, found, ids, params
	}
}

// ArgMaxParams: found holds 2*Rows*Parts words.
type ArgMaxParams struct {
	Rows    uint32
	N       uint32
	XOff    uint32
	XStride uint32
	IDOff   uint32
	Parts   uint32 // workgroups a row in the first step
	Pad0    uint32
	Pad1    uint32
}

// Grid returns the workgroups of a step.
func (v ArgMax) Grid(p ArgMaxParams) Grid {
	if v.Merge {
		return Fold(int(p.Rows))
	}
	return Fold(int(p.Rows) * int(p.Parts))
}
