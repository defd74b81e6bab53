package cpu

import (
	"cmp"
	"math"
	"slices"

	"cera/backend"
)

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

func (b *Backend) TopK(values, ids, x, at backend.Tensor) {
	const op = "top k"
	xm, ok1 := b.mat(op, "x", x)
	vm, ok2 := b.mat(op, "values", values)
	im, ok3 := b.mat(op, "ids", ids)
	am, ok4 := b.mat(op, "at", at)
	if !ok1 || !ok2 || !ok3 || !ok4 || !b.same(op, "at", at, 1, x.Rows) ||
		!b.same(op, "ids", ids, values.Rows, values.N) {
		return
	}
	k := values.N
	if values.Rows == 0 || k > min(x.N, backend.MaxTopK) {
		b.fail(op, "values is [%d, %d], expected at least one row and at most %d columns", values.Rows, k,
			min(x.N, backend.MaxTopK))
		return
	}
	for r := range x.Rows {
		row := xm.row(r)
		columns := make([]int, x.N)
		for i := range columns {
			columns[i] = i
		}
		slices.SortFunc(columns, func(i, j int) int {
			return cmp.Or(-cmp.Compare(topRank(row[i]), topRank(row[j])), cmp.Compare(i, j))
		})
		place := int(am.urow(0)[r] % uint32(values.Rows))
		for j, c := range columns[:k] {
			vm.row(place)[j] = row[c]
			im.urow(place)[j] = uint32(c)
		}
	}
}

// topRank orders as v does, and NaN above all.
func topRank(v float32) float64 {
	switch {
	case v != v:
		return math.Inf(1)
	case v > math.MaxFloat32:
		return math.MaxFloat64
	}
	return float64(v)
}

func (b *Backend) Draw(id, values, ids, u, at, params backend.Tensor) {
	const op = "draw"
	dm, ok1 := b.mat(op, "id", id)
	vm, ok2 := b.mat(op, "values", values)
	im, ok3 := b.mat(op, "ids", ids)
	um, ok4 := b.mat(op, "u", u)
	am, ok5 := b.mat(op, "at", at)
	pm, ok6 := b.mat(op, "params", params)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !b.same(op, "id", id, 1, 1) || !b.same(op, "at", at, 1, 1) ||
		!b.same(op, "ids", ids, values.Rows, values.N) || !b.same(op, "u", u, 1, u.N) ||
		!b.same(op, "params", params, 1, 4) {
		return
	}
	if values.Span() == 0 || u.N == 0 {
		b.fail(op, "values is [%d, %d] and u is [1, %d], expected at least one of each", values.Rows, values.N, u.N)
		return
	}
	v, ids32, p := vm.row(int(am.u[0]%uint32(values.Rows))), im.urow(int(am.u[0]%uint32(values.Rows))), pm.row(0)
	n := max(1, min(int(p[1]), len(v)))
	odds := func(i int, temperature float32) float64 { return math.Exp(float64(v[i]-v[0]) / float64(temperature)) }
	if topP := float64(p[2]); topP > 0 {
		sum, kept := 0.0, 0.0
		for i := range n {
			sum += odds(i, 1)
		}
		for i := range n {
			if kept += odds(i, 1); kept >= topP*sum {
				n = i + 1
				break
			}
		}
	}
	for n > 1 && odds(n-1, 1) < float64(p[3]) {
		n--
	}
	sum, target := 0.0, 0.0
	for i := range n {
		sum += odds(i, p[0])
	}
	target = float64(um.row(0)[am.u[0]%uint32(u.N)]) * sum
	picked := 0
	for sum = odds(0, p[0]); picked+1 < n && !(sum > target); sum += odds(picked, p[0]) {
		picked++
	}
	dm.u[0] = ids32[picked]
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
