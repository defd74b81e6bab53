//go:build cgo

package gpu

import (
	"fmt"

	"cera/backend"
	"cera/shaders"
)

// joint is what several weights are stored in, one under the other.
type joint struct {
	weights []*weight
	alive   int
}

// Join stores weights together, so that one dispatch multiplies all of them with the same x. It leaves them as they are
// where that is not possible: other formats or row lengths, weights of several parts, or a sum larger than a binding.
func (b *Backend) Join(ws ...backend.Weight) {
	const op = "Join"
	if !b.ready(op) {
		return
	}
	j := &joint{}
	quants, scales := 0, 0
	for _, x := range ws {
		w, err := b.weight(x)
		if err != nil {
			b.fail(op, err)
			return
		}
		first := w
		if len(j.weights) > 0 {
			first = j.weights[0]
		}
		if len(w.chunks) != 1 || w.joint != nil || w.format != first.format || w.n != first.n ||
			(w.packing == nil) != (first.packing == nil) || !w.wholeRows() {
			return
		}
		quants += w.chunks[0].buf.words
		if s := w.chunks[0].scales; s != nil {
			scales += s.words
		}
		j.weights = append(j.weights, w)
	}
	if len(j.weights) < 2 || int64(quants)*wordBytes > b.maxWeight {
		return
	}
	buf, err := b.newBuffer(j.weights[0].name+" and others", quants, weightBuffer, storageUsage)
	if err != nil {
		b.fail(op, err)
		return
	}
	var scalesBuf *buffer
	if scales > 0 {
		if scalesBuf, err = b.newBuffer(j.weights[0].name+" and others, scales", scales, weightBuffer,
			storageUsage); err != nil {
			b.freeBuffer(buf)
			b.fail(op, err)
			return
		}
	}
	row, q, s := 0, 0, 0
	for _, w := range j.weights {
		c := &w.chunks[0]
		b.copyWords(op, buf, q, c.buf, 0, c.buf.words)
		q += c.buf.words
		b.freeBuffer(c.buf)
		if c.scales != nil {
			b.copyWords(op, scalesBuf, s, c.scales, 0, c.scales.words)
			s += c.scales.words
			b.freeBuffer(c.scales)
		}
		c.buf, c.scales, c.row0 = buf, scalesBuf, row
		w.joint = j
		row += w.rows
	}
	j.alive = len(j.weights)
}

// wholeRows tells whether the weight's rows fill whole words, or groups, so that others may follow.
func (w *weight) wholeRows() bool {
	if p := w.packing; p != nil {
		return p.rowwise || w.rows*w.n%p.group == 0
	}
	return w.format.RowBytes(w.n)%wordBytes == 0
}

// joined returns whether weights are all of one joint, in its order.
func joined(ws []*weight) bool {
	j := ws[0].joint
	if j == nil || len(j.weights) != len(ws) {
		return false
	}
	for i, w := range ws {
		if w != j.weights[i] {
			return false
		}
	}
	return true
}

// MatMuls is a MatMul of x with each weight; three that are joined, and few rows of x, are one dispatch.
func (b *Backend) MatMuls(dst []backend.Tensor, x backend.Tensor, ws []backend.Weight) {
	const op = "MatMuls"
	if !b.ready(op) {
		return
	}
	if len(dst) != len(ws) {
		b.fail(op, fmt.Errorf("found %d outputs for %d weights", len(dst), len(ws)))
		return
	}
	if len(ws) != 3 || x.Rows > b.matVecRows || x.Rows == 0 || !b.fuses(dst, x, ws) {
		backend.MatMulEach(b, dst, x, ws)
		return
	}
	c := b.check(op)
	w := [3]*weight{c.weight(ws[0]), c.weight(ws[1]), c.weight(ws[2])}
	s := c.tensor("x", x, anySize, w[0].n)
	var d [3]*buffer
	for i := range d {
		d[i] = c.tensor("dst", dst[i], x.Rows, w[i].rows)
	}
	if !c.ok() {
		return
	}
	rows := w[0].rows + w[1].rows + w[2].rows
	v := b.matVec(w[0], x.Rows, rows)
	v.Parts = true
	p := fusedParams(w[0], x, dst)
	p.M, p.First1, p.First2 = u32(rows), u32(w[0].rows), u32(w[0].rows+w[1].rows)
	k := w[0].chunks[0]
	b.dispatch(op, v, p, v.Grid(p), whole(k.buf), whole(k.scalesOrSelf()), whole(s), whole(d[0]), whole(d[1]),
		whole(d[2]))
}

