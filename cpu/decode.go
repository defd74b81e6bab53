package cpu

import "cera/backend"

// Record runs f, and gives it back: there is nothing to save here.
func (b *Backend) Record(f func()) (again func()) {
	f()
	return f
}

func (b *Backend) ArgMax(ids, x backend.Tensor) {
	const op = "argmax"
	xm, ok1 := b.mat(op, "x", x)
	im, ok2 := b.mat(op, "ids", ids)
	if !ok1 || !ok2 || !b.same(op, "ids", ids, 1, x.Rows) {
		return
	}
	for r := range x.Rows {
		row := xm.row(r)
		best := 0
		for i, v := range row {
			if v > row[best] || row[best] != row[best] && v == v {
				best = i
			}
		}
		im.urow(0)[r] = uint32(best)
	}
}

func (b *Backend) Advance(token, pos, history, id backend.Tensor) {
	const op = "advance"
	tm, ok1 := b.mat(op, "token", token)
	pm, ok2 := b.mat(op, "pos", pos)
	hm, ok3 := b.mat(op, "history", history)
	im, ok4 := b.mat(op, "id", id)
	if !ok1 || !ok2 || !ok3 || !ok4 || !b.same(op, "token", token, 1, 1) || !b.same(op, "pos", pos, 1, 1) ||
		!b.same(op, "id", id, 1, 1) || !b.same(op, "history", history, 1, history.N) {
		return
	}
	if at := int64(pm.u[0]); at < int64(history.N) {
		hm.u[at] = im.u[0]
	}
	tm.u[0] = im.u[0]
	pm.u[0]++
}
