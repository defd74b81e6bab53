package shaders

import "strconv"

// Tile is the shape of what one workgroup of a product computes; a thread makes 8×8 outputs.
type Tile struct {
	Rows, Cols int // multiples of 16
	Depth      int // elements of x and w in workgroup memory, a multiple of a sixteenth of either
}

// Threads returns the threads of a workgroup.
func (t Tile) Threads() int { return t.Rows / 8 * (t.Cols / 8) }

// Bytes returns the workgroup memory that it takes.
func (t Tile) Bytes() int { return 4 * t.Depth * (t.Rows + t.Cols) }

func (t Tile) defines() map[string]string {
	defines := map[string]string{}
	for name, n := range map[string]int{"TM": t.Rows, "TN": t.Cols, "DEPTH": t.Depth, "THREADS": t.Threads()} {
		defines[name] = strconv.Itoa(n) + "u"
	}
	return defines
}

// MatMulPanel selects the matrix product for many rows of matrices in panels (Panel): of x as wide as the tile has rows, of w
// as it has columns.
type MatMulPanel struct{ Tile Tile }

// Storage returns the workgroup memory it needs, in bytes.
func (v MatMulPanel) Storage() int { return v.Tile.Bytes() }

// Program implements Variant.
func (v MatMulPanel) Program() Program {
	return Program{
		File: "matmul_panel.wgsl", Entry: "matmul_panel", Defines: v.Tile.defines(),
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // w, x, dst, params
	}
}

// MatMulPanelParams: dst[r, o] = sum over k of x[r, k] * w[o, k] for every r < Rows and o < M. With Parts above 1 each of them
// sums over Part elements, the last over those that are left, and dst is [Parts, Rows, M].
type MatMulPanelParams struct {
	Depth     uint32 // of the panels, a multiple of the tile's
	M         uint32
	Rows      uint32
	DstOff    uint32 // [rows, m]
	DstStride uint32
	Part      uint32 // a multiple of the tile's depth
	Parts     uint32
	Add       uint32 // 1: dst has sums to add to
}

// Grid returns the workgroups: one for each part of each tile of the output.
func (v MatMulPanel) Grid(p MatMulPanelParams) Grid {
	return Fold(ceilDiv(p.M, uint32(v.Tile.Cols)) * ceilDiv(p.Rows, uint32(v.Tile.Rows)) * int(p.Parts))
}
