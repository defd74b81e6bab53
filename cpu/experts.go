package cpu

import (
	"cmp"
	"math"

	"cera/backend"
)

func (b *Backend) Route(ids, weights, logits backend.Tensor, p backend.Router) {
	const op = "route"
	idm, ok1 := b.mat(op, "ids", ids)
	wm, ok2 := b.mat(op, "weights", weights)
	lm, ok3 := b.mat(op, "logits", logits)
	if !ok1 || !ok2 || !ok3 {
		return
	}
	if p.Used < 1 || p.Used > logits.N {
		b.fail(op, "%d of %d experts", p.Used, logits.N)
		return
	}
	if p.Kind != backend.SoftmaxTopK && p.Kind != backend.TopKSoftmax {
		b.fail(op, "router kind %d is unknown", p.Kind)
		return
	}
	if !b.same(op, "ids", ids, logits.Rows, p.Used) || !b.same(op, "weights", weights, logits.Rows, p.Used) {
		return
	}
	parallel(logits.Rows, 1+4096/(logits.N*p.Used), func(lo, hi int) {
		taken := make([]bool, logits.N)
		share := make([]float64, p.Used)
		for r := lo; r < hi; r++ {
			clear(taken)
			row, picked := lm.row(r), idm.urow(r)
			pickLargest(picked, row, taken)
			route(share, row, picked, p)
			for j, v := range share {
				wm.row(r)[j] = float32(v)
			}
		}
	})
}

// pickLargest writes the places of the largest values, the largest first, the lower place where two are equal. NaN is
// below every number, so that any row gives places that exist. taken is all false.
func pickLargest(places []uint32, values []float32, taken []bool) {
	for j := range places {
		best := -1
		for e, v := range values {
			if !taken[e] && (best < 0 || cmp.Compare(v, values[best]) > 0) {
				best = e
			}
		}
		taken[best] = true
		places[j] = uint32(best)
	}
}

// route writes the weights of the picked experts of one row, the first of which has the largest logit.
func route(share []float64, logits []float32, picked []uint32, p backend.Router) {
	top := float64(logits[picked[0]])
	var all, used float64 // sums over all experts and over the picked ones
	if p.Kind == backend.SoftmaxTopK {
		for _, l := range logits {
			all += math.Exp(float64(l) - top)
		}
	}
	for j, e := range picked {
		share[j] = math.Exp(float64(logits[e]) - top)
		used += share[j]
	}
	sum := all
	if p.Kind == backend.TopKSoftmax || p.Normalize {
		sum = used // the sum over all would cancel
	}
	for j := range share {
		share[j] /= sum
	}
}

func (b *Backend) ExpertMatMul(dst, x backend.Tensor, wt backend.Weight, ids backend.Tensor) {
	const op = "expert_matmul"
	w, ok := b.weight(op, wt)
	d, ok1 := b.mat(op, "dst", dst)
	xm, ok2 := b.mat(op, "x", x)
	idm, ok3 := b.mat(op, "ids", ids)
	if !ok || !ok1 || !ok2 || !ok3 || !b.same(op, w.name+": x", x, x.Rows, w.n) || !b.same(op, "ids", ids, 1, dst.Rows) {
		return
	}
	if w.rows%dst.N != 0 {
		b.fail(op, "%s: %d rows are no whole number of experts of %d", w.name, w.rows, dst.N)
		return
	}
	if dst.Rows%x.Rows != 0 {
		b.fail(op, "%s: %d rows of x do not divide %d rows of dst", w.name, x.Rows, dst.Rows)
		return
	}
	m, share := dst.N, dst.Rows/x.Rows
	slots := make([][]int, w.rows/m) // of each expert
	var used []int
	for s, id := range idm.urow(0) {
		if int64(id) >= int64(len(slots)) {
			clear(d.row(s))
			continue
		}
		if slots[id] == nil {
			used = append(used, int(id))
		}
		slots[id] = append(slots[id], s)
	}
	if b.kernels.MatMul != nil {
		var list []Product
		for _, e := range used {
			p := Product{W: w.matrix, Lo: e * m, Hi: (e + 1) * m, X: xm.f, Stride: xm.stride, Dst: d.f}
			for _, s := range slots[e] {
				p.From, p.At = append(p.From, s/share), append(p.At, s*d.stride)
			}
			list = append(list, p)
		}
		b.kernels.MatMul(list)
		return
	}
	// A weight row is decoded once and meets every slot of its expert.
	parallel(len(used)*m, 1+(1<<14)/w.n, func(lo, hi int) {
		row := make([]float32, w.n)
		for i := lo; i < hi; i++ {
			e, o := used[i/m], i%m
			if w.decodeRow(row, e*m+o) != nil {
				clear(row)
			}
			for _, s := range slots[e] {
				d.f[s*d.stride+o] = float32(dot(xm.row(s/share), row))
			}
		}
	})
}

func (b *Backend) ExpertBias(x, bias, ids backend.Tensor) {
	const op = "expert_bias"
	xm, ok1 := b.mat(op, "x", x)
	bm, ok2 := b.mat(op, "bias", bias)
	idm, ok3 := b.mat(op, "ids", ids)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "bias", bias, bias.Rows, x.N) || !b.same(op, "ids", ids, 1, x.Rows) {
		return
	}
	for s, id := range idm.urow(0) {
		if int64(id) >= int64(bias.Rows) {
			b.fail(op, "expert %d of row %d is past the %d there are", id, s, bias.Rows)
			return
		}
	}
	elementwise(x, func(s int) { addTo(xm.row(s), bm.row(int(idm.u[s]))) })
}

func (b *Backend) Combine(dst, x, weights backend.Tensor) {
	const op = "combine"
	d, ok1 := b.mat(op, "dst", dst)
	xm, ok2 := b.mat(op, "x", x)
	wm, ok3 := b.mat(op, "weights", weights)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "weights", weights, dst.Rows, weights.N) ||
		!b.same(op, "x", x, dst.Rows*weights.N, dst.N) {
		return
	}
	used := weights.N
	parallel(dst.Rows, 1+4096/(dst.N*used), func(lo, hi int) {
		acc := make([]float64, dst.N)
		for r := lo; r < hi; r++ {
			clear(acc)
			for j, w := range wm.row(r) {
				for i, v := range xm.row(r*used + j) {
					acc[i] += float64(w) * float64(v)
				}
			}
			for i, v := range acc {
				d.f[r*d.stride+i] = float32(v)
			}
		}
	})
}

func (b *Backend) AddGated(dst, x, gate backend.Tensor) {
	const op = "add_gated"
	d, ok1 := b.mat(op, "dst", dst)
	xm, ok2 := b.mat(op, "x", x)
	gm, ok3 := b.mat(op, "gate", gate)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "x", x, dst.Rows, dst.N) || !b.same(op, "gate", gate, dst.Rows, 1) {
		return
	}
	elementwise(dst, func(r int) {
		out, open := d.row(r), sigmoid(float64(gm.row(r)[0]))
		for i, v := range xm.row(r) {
			out[i] = float32(float64(out[i]) + open*float64(v))
		}
	})
}
