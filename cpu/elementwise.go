package cpu

import (
	"math"

	"cera/backend"
)

// elementwise calls f for every row of x, on all cores.
func elementwise(x backend.Tensor, f func(r int)) {
	parallel(x.Rows, 1+4096/x.N, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			f(r)
		}
	})
}

func (b *Backend) AddBias(x, bias backend.Tensor) {
	const op = "add_bias"
	xm, ok1 := b.mat(op, "x", x)
	bm, ok2 := b.mat(op, "bias", bias)
	if !ok1 || !ok2 || !b.same(op, "bias", bias, 1, x.N) {
		return
	}
	elementwise(x, func(r int) { addTo(xm.row(r), bm.row(0)) })
}

func (b *Backend) Add(dst, x backend.Tensor) {
	const op = "add"
	d, ok1 := b.mat(op, "dst", dst)
	xm, ok2 := b.mat(op, "x", x)
	if !ok1 || !ok2 || !b.same(op, "x", x, dst.Rows, dst.N) {
		return
	}
	elementwise(dst, func(r int) { addTo(d.row(r), xm.row(r)) })
}

// addTo is dst[i] += x[i]: one float32 addition an element.
func addTo(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func (b *Backend) Scale(x backend.Tensor, factor float32) {
	xm, ok := b.mat("scale", "x", x)
	if !ok {
		return
	}
	elementwise(x, func(r int) {
		row := xm.row(r)
		for i := range row {
			row[i] *= factor
		}
	})
}

func (b *Backend) Softcap(x backend.Tensor, limit float32) {
	const op = "softcap"
	xm, ok := b.mat(op, "x", x)
	if !ok {
		return
	}
	if !(limit > 0) {
		b.fail(op, "the limit is %g, expected a number above 0", limit)
		return
	}
	elementwise(x, func(r int) {
		row := xm.row(r)
		for i, v := range row {
			row[i] = float32(softcap(float64(v), float64(limit)))
		}
	})
}

// softcap brings x smoothly between -limit and limit.
func softcap(x, limit float64) float64 { return limit * math.Tanh(x/limit) }

func (b *Backend) Act(dst, src backend.Tensor, act backend.Activation) {
	const op = "act"
	d, ok1 := b.mat(op, "dst", dst)
	s, ok2 := b.mat(op, "src", src)
	if !ok1 || !ok2 || !b.same(op, "src", src, dst.Rows, dst.N) {
		return
	}
	f, ok := activations[act]
	if !ok {
		b.fail(op, "activation %d is not one of a single operand", act)
		return
	}
	if b.kernels.Act != nil {
		elementwise(dst, func(r int) { b.kernels.Act(act, d.row(r), s.row(r), nil) })
		return
	}
	elementwise(dst, func(r int) {
		out := d.row(r)
		for i, v := range s.row(r) {
			out[i] = float32(f(float64(v)))
		}
	})
}

func (b *Backend) GatedAct(dst, gate, up backend.Tensor, act backend.Activation) {
	const op = "gated_act"
	d, ok1 := b.mat(op, "dst", dst)
	g, ok2 := b.mat(op, "gate", gate)
	u, ok3 := b.mat(op, "up", up)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "gate", gate, dst.Rows, dst.N) || !b.same(op, "up", up, dst.Rows, dst.N) {
		return
	}
	f := clampedSwiGLU
	if act != backend.ClampedSwiGLU {
		a, ok := activations[act]
		if !ok {
			b.fail(op, "activation %d is unknown", act)
			return
		}
		f = func(gate, up float64) float64 { return a(gate) * up }
	}
	if b.kernels.Act != nil {
		elementwise(dst, func(r int) { b.kernels.Act(act, d.row(r), g.row(r), u.row(r)) })
		return
	}
	elementwise(dst, func(r int) {
		out, gr, ur := d.row(r), g.row(r), u.row(r)
		for i := range out {
			out[i] = float32(f(float64(gr[i]), float64(ur[i])))
		}
	})
}

// activations are the functions of a single operand.
var activations = map[backend.Activation]func(float64) float64{
	backend.SiLU: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	// (1 + tanh(u))/2 is sigmoid(2u), which keeps its digits where tanh is close to -1.
	backend.GELUTanh: func(x float64) float64 {
		return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
	},
}

func clampedSwiGLU(gate, up float64) float64 {
	g := min(gate, backend.SwiGLULimit)
	u := max(-backend.SwiGLULimit, min(up, backend.SwiGLULimit))
	return g * sigmoid(backend.SwiGLUAlpha*g) * (u + 1)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
