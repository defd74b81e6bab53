//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// argMaxParts is how many workgroups share a row of ArgMax.
const argMaxParts = 64

// ArgMax: ids[r] is the column of the largest of x[r], the lowest where several are equal; NaN is lower than all. ids: [1,
// x.Rows] u32.
func (b *Backend) ArgMax(ids, x backend.Tensor) {
	const op = "ArgMax"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	s := c.tensor("x", x, anySize, anySize)
	d := c.tensor("ids", ids, 1, x.Rows)
	c.exclusive([]operand{{"ids", ids}}, []operand{{"x", x}})
	if !c.ok() || x.Span() == 0 {
		return
	}
	p := shaders.ArgMaxParams{
		Rows: u32(x.Rows), N: u32(x.N), XOff: u32(x.Off), XStride: u32(x.Stride), IDOff: u32(ids.Off),
		Parts: u32(min(argMaxParts, (x.N+255)/256)),
	}
	words := 2 * x.Rows * int(p.Parts)
	if b.found == nil || b.found.words < words {
		if b.found != nil {
			b.freeBuffer(b.found)
		}
		var err error
		if b.found, err = b.newBuffer("argmax", words, internalBuffer, storageUsage); err != nil {
			b.found = nil
			b.fail(op, err)
			return
		}
	}
	for _, v := range []shaders.ArgMax{{}, {Merge: true}} {
		b.dispatch(op, v, p, v.Grid(p), whole(s), whole(b.found), whole(d))
	}
}

// Advance ends a step of decoding: history[pos] = id, token = id, pos = pos + 1. token, pos, id: [1, 1] u32, in buffers of
// their own; history: [1, positions] u32.
func (b *Backend) Advance(token, pos, history, id backend.Tensor) {
	const op = "Advance"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	t := c.tensor("token", token, 1, 1)
	ps := c.tensor("pos", pos, 1, 1)
	h := c.tensor("history", history, 1, anySize)
	i := c.tensor("id", id, 1, 1)
	written := []operand{{"token", token}, {"pos", pos}, {"history", history}}
	c.exclusive(written, []operand{{"id", id}})
	for k, a := range written {
		for _, o := range written[:k] {
			if c.err == nil && a.t.Buf == o.t.Buf {
				c.fail("%s and %s are in one buffer, %s; expected buffers of their own", o.role, a.role, a.t.Buf.(*buffer).name)
			}
		}
	}
	if !c.ok() {
		return
	}
	p := shaders.AdvanceParams{
		TokenOff: u32(token.Off), PosOff: u32(pos.Off), HistoryOff: u32(history.Off), Positions: u32(history.N), IDOff: u32(id.Off),
	}
	b.dispatch(op, shaders.Advance{}, p, p.Grid(), whole(t), whole(ps), whole(h), whole(i))
}
