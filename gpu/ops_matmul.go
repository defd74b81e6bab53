//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// MatMul: dst[r,o] = sum over k of x[r,k] * w[o,k]. dst: [rows, w.Rows()], x: [rows, w.N()]. Few rows go through a
// matrix-vector kernel, many through panels.
func (b *Backend) MatMul(dst, x backend.Tensor, weight backend.Weight) {
	const op = "MatMul"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(weight)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, w.rows)
	s := c.tensor("x", x, dst.Rows, w.n)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	few := dst.Rows <= b.matVecRows
	for _, k := range w.chunks {
		if few && w.units(x) > 0 {
			v := b.matVec(w, dst.Rows, k.hi-k.lo)
			p := matVecParams(w, k, x, dst)
			b.dispatch(op, v, p, v.Grid(p), whole(k.buf), whole(k.scalesOrSelf()), whole(s), whole(d))
			continue
		}
		if few && w.packing == nil {
			p := shaders.MatVecParams{
				K: u32(w.n), M: u32(k.hi - k.lo), Rows: u32(dst.Rows), XOff: u32(x.Off), XStride: u32(x.Stride),
				DstOff: u32(dst.Off + k.lo), DstStride: u32(dst.Stride), Row0: u32(k.row0),
			}
			b.dispatch(op, shaders.MatVec{Format: w.format.String()}, p, p.Grid(), whole(k.buf), whole(s), whole(d))
			continue
		}
		b.matMulPanels(op, b.panels(dst.Rows, w.n, w.rows, k.hi-k.lo), w, k, x, dst, s, d)
	}
}

// matVecParams are the parameters of a part's product with few rows of x.
func matVecParams(w *weight, k chunk, x, dst backend.Tensor) shaders.MatVecPackedParams {
	return shaders.MatVecPackedParams{
		Units: u32(w.units(x)), M: u32(k.hi - k.lo), K4: u32(w.n / 4), Tokens: u32(x.Rows),
		XOff4: u32(x.Off / 4), XStride4: u32(x.Stride / 4),
		DstOff: u32(dst.Off + k.lo), DstStride: u32(dst.Stride), Row0: u32(k.row0),
	}
}

// units returns how many units a row of w has for the kernel that reads them (units.tmpl), or 0 where it cannot: a row must
// begin at a vector, and x too.
func (w *weight) units(x backend.Tensor) int {
	if !byVector(x) || w.n%4 != 0 {
		return 0
	}
	if w.packing != nil {
		if w.packing.rowwise {
			return w.rowUnits() * shaders.PackedLanes
		}
		return w.rowUnits()
	}
	switch {
	case w.format == backend.F32:
		return w.n / 4
	case (w.format == backend.F16 || w.format == backend.BF16) && w.n%8 == 0:
		return w.n / 8
	}
	return 0
}

// scalesOrSelf is what the kernel binds as scales: weights without have a binding that is never read.
func (c chunk) scalesOrSelf() *buffer {
	if c.scales != nil {
		return c.scales
	}
	return c.buf
}

// matVec chooses the variant of the matrix-vector kernel for so many rows of x and weight rows.
func (b *Backend) matVec(w *weight, rows, outputs int) shaders.MatVecPacked {
	v := shaders.MatVecPacked{Format: w.format.String(), Threads: 64, Rows: 2, Tokens: 1,
		ExactHalves: b.flushesHalves("MatMul")}
	for v.Tokens < rows {
		v.Tokens *= 2
	}
	most := max(shaders.PackedLanes, min(128, b.limits.Invocations/shaders.PackedLanes*shaders.PackedLanes))
	switch {
	case v.Blocks():
		own := 4 // rows of each group of threads
		if v.Tokens > 1 || outputs < 4096 {
			own = 2
		}
		v.Threads, v.Rows = most, own*most/shaders.PackedLanes
	case w.format == backend.Q8_0 && v.Tokens == 1:
		v.Threads = most
		if outputs >= 8192 { // as many workgroups as a large device wants, so that a thread may have more of a row
			v.Threads = shaders.PackedLanes
		}
	}
	if b.tune.threads > 0 && (v.Tokens == 1 || b.tune.rows <= 2) {
		v.Threads, v.Rows = b.tune.threads, b.tune.rows
		if v.Blocks() {
			v.Rows *= v.Threads / shaders.PackedLanes
		}
	}
	return v
}

// tuning forces variants, for measurements; the zero value chooses by shape.
type tuning struct {
	threads, rows int // of a workgroup, and of each group of threads in it that shares rows
	tile          shaders.Tile
	experts       expertForm
	room, parts   int // of panels, in words, and that their sums are split into
}

// fitted returns t, of half as many columns where the device has too few threads or too little workgroup memory; or the tile that is
// forced.
func (b *Backend) fitted(t shaders.Tile) shaders.Tile {
	if b.tune.tile.Rows > 0 {
		return b.tune.tile
	}
	if t.Threads() > b.maxThreads || t.Bytes() > b.limits.WorkgroupStorage {
		t.Cols = 64
	}
	return t
}
