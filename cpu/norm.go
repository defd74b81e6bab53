package cpu

import (
	"math"

	"cera/backend"
)

func (b *Backend) RMSNorm(dst, src, w backend.Tensor, eps float32) {
	b.norm("rmsnorm_batch", dst, src, backend.Tensor{}, w, eps)
}

func (b *Backend) AddRMSNorm(dst, src, residual, w backend.Tensor, eps float32) {
	const op = "add_rmsnorm_batch"
	if b.err == nil && (!residual.Valid() || residual.Stride != src.Stride) {
		b.fail(op, "residual has stride %d, expected src's %d", residual.Stride, src.Stride)
	}
	b.norm(op, dst, src, residual, w, eps)
}

// norm is RMSNorm, after adding the residual where there is one.
func (b *Backend) norm(op string, dst, src, residual, w backend.Tensor, eps float32) {
	d, ok1 := b.mat(op, "dst", dst)
	s, ok2 := b.mat(op, "src", src)
	wm, ok3 := b.mat(op, "w", w)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "src", src, dst.Rows, dst.N) || !b.same(op, "w", w, 1, dst.N) {
		return
	}
	var res mat
	if residual.Valid() {
		var ok bool
		if res, ok = b.mat(op, "residual", residual); !ok || !b.same(op, "residual", residual, dst.Rows, dst.N) {
			return
		}
	}
	weight := wm.row(0)
	parallel(dst.Rows, 1+4096/dst.N, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			x := s.row(r)
			if res.f != nil {
				for i, v := range res.row(r) {
					x[i] += v
				}
			}
			inv := invRMS(x, eps)
			out := d.row(r)
			for i, v := range x {
				out[i] = float32(float64(v) * inv * float64(weight[i]))
			}
		}
	})
}

// invRMS returns 1 / sqrt(mean(x²) + eps).
func invRMS(x []float32, eps float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
}

func (b *Backend) FusedResidualRMSNorm(p backend.FusedNorm) {
	const op = "fused_residual_rms_norm"
	rows, n := p.Out.Rows, p.Out.N
	var m [7]mat // out, in, residual, gamma, beta, bias, sum
	for i, o := range []struct {
		what     string
		t        backend.Tensor
		rows     int
		optional bool
	}{
		{"out", p.Out, rows, false}, {"in", p.In, rows, false}, {"residual", p.Residual, rows, false},
		{"gamma", p.Gamma, 1, false}, {"beta", p.Beta, 1, false}, {"bias", p.Bias, 1, true}, {"sum", p.Sum, rows, true},
	} {
		if o.optional && !o.t.Valid() {
			continue
		}
		var ok bool
		if m[i], ok = b.mat(op, o.what, o.t); !ok || !b.same(op, o.what, o.t, o.rows, n) {
			return
		}
		if o.t.Buf != p.Out.Buf || o.t.Stride != n {
			b.fail(op, "%s: expected rows of stride %d in the arena of out", o.what, n)
			return
		}
	}
	out, in, residual, gamma, beta, bias, sum := m[0], m[1], m[2], m[3].row(0), m[4].row(0), m[5], m[6]
	parallel(rows, 1+4096/n, func(lo, hi int) {
		s := make([]float32, n)
		for r := lo; r < hi; r++ {
			x, d := in.row(r), residual.row(r)
			for i := range s {
				s[i] = x[i] + d[i]
				if bias.f != nil {
					s[i] += bias.f[i]
				}
			}
			if sum.f != nil {
				copy(sum.row(r), s)
			}
			inv := invRMS(s, p.Eps)
			for i, y := 0, out.row(r); i < n; i++ {
				y[i] = float32(float64(s[i])*inv*float64(gamma[i]) + float64(beta[i]))
			}
		}
	})
}

func (b *Backend) LayerNorm(dst, src, w, bias backend.Tensor, eps float32) {
	const op = "layer_norm"
	d, ok1 := b.mat(op, "dst", dst)
	s, ok2 := b.mat(op, "src", src)
	wm, ok3 := b.mat(op, "w", w)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "src", src, dst.Rows, dst.N) || !b.same(op, "w", w, 1, dst.N) {
		return
	}
	weight, shift := wm.row(0), []float32(nil)
	if bias.Valid() {
		bm, ok := b.mat(op, "bias", bias)
		if !ok || !b.same(op, "bias", bias, 1, dst.N) {
			return
		}
		shift = bm.row(0)
	}
	elementwise(dst, func(r int) {
		x, out := s.row(r), d.row(r)
		mean, inv := moments(x, eps)
		for i, v := range x {
			y := (float64(v) - mean) * inv * float64(weight[i])
			if shift != nil {
				y += float64(shift[i])
			}
			out[i] = float32(y)
		}
	})
}

// moments returns the mean of x and 1 / sqrt(variance + eps).
func moments(x []float32, eps float32) (mean, inv float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += float64(v)
	}
	mean /= n
	var squares float64
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, 1 / math.Sqrt(squares/n+float64(eps))
}
