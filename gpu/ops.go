//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// u32 converts a checked size or offset, which is below the largest binding's number of words.
func u32(n int) uint32 { return uint32(n) }

// Embed writes row tokens[i] of table into row i of dst. A token id outside the table gives a row of zeros.
func (b *Backend) Embed(dst backend.Tensor, table backend.Weight, tokens backend.Tensor) {
	const op = "Embed"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(table)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, w.n)
	t := c.tensor("tokens", tokens, 1, dst.Rows)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"tokens", tokens}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	// Each part of the table writes the rows that it holds; a token that none holds leaves zeros.
	if dst.Stride == dst.N {
		b.clearWords(op, d, dst.Off, dst.Span())
	} else {
		for r := range dst.Rows {
			b.clearWords(op, d, dst.Off+r*dst.Stride, dst.N)
		}
	}
	for _, k := range w.chunks {
		p := shaders.EmbedParams{
			N: u32(w.n), Rows: u32(dst.Rows), TokensOff: u32(tokens.Off),
			DstOff: u32(dst.Off), DstStride: u32(dst.Stride), RowLo: u32(k.lo), RowHi: u32(k.hi),
		}
		b.dispatch(op, shaders.Embed{Format: w.format.String()}, p, p.Grid(), whole(k.buf), whole(t), whole(d))
	}
}

// MatMul: dst[r,o] = sum over k of x[r,k] * w[o,k]. dst: [rows, w.Rows()], x: [rows, w.N()]. Few rows go through
// the matrix-vector kernel, many through the tiled one.
func (b *Backend) MatMul(dst, x backend.Tensor, weight backend.Weight) {
	const op = "MatMul"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(weight)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, w.rows)
	s := c.tensor("x", x, dst.Rows, w.n)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	for _, k := range w.chunks {
		p := shaders.MatMulParams{
			K: u32(w.n), M: u32(k.hi - k.lo), Rows: u32(dst.Rows), XOff: u32(x.Off), XStride: u32(x.Stride),
			DstOff: u32(dst.Off + k.lo), DstStride: u32(dst.Stride),
		}
		var v shaders.Variant = shaders.MatMul{Format: w.format.String()}
		grid := p.TileGrid()
		if dst.Rows <= b.matVecRows {
			v, grid = shaders.MatVec{Format: w.format.String()}, p.Grid()
		}
		b.dispatch(op, v, p, grid, whole(k.buf), whole(s), whole(d))
	}
}
