package shaders

import "strconv"

// MatMul selects the matrix product for many rows, tiled through workgroup memory.
type MatMul struct{ Format string }

// matMulTile is the edge of the square of outputs that one workgroup computes; the kernel gets it
// as TILE.
const matMulTile = 64

// Program implements Variant.
func (v MatMul) Program() Program {
	defines := formatDefine(v.Format)
	defines["TILE"] = strconv.Itoa(matMulTile) + "u"
	return Program{
		File:     "matmul.wgsl",
		Entry:    "matmul",
		Defines:  defines,
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // w, x, dst, params
	}
}

// TileGrid returns the workgroups of MatMul: one for each tile of the output.
func (p MatMulParams) TileGrid() Grid {
	return Fold(ceilDiv(p.M, matMulTile) * ceilDiv(p.Rows, matMulTile))
}

// ceilDiv returns a/b rounded up, for b > 0.
func ceilDiv(a, b uint32) int { return (int(a) + int(b) - 1) / int(b) }
