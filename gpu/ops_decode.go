//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// argMaxParts is how many workgroups share a row of ArgMax.
const argMaxParts = 64

// ArgMax: ids[r] is the column of the largest of x[r], the lowest where several are equal; NaN is lower than all. ids:
// [1, x.Rows] u32.
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
	found, err := b.interim(2 * x.Rows * int(p.Parts))
	if err != nil {
		b.fail(op, err)
		return
	}
	for _, v := range []shaders.ArgMax{{}, {Merge: true}} {
		b.dispatch(op, v, p, v.Grid(p), whole(s), whole(found), whole(d))
	}
}

// TopK writes the largest elements of row r of x and their columns, in order, into row at[r] % values.Rows of values
// and ids; NaN is larger than all. values, ids: [places, k], k at most shaders.MaxTopK and x.N, in buffers of their
// own; at: [1, x.Rows] u32.
func (b *Backend) TopK(values, ids, x, at backend.Tensor) {
	const op = "TopK"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	s := c.tensor("x", x, anySize, anySize)
	a := c.tensor("at", at, 1, x.Rows)
	v := c.tensor("values", values, anySize, anySize)
	d := c.tensor("ids", ids, values.Rows, values.N)
	if most := min(shaders.MaxTopK, x.N); c.err == nil && (values.Rows < 1 || values.N > most) {
		c.fail("values: found %s, expected at least one row of at most %d", describeTensor(values), most)
	}
	c.alone([]operand{{"values", values}, {"ids", ids}}, []operand{{"x", x}, {"at", at}})
	if !c.ok() || x.Span() == 0 || values.N == 0 {
		return
	}
	p := shaders.TopKParams{
		Rows: u32(x.Rows), N: u32(x.N), K: u32(values.N), XOff: u32(x.Off), XStride: u32(x.Stride), AtOff: u32(at.Off),
		Places: u32(values.Rows), ValuesOff: u32(values.Off), ValuesStride: u32(values.Stride), IDOff: u32(ids.Off),
		IDStride: u32(ids.Stride),
	}
	p.Group()
	found, err := b.interim(p.Words())
	if err != nil {
		b.fail(op, err)
		return
	}
	for _, variant := range []shaders.TopK{{}, {Merge: true}} {
		b.dispatch(op, variant, p, variant.Grid(p), whole(s), whole(a), whole(found), whole(v), whole(d))
	}
}

// Draw takes an element of row at % values.Rows of ids by chance, as backend.DrawParams in p and u[at % draws] say.
// values, ids: [places, k]; u: [1, draws]; p: [1, 4]; at, id: [1, 1] u32.
func (b *Backend) Draw(id, values, ids, u, at, p backend.Tensor) {
	const op = "Draw"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	v := c.tensor("values", values, anySize, anySize)
	i := c.tensor("ids", ids, values.Rows, values.N)
	r := c.tensor("u", u, 1, anySize)
	a := c.tensor("at", at, 1, 1)
	ps := c.tensor("p", p, 1, 4)
	d := c.tensor("id", id, 1, 1)
	if c.err == nil && (values.Rows < 1 || values.N < 1 || values.N > shaders.MaxTopK || u.N < 1) {
		c.fail("values and u: found %s and %s, expected at least one of each and rows of at most %d values",
			describeTensor(values), describeTensor(u), shaders.MaxTopK)
	}
	c.exclusive([]operand{{"id", id}}, []operand{{"values", values}, {"ids", ids}, {"u", u}, {"at", at}, {"p", p}})
	if !c.ok() {
		return
	}
	params := shaders.DrawParams{
		K: u32(values.N), Places: u32(values.Rows), ValuesOff: u32(values.Off), ValuesStride: u32(values.Stride),
		IDOff:    u32(ids.Off),
		IDStride: u32(ids.Stride), UOff: u32(u.Off), Draws: u32(u.N), AtOff: u32(at.Off), POff: u32(p.Off),
		ChosenOff: u32(id.Off),
	}
	b.dispatch(op, shaders.Draw{}, params, params.Grid(), whole(v), whole(i), whole(r), whole(a), whole(ps), whole(d))
}

// Advance ends a step of decoding: history[pos] = id, token = id, pos = pos + 1. token, pos, id: [1, 1] u32, in buffers
// of their own; history: [1, positions] u32.
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
	c.alone([]operand{{"token", token}, {"pos", pos}, {"history", history}}, []operand{{"id", id}})
	if !c.ok() {
		return
	}
	p := shaders.AdvanceParams{
		TokenOff: u32(token.Off), PosOff: u32(pos.Off), HistoryOff: u32(history.Off), Positions: u32(history.N),
		IDOff: u32(id.Off),
	}
	b.dispatch(op, shaders.Advance{}, p, p.Grid(), whole(t), whole(ps), whole(h), whole(i))
}
