//go:build cgo

package gpu

import (
	"fmt"

	"cera/backend"
	"cera/shaders"
)

// Route picks the p.Used experts of every row with the largest logits, the largest first and the lower expert where
// two are equal. logits: [rows, experts]; ids: [rows, Used] u32; weights: [rows, Used]. NaN comes last of all logits:
// the ids are experts that there are, each once, whatever the logits hold.
func (b *Backend) Route(ids, weights, logits backend.Tensor, p backend.Router) {
	const op = "Route"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	if p.Kind != backend.SoftmaxTopK && p.Kind != backend.TopKSoftmax {
		c.fail("unknown kind %d", uint8(p.Kind))
	}
	l := c.tensor("logits", logits, anySize, anySize)
	if c.err == nil && (p.Used <= 0 || p.Used > logits.N) {
		c.fail("found %d used experts of the %d that logits has, expected 1 to all of them", p.Used, logits.N)
	}
	is := c.tensor("ids", ids, logits.Rows, p.Used)
	ws := c.tensor("weights", weights, logits.Rows, p.Used)
	c.exclusive([]operand{{"ids", ids}, {"weights", weights}}, []operand{{"logits", logits}})
	if !c.ok() || logits.Rows == 0 {
		return
	}
	s := shaders.RouteParams{
		Rows: u32(logits.Rows), Experts: u32(logits.N), Used: u32(p.Used),
		LogitsOff: u32(logits.Off), LogitsStride: u32(logits.Stride),
		IDOff: u32(ids.Off), IDStride: u32(ids.Stride), WeightsOff: u32(weights.Off), WeightsStride: u32(weights.Stride),
	}
	// The sum over all experts divides out where the weights are normalized.
	if p.Kind == backend.TopKSoftmax || p.Normalize {
		s.OfPicked = 1
	}
	b.dispatch(op, shaders.Route{}, s, s.Grid(), whole(l), whole(is), whole(ws))
}

// ExpertMatMul: dst[s,o] = sum over k of x[s/(slots/xRows),k] * w[ids[s]*m+o,k]. dst: [slots, m]; x: [xRows, k], where
// xRows divides slots; w: [experts*m, k]; ids: [1, slots] u32. An id past the experts gives a row of zeros. Many slots are
// sorted by expert and multiplied in panels, see expertPanels.
func (b *Backend) ExpertMatMul(dst, x backend.Tensor, weight backend.Weight, ids backend.Tensor) {
	const op = "ExpertMatMul"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(weight)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, anySize)
	if c.err == nil && (dst.N == 0 || w.rows%dst.N != 0) {
		c.fail("w: found %d rows in %s, expected a multiple of %d, the row length of dst", w.rows, w.name, dst.N)
	}
	s := c.tensor("x", x, anySize, w.n)
	if c.err == nil && (x.Rows == 0 && dst.Rows > 0 || x.Rows > 0 && dst.Rows%x.Rows != 0) {
		c.fail("x: found %d rows, expected a number that divides the %d rows of dst", x.Rows, dst.Rows)
	}
	is := c.tensor("ids", ids, 1, dst.Rows)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}, {"ids", ids}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	for _, k := range w.chunks {
		if k.row0 != 0 {
			b.fail(op, fmt.Errorf("%s is joined with other weights", w.name))
			return
		}
	}
	experts := w.rows / dst.N
	if n := b.expertPanels(dst.Rows, experts, dst.N, w.n, w.chunks[0].hi); n.step > 0 {
		b.expertMatMulPanels(op, n, w, x, dst, ids, s, is, d)
		return
	}
	if w.units(x) > 0 && dst.Rows <= shaders.MaxGridDim {
		b.expertVec(op, w, x, dst, ids, s, is, d)
		return
	}
	v := shaders.ExpertMatMul{Format: w.format.String(), Packed: w.packing != nil}
	for _, k := range w.chunks {
		p := shaders.ExpertMatMulParams{
			K: u32(w.n), M: u32(dst.N), Slots: u32(dst.Rows), PerRow: u32(dst.Rows / x.Rows),
			XOff: u32(x.Off), XStride: u32(x.Stride),
			DstOff: u32(dst.Off), DstStride: u32(dst.Stride), IDOff: u32(ids.Off), Experts: u32(experts),
			RowLo: u32(k.lo), RowHi: u32(k.hi), RowUnits: u32(w.rowUnits()),
		}
		b.dispatch(op, v, p, p.Grid(), append(w.bindings(k), whole(s), whole(is), whole(d))...)
	}
}

// ExpertBias: x[s,i] += bias[ids[s],i], in place. bias: [experts, n]; ids: [1, slots] u32. A row whose id is past the
// experts stays as it is.
func (b *Backend) ExpertBias(x, bias, ids backend.Tensor) {
	const op = "ExpertBias"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("x", x, anySize, anySize)
	s := c.tensor("bias", bias, anySize, x.N)
	is := c.tensor("ids", ids, 1, x.Rows)
	c.exclusive([]operand{{"x", x}}, []operand{{"bias", bias}, {"ids", ids}})
	if !c.ok() || x.Span() == 0 {
		return
	}
	p := shaders.ExpertBiasParams{
		Slots: u32(x.Rows), N: u32(x.N), Experts: u32(bias.Rows), XOff: u32(x.Off), XStride: u32(x.Stride),
		BiasOff: u32(bias.Off), BiasStride: u32(bias.Stride), IDOff: u32(ids.Off),
	}
	b.dispatch(op, shaders.ExpertBias{}, p, p.Grid(), whole(d), whole(s), whole(is))
}

// Combine: dst[r,i] = sum over j of weights[r,j] * x[r*used+j,i]. dst: [rows, n]; weights: [rows, used]; x:
// [rows*used, n].
func (b *Backend) Combine(dst, x, weights backend.Tensor) {
	const op = "Combine"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	ws := c.tensor("weights", weights, dst.Rows, anySize)
	s := c.tensor("x", x, dst.Rows*weights.N, dst.N)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}, {"weights", weights}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.CombineParams{
		Rows: u32(dst.Rows), N: u32(dst.N), Used: u32(weights.N), XOff: u32(x.Off), XStride: u32(x.Stride),
		WeightsOff: u32(weights.Off), WeightsStride: u32(weights.Stride), DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
	}
	b.dispatch(op, shaders.Combine{}, p, p.Grid(), whole(s), whole(ws), whole(d))
}
