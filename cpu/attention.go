package cpu

import (
	"math"
	"slices"

	"github.com/x448/float16"

	"cera/backend"
)

func (b *Backend) RoPE(x, pos, table backend.Tensor, p backend.RoPE) {
	const op = "rope"
	xm, ok1 := b.mat(op, "x", x)
	ps, ok2 := b.mat(op, "pos", pos)
	tab, ok3 := b.mat(op, "table", table)
	if !ok1 || !ok2 || !ok3 || !b.same(op, "pos", pos, 1, x.Rows) ||
		!b.same(op, "table", table, table.Rows, p.RotDim) ||
		!b.positions(op, ps, table.Rows) {
		return
	}
	if p.HeadDim <= 0 || x.N%p.HeadDim != 0 || p.RotDim <= 0 || p.RotDim%2 != 0 || p.RotDim > p.HeadDim {
		b.fail(op, "rotating %d of a head of %d in rows of %d is not possible", p.RotDim, p.HeadDim, x.N)
		return
	}
	// Pair j is (first*j, first*j+second).
	var first, second int
	switch p.Style {
	case backend.RopeNorm:
		first, second = 2, 1
	case backend.RopeNeoX:
		first, second = 1, p.RotDim/2
	default:
		b.fail(op, "style %d is unknown", p.Style)
		return
	}
	for r, at := range ps.urow(0) {
		angles := tab.row(int(at))
		for row := xm.row(r); len(row) > 0; row = row[p.HeadDim:] {
			for j := range p.RotDim / 2 {
				c, s := float64(angles[2*j]), float64(angles[2*j+1])
				u, v := &row[first*j], &row[first*j+second]
				a, b := float64(*u), float64(*v)
				*u, *v = float32(a*c-b*s), float32(a*s+b*c)
			}
		}
	}
}

func (b *Backend) StoreKV(c backend.KV, k, v, pos backend.Tensor) {
	const op = "store_kv"
	ps, ok := b.mat(op, "pos", pos)
	if !ok || !b.same(op, "pos", pos, 1, k.Rows) || !b.same(op, "v", v, k.Rows, k.N) {
		return
	}
	for _, o := range []struct {
		what     string
		dst, src backend.Tensor
	}{{"k", c.K, k}, {"v", c.V, v}} {
		d, ok1 := b.mat(op, o.what+" cache", o.dst)
		s, ok2 := b.mat(op, o.what, o.src)
		if !ok1 || !ok2 || !b.same(op, o.what+" cache", o.dst, o.dst.Rows, c.Width(o.src.N)) ||
			!b.positions(op, ps, o.dst.Rows) {
			return
		}
		for r, at := range ps.urow(0) {
			if c.Half {
				packHalves(d.urow(int(at)), s.row(r))
			} else {
				copy(d.row(int(at)), s.row(r))
			}
		}
	}
}

// packHalves rounds values to halves, two a word.
func packHalves(dst []uint32, src []float32) {
	for i := range dst {
		dst[i] = uint32(float16.Fromfloat32(src[2*i]).Bits())
		if 2*i+1 < len(src) {
			dst[i] |= uint32(float16.Fromfloat32(src[2*i+1]).Bits()) << 16
		}
	}
}

// unpackHalves is the inverse, for as many halves as dst holds.
func unpackHalves(dst []float32, src []uint32) {
	for i := range dst {
		dst[i] = float16.Frombits(uint16(src[i/2] >> (i % 2 * 16))).Float32()
	}
}

func (b *Backend) UnpackHalf(dst, src backend.Tensor) {
	const op = "unpack_half"
	d, ok1 := b.mat(op, "dst", dst)
	s, ok2 := b.mat(op, "src", src)
	if !ok1 || !ok2 || !b.same(op, "src", src, dst.Rows, (dst.N+1)/2) {
		return
	}
	parallel(dst.Rows, 1, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			unpackHalves(d.row(r), s.urow(r))
		}
	})
}

// unpacked returns rows lo to hi-1 of a cache of halves as rows of n float32.
func unpacked(m mat, n, lo, hi int) mat {
	out := mat{f: make([]float32, (hi-lo)*n), n: n, stride: n}
	parallel(hi-lo, 1, func(from, to int) {
		for r := from; r < to; r++ {
			unpackHalves(out.row(r), m.urow(lo+r))
		}
	})
	return out
}

