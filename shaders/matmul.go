package shaders

import (
	"maps"
	"strconv"
)

// MatMul selects the matrix product for many rows, tiled through workgroup memory.
type MatMul struct {
	Format string
	Packed bool
	Tile   Tile
}

// Tile is the shape of what one workgroup of MatMul computes; a thread makes 8×8 outputs.
type Tile struct {
	Rows, Cols int // multiples of 16
	Depth      int // columns of x and w in workgroup memory, a multiple of 4
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

// Storage returns the workgroup memory it needs, in bytes.
func (v MatMul) Storage() int { return v.Tile.Bytes() }

// Program implements Variant.
func (v MatMul) Program() Program {
	defines := formatDefine(v.Format)
	maps.Copy(defines, v.Tile.defines())
	bindings := []Access{Read, Read, ReadWrite, Uniform} // w, x, dst, params
	if v.Packed {
		packedDefine(v.Format, defines)
		bindings = []Access{Read, Read, Read, ReadWrite, Uniform} // w, scales, x, dst, params
	}
	return Program{File: "matmul_tile.wgsl", Entry: "matmul_tile", Defines: defines, Bindings: bindings}
}

// Grid returns the workgroups: one for each tile of the output.
func (v MatMul) Grid(p MatMulParams) Grid {
	return Fold(ceilDiv(p.M, uint32(v.Tile.Cols)) * ceilDiv(p.Rows, uint32(v.Tile.Rows)))
}

// ceilDiv returns a/b rounded up, for b > 0.
func ceilDiv(a, b uint32) int { return (int(a) + int(b) - 1) / int(b) }
