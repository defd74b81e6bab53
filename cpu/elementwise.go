package cpu

import (
	"math"

	"cera/backend"
)

func (b *Backend) AddBias(x, bias backend.Tensor) {
	const op = "add_bias"
	xm, ok1 := b.mat(op, "x", x)
	bm, ok2 := b.mat(op, "bias", bias)
	if !ok1 || !ok2 || !b.same(op, "bias", bias, 1, x.N) {
		return
	}
	for r := range x.Rows {
		row := xm.row(r)
		for i, v := range bm.row(0) {
			row[i] += v
		}
	}
}

func (b *Backend) GatedAct(dst, gate, up backend.Tensor, act backend.Activation) {
	const op = "gated_act"
	d, ok1 := b.mat(op, "dst", dst)
	g, ok2 := b.mat(op, "gate", gate)
	u, ok3 := b.mat(op, "up", up)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "gate", gate, dst.Rows, dst.N) || !b.same(op, "up", up, dst.Rows, dst.N) {
		return
	}
	f, ok := activations[act]
	if !ok {
		b.fail(op, "activation %d is unknown", act)
		return
	}
	parallel(dst.Rows, 1+4096/dst.N, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			out, gr, ur := d.row(r), g.row(r), u.row(r)
			for i := range out {
				out[i] = float32(f(float64(gr[i])) * float64(ur[i]))
			}
		}
	})
}

var activations = map[backend.Activation]func(float64) float64{
	backend.SiLU: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
}
