//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// BenchPass is an elementwise pass over three tensors of one size, each with a buffer of its own, that moves what
// AddRMSNorm moves: src += residual, dst = src / 2. A few floats at the end that make no four are left out.
func (b *Backend) BenchPass(dst, src, residual backend.Tensor) {
	const op = "BenchPass"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	s := c.tensor("src", src, anySize, anySize)
	d := c.tensor("dst", dst, src.Rows, src.N)
	r := c.tensor("residual", residual, src.Rows, src.N)
	for _, t := range []backend.Tensor{src, dst, residual} {
		if c.err == nil && (t.Stride != t.N || !byVector(t)) {
			c.fail("found %s, expected rows without gaps that begin at a multiple of four words", describeTensor(t))
		}
	}
	c.exclusive([]operand{{"src", src}, {"dst", dst}}, []operand{{"residual", residual}})
	if !c.ok() {
		return
	}
	p := shaders.BenchPassParams{Fours: u32(src.Rows * src.N / 4)}
	b.dispatch(op, shaders.BenchPass{}, p, p.Grid(), span(s, src), span(d, dst), span(r, residual))
}

// BenchFMA runs a thread for each element of x, each with loops times shaders.BenchFMAFlops operations, and returns how
// many that are. Elements of x in (0, 1) give numbers near 1. dst has x's shape.
func (b *Backend) BenchFMA(dst, x backend.Tensor, loops int) (flops float64) {
	const op = "BenchFMA"
	if !b.ready(op) {
		return 0
	}
	c := b.check(op)
	s := c.tensor("x", x, anySize, anySize)
	d := c.tensor("dst", dst, x.Rows, x.N)
	if c.err == nil && (x.Stride != x.N || dst.Stride != dst.N) {
		c.fail("found %s and %s, expected rows without gaps", describeTensor(x), describeTensor(dst))
	}
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}})
	if c.err == nil && (loops < 1 || loops > 1<<20) {
		c.fail("found %d loops, expected 1 to %d", loops, 1<<20)
	}
	if !c.ok() {
		return 0
	}
	p := shaders.BenchFMAParams{Count: u32(x.Rows * x.N), Loops: u32(loops)}
	b.dispatch(op, shaders.BenchFMA{}, p, p.Grid(), span(s, x), span(d, dst))
	return float64(p.Count) * float64(p.Loops) * shaders.BenchFMAFlops
}
