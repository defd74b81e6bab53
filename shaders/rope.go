package shaders

// RoPE selects which elements of a head form a pair: "norm" is (0,1), (2,3), ..., "neox" is (0,rotDim/2),
// (1,rotDim/2+1), ...
type RoPE struct{ Style string }

// Program implements Variant.
func (v RoPE) Program() Program {
	return Program{
		File:     "rope.wgsl",
		Entry:    "rope",
		Defines:  map[string]string{"STYLE_" + upper(v.Style): "1"},
		Bindings: []Access{ReadWrite, Read, Read, Uniform}, // x, pos, table, params
	}
}

// RoPEParams rotates the first RotDim elements of every head. Row p of the table holds cos and sin of pair j at
// columns 2j and 2j+1; its stride is RotDim.
type RoPEParams struct {
	Rows     uint32 // tokens
	NHead    uint32
	HeadDim  uint32 // elements a head
	RotDim   uint32 // rotated elements a head, even, <= HeadDim
	XOff     uint32 // [rows, nHead*headDim]
	XStride  uint32
	PosOff   uint32 // [rows] u32
	TableOff uint32 // [positions, rotDim]
}

// Grid returns the workgroups: one for each row and head.
func (p RoPEParams) Grid() Grid { return Fold(int(p.Rows) * int(p.NHead)) }