// positions checks that every position is a row of something with that many rows.
func (b *Backend) positions(op string, pos mat, rows int) bool {
	for r, p := range pos.urow(0) {
		if int64(p) >= int64(rows) {
			b.fail(op, "position %d of row %d is past the %d there are", p, r, rows)
			return false
		}
	}
	return true
}

// visible returns the range of positions that some row sees.
func visible(pos []uint32, window int) (lo, hi int) {
	if window > 0 {
		lo = max(0, int(slices.Min(pos))+1-window)
	}
	return lo, int(slices.Max(pos)) + 1
}

func (b *Backend) Attention(dst, q backend.Tensor, c backend.KV, pos backend.Tensor, p backend.Attention) {
	const op = "attention"
	d, ok1 := b.mat(op, "dst", dst)
	qm, ok2 := b.mat(op, "q", q)
	km, ok3 := b.mat(op, "k cache", c.K)
	vm, ok4 := b.mat(op, "v cache", c.V)
	ps, ok5 := b.mat(op, "pos", pos)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return
	}
	if p.NHead <= 0 || p.NKV <= 0 || p.HeadDim <= 0 || p.NHead%p.NKV != 0 {
		b.fail(op, "%d heads on %d KV heads of %d", p.NHead, p.NKV, p.HeadDim)
		return
	}
	if p.Window < 0 || !(p.Softcap >= 0) {
		b.fail(op, "window %d and softcap %g, expected 0 or more", p.Window, p.Softcap)
		return
	}
	if !b.same(op, "q", q, dst.Rows, p.NHead*p.HeadDim) || !b.same(op, "dst", dst, q.Rows, p.NHead*p.HeadDim) ||
		!b.same(op, "k cache", c.K, c.V.Rows, c.Width(p.NKV*p.HeadDim)) ||
		!b.same(op, "v cache", c.V, c.K.Rows, c.Width(p.NKV*p.HeadDim)) ||
		!b.same(op, "pos", pos, 1, q.Rows) || !b.positions(op, ps, c.K.Rows) {
		return
	}
	var sinks []float32
	if p.Sinks.Valid() {
		sm, ok := b.mat(op, "sinks", p.Sinks)
		if !ok || !b.same(op, "sinks", p.Sinks, 1, p.NHead) {
			return
		}
		sinks = sm.row(0)
	}
	if b.kernels.Attend != nil {
		b.kernels.Attend(Attend{
			Attention: p, Rows: q.Rows, Dst: d.f, DstStride: d.stride, Q: qm.f, QStride: qm.stride, K: km.u,
			KStride: km.stride,
			V:       vm.u, VStride: vm.stride, Half: c.Half, Pos: ps.urow(0), SinkScores: sinks,
		})
		return
	}
	base := 0 // position of the first row
	if c.Half {
		lo, hi := visible(ps.urow(0), p.Window)
		base, km, vm = lo, unpacked(km, p.NKV*p.HeadDim, lo, hi), unpacked(vm, p.NKV*p.HeadDim, lo, hi)
	}
	group := p.NHead / p.NKV
	parallel(q.Rows*p.NHead, 1, func(lo, hi int) {
		scores := make([]float64, c.K.Rows)
		acc := make([]float64, p.HeadDim)
		for i := lo; i < hi; i++ {
			r, h := i/p.NHead, i%p.NHead
			at := h / group * p.HeadDim // first column of the KV head
			query := qm.row(r)[h*p.HeadDim : (h+1)*p.HeadDim]
			end := int(ps.u[r]) + 1
			begin := 0
			if p.Window > 0 {
				begin = max(0, end-p.Window)
			}
			top := math.Inf(-1)
			if sinks != nil {
				top = float64(sinks[h])
			}
			s := scores[:end-begin]
			for j := range s {
				s[j] = dot(query, km.row(begin - base + j)[at:at+p.HeadDim]) * float64(p.Scale)
				if p.Softcap > 0 {
					s[j] = softcap(s[j], float64(p.Softcap))
				}
				top = math.Max(top, s[j])
			}
			clear(acc)
			var sum float64
			if sinks != nil {
				sum = math.Exp(float64(sinks[h]) - top)
			}
			for j, v := range s {
				e := math.Exp(v - top)
				sum += e
				for k, x := range vm.row(begin - base + j)[at : at+p.HeadDim] {
					acc[k] += e * float64(x)
				}
			}
			out := d.row(r)[h*p.HeadDim:]
			for k, v := range acc {
				out[k] = float32(v / sum)
			}
		}
	})
}