// GatedMatMul is a MatMul of x with wGate into gate and with wUp into up, and GatedAct of these into dst; where the
// weights are joined and x has few rows, it is one dispatch.
func (b *Backend) GatedMatMul(dst, gate, up, x backend.Tensor, wGate, wUp backend.Weight, act backend.Activation) {
	const op = "GatedMatMul"
	if !b.ready(op) {
		return
	}
	out := []backend.Tensor{gate, up, dst}
	if x.Rows > b.matVecRows || x.Rows == 0 || act == backend.ClampedSwiGLU ||
		!b.fuses(out, x, []backend.Weight{wGate, wUp}) {
		backend.MatMulThenAct(b, dst, gate, up, x, wGate, wUp, act)
		return
	}
	c := b.check(op)
	name, known := activations[act]
	if !known {
		c.fail("unknown activation %d", uint8(act))
	}
	g, u := c.weight(wGate), c.weight(wUp)
	if c.err == nil && g.rows != u.rows {
		c.fail("found %d rows of the gate and %d of up, expected as many", g.rows, u.rows)
	}
	if !c.ok() {
		return
	}
	s := c.tensor("x", x, anySize, g.n)
	var d [3]*buffer
	for i := range d {
		d[i] = c.tensor([]string{"gate", "up", "dst"}[i], out[i], x.Rows, g.rows)
	}
	if !c.ok() {
		return
	}
	v := b.matVec(g, x.Rows, 2*g.rows)
	v.Act, v.Rows = name, max(2, v.Rows/2*2)
	p := fusedParams(g, x, out)
	p.M, p.First1 = u32(g.rows), u32(g.rows)
	k := g.chunks[0]
	b.dispatch(op, v, p, v.Grid(p), whole(k.buf), whole(k.scalesOrSelf()), whole(s), whole(d[0]), whole(d[1]),
		whole(d[2]))
}

// fusedBuffers is how many storage buffers a product with three outputs binds.
const fusedBuffers = 6

// fuses tells whether one dispatch can multiply x with all weights: they are joined and read as units, and the outputs
// and x are in buffers of their own.
func (b *Backend) fuses(dst []backend.Tensor, x backend.Tensor, ws []backend.Weight) bool {
	list := make([]*weight, len(ws))
	for i, x := range ws {
		w, err := b.weight(x)
		if err != nil {
			return false
		}
		list[i] = w
	}
	for i, d := range dst {
		if d.Buf == x.Buf {
			return false
		}
		for _, e := range dst[:i] {
			if d.Buf == e.Buf {
				return false
			}
		}
	}
	return joined(list) && list[0].units(x) > 0 && b.limits.StorageBuffers >= fusedBuffers
}

// fusedParams are the parameters of a product with three outputs; M and the borders between them are the caller's.
func fusedParams(w *weight, x backend.Tensor, dst []backend.Tensor) shaders.MatVecPackedParams {
	p := matVecParams(w, w.chunks[0], x, dst[0])
	p.Dst1Off, p.Dst1Stride = u32(dst[1].Off), u32(dst[1].Stride)
	p.Dst2Off, p.Dst2Stride = u32(dst[2].Off), u32(dst[2].Stride)
	return p
}
