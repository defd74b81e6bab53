package shaders

// ExpertPanel selects the matrix product in which every row, here called a slot, has the matrix of an expert, in tiles of slots that
// have the same one: MatMulPanel on what ExpertSort{Tile.Rows} has sorted.
type ExpertPanel struct{ Tile Tile }

// Storage returns the workgroup memory it needs, in bytes.
func (v ExpertPanel) Storage() int { return v.Tile.Bytes() }

// Program implements Variant.
func (v ExpertPanel) Program() Program {
	p := MatMulPanel(v).Program()
	p.Defines["GATHER"] = "1"
	p.Bindings = []Access{Read, Read, Read, ReadWrite, Uniform} // w, x, order, dst, params
	return p
}

// ExpertPanelParams: dst[s, o] = sum over k of x[s/PerRow, k] * w[ids[s]*M + o, k] for every s < Slots and every o whose row of w
// is one of RowLo..RowHi-1, which are what the panels of w hold. Panel t of x (Panel{Gather}) has the rows of tile t. A slot whose id
// is not below Experts gets zeros.
type ExpertPanelParams struct {
	Depth     uint32 // of the panels, a multiple of the tile's
	M         uint32 // rows of one expert
	Slots     uint32
	Experts   uint32
	Tiles     uint32 // that the slots are cut into
	RowLo     uint32
	RowHi     uint32
	DstOff    uint32 // [slots, m]
	DstStride uint32
	Add       uint32 // 1: dst has sums to add to
	Pad0      uint32
	Pad1      uint32
}

// Grid returns the workgroups: one for each tile of the output, empty ones among them.
func (v ExpertPanel) Grid(p ExpertPanelParams) Grid {
	width := uint32(v.Tile.Cols)
	span := ceilDiv(p.M, width) // panels of w that have rows of one expert, at most
	if p.M%width != 0 || p.RowLo%width != 0 {
		span = int(p.M+width-2)/int(width) + 1
	}
	return Fold(int(p.Tiles) * span)
}
