//go:build cgo

package gpu

import (
	"math"
	"strings"
	"testing"

	"cera/backend"
)

// The ceilings do all of their work: one that left some out would be none.
func TestBenchPass(t *testing.T) {
	b := open(t, Options{})
	const rows, n = 300, 1028
	src := filled(t, b, "src", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	residual := filled(t, b, "residual", rows, n, func(r, i int) float32 { return noise(2, r, i) })
	dst := b.Alloc("dst", rows, n)
	b.BenchPass(dst, src, residual)
	sum, half := read(t, b, src), read(t, b, dst)
	for i := range sum {
		if want := noise(1, i/n, i%n) + noise(2, i/n, i%n); sum[i] != want || half[i] != want/2 {
			t.Fatalf("word %d: found %g and %g, expected %g and half of it", i, sum[i], half[i], want)
		}
	}
}

func TestBenchFMA(t *testing.T) {
	b := open(t, Options{})
	const n = 777
	for _, tt := range []struct {
		loops int
		power func(i int) int // m of thread i is 2 to the minus power: all values are exact
	}{{1, func(i int) int { return 1 + i%3 }}, {3, func(int) int { return 1 }}} {
		x := filled(t, b, "x", 1, n, func(_, i int) float32 { return float32(math.Ldexp(1, -tt.power(i))) })
		dst := b.Alloc("dst", 1, n)
		if flops, want := b.BenchFMA(dst, x, tt.loops), float64(n*tt.loops*128); flops != want {
			t.Errorf("found %g operations, expected %g", flops, want)
		}
		for i, got := range read(t, b, dst) {
			// A chain is 1 + (v - 1) * m^k after k steps, four a loop; v are 1 to 16, and 8.5 on average.
			if want := float32(1 + math.Ldexp(7.5, -4*tt.loops*tt.power(i))); got != want {
				t.Fatalf("%d loops, thread %d: found %g, expected %g", tt.loops, i, got, want)
			}
		}
	}
}

func TestBenchRejects(t *testing.T) {
	b := open(t, Options{})
	x, y, z := b.Alloc("x", 4, 8), b.Alloc("y", 4, 8), b.Alloc("z", 4, 7)
	for name, tt := range map[string]struct {
		run  func()
		want string
	}{
		"another shape": {func() { b.BenchPass(x, y, z) }, "rows of 7"},
		"gaps": {func() {
			b.BenchPass(x, y,
				backend.Tensor{Buf: z.Buf, Off: z.Off, Rows: 4, N: 4, Stride: 7})
		}, "rows of 4"},
		"one tensor": {func() { b.BenchPass(x, x, y) }, "src"},
		"no loops":   {func() { b.BenchFMA(y, x, 0) }, "0 loops"},
		"loops":      {func() { b.BenchFMA(y, x, 1<<21) }, "loops"},
		"view": {func() {
			b.BenchFMA(y.View(0, 4, 4), backend.Tensor{Buf: z.Buf, Off: z.Off, Rows: 4, N: 4, Stride: 7}, 1)
		}, "without gaps"},
		"freed": {func() { b.BenchFMA(y, backend.Tensor{}, 1) }, "x"},
	} {
		tt.run()
		if err := b.Flush(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: found %v, expected an error with %q", name, err, tt.want)
		}
	}
}
