//go:build cgo

package gpu

import (
	"fmt"

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
		if k.row0 != 0 {
			b.fail(op, fmt.Errorf("%s is joined with other weights", w.name))
			return
		}
		p := shaders.EmbedParams{
			N: u32(w.n), Rows: u32(dst.Rows), TokensOff: u32(tokens.Off),
			DstOff: u32(dst.Off), DstStride: u32(dst.Stride), RowLo: u32(k.lo), RowHi: u32(k.hi),
			RowUnits: u32(w.rowUnits()),
		}
		v := shaders.Embed{Format: w.format.String(), Packed: w.packing != nil}
		b.dispatch(op, v, p, p.Grid(), append(w.bindings(k), whole(t), whole(d))...)
	}
}
