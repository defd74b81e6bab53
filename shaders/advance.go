package shaders

// Advance selects the end of a step of decoding.
type Advance struct{}

// Program implements Variant.
func (Advance) Program() Program {
	return Program{
		File: "advance.wgsl", Entry: "advance",
		Bindings: []Access{ReadWrite, ReadWrite, ReadWrite, Read, Uniform}, // token, pos, history, ids, params
	}
}

// AdvanceParams holds offsets in words.
type AdvanceParams struct {
	TokenOff   uint32
	PosOff     uint32
	HistoryOff uint32
	Positions  uint32 // length of the history
	IDOff      uint32
	Pad0       uint32
	Pad1       uint32
	Pad2       uint32
}

// Grid returns the workgroups: one.
func (AdvanceParams) Grid() Grid { return Grid{1, 1, 1} }
