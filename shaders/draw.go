package shaders

// Draw selects the random choice among the largest elements.
type Draw struct{}

// Program implements Variant.
func (Draw) Program() Program {
	return Program{
		File: "draw.wgsl", Entry: "draw",
		Bindings: []Access{Read, Read, Read, Read, Read, ReadWrite, Uniform}, // values, ids, u, at, p, chosen, params
	}
}

// DrawParams holds offsets and strides in words.
type DrawParams struct {
	K            uint32 // elements of a row of values, at most MaxTopK
	Places       uint32 // rows of values and ids
	ValuesOff    uint32
	ValuesStride uint32
	IDOff        uint32
	IDStride     uint32
	UOff         uint32
	Draws        uint32 // random numbers in u
	AtOff        uint32
	POff         uint32
	ChosenOff    uint32
	Pad0         uint32
}

// Grid returns the workgroups: one.
func (DrawParams) Grid() Grid { return Grid{1, 1, 1} }
