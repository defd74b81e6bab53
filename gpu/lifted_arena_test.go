//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/cogentcore/webgpu/wgpu"
)

// arena lays the operands of fused_residual_rms_norm out in one buffer, with canaries between them.
type arena struct {
	words                                []uint32
	in, residual, bias, gamma, beta, out int
	sum                                  int
}

// layArena starts every operand at a multiple of unit.
func layArena(rows, n, unit int) arena {
	var a arena
	place := func(seed, rows, n, filled int) int {
		gap := 5*unit + (unit-len(a.words)%unit)%unit
		off := len(a.words) + gap
		a.words = append(a.words, matrix(seed, gap, rows, filled, n, 0)...)
		return off
	}
	a.in = place(1, rows, n, n)
	a.out = place(2, rows, n, 0)
	a.residual = place(3, rows, n, n)
	a.beta = place(4, 1, n, n)
	a.sum = place(5, rows, n, 0)
	a.gamma = place(6, 1, n, n)
	a.bias = place(7, 1, n, n)
	a.words = append(a.words, canary, canary, canary, canary)
	return a
}

func TestLiftedFusedResidualRMSNorm(t *testing.T) {
	b := open(t, Options{})
	for _, f := range liftedForms() {
		t.Run(f.name, func(t *testing.T) { liftedFused(t, b, f) })
	}
}

func liftedFused(t *testing.T, b *Backend, f liftedForm) {
	const rw, uniform = wgpu.BufferBindingTypeStorage, wgpu.BufferBindingTypeUniform
	const file, entry = "fused_residual_rms_norm.wgsl", "fused_residual_rms_norm"
	plain := lift(t, b, file, entry, f.defines, rw, uniform)
	tee := lift(t, b, file, entry, f.with("TEE", "1"), rw, uniform)
	for i, s := range liftedShapes() {
		if !f.takes(s) {
			continue
		}
		for mode := range 4 { // without TEE; TEE to its own place; TEE in place; TEE without bias
			if mode != i%4 && s.rows > 2 {
				continue // one mode each for the slow shapes, in turn
			}
			a := layArena(s.rows, s.n, f.unit)
			k := plain
			if mode > 0 {
				k = tee
			}
			if mode == 2 {
				a.sum = a.in
			}
			hasBias := uint32(1)
			if mode == 3 || mode == 0 && i%2 == 0 {
				hasBias = 0
			}
			t.Run(fmt.Sprintf("mode%d/%dx%d", mode, s.rows, s.n), func(t *testing.T) {
				runArena(t, k, a, s, mode > 0, hasBias)
			})
		}
	}
}

func (a arena) params(outer, inner int, eps float32, hasBias uint32, tee bool) []uint32 {
	p := []uint32{
		uint32(outer), uint32(inner), uint32(a.in), uint32(a.residual), uint32(a.bias), uint32(a.gamma), uint32(a.beta),
		uint32(a.out), math.Float32bits(eps), hasBias, 0xffffffff, 0xffffffff,
	}
	if tee {
		p[10] = uint32(a.sum)
	}
	return p
}

var arenaUsage = []wgpu.BufferUsage{wgpu.BufferUsageStorage, wgpu.BufferUsageUniform}

func runArena(t *testing.T, k *lifted, a arena, s liftedShape, tee bool, hasBias uint32) {
	const eps = 1e-6
	x, y := fold(s.rows)
	got := k.run(t, x, y, arenaUsage, a.words, a.params(s.rows, s.n, eps, hasBias, tee))[0]
	want := append([]uint32(nil), a.words...) // except out, which is checked against float64
	v := make([]float64, s.n)
	for r := range s.rows {
		for i := range v {
			at := r*s.n + i
			sum := math.Float32frombits(a.words[a.in+at]) + math.Float32frombits(a.words[a.residual+at])
			if hasBias != 0 {
				sum += math.Float32frombits(a.words[a.bias+i])
			}
			v[i] = float64(sum)
			if tee {
				want[a.sum+at] = math.Float32bits(sum)
			}
		}
		inv := invRMS(v, eps)
		for i := range v {
			normed := v[i] * inv * float(a.words[a.gamma+i])
			shift := float(a.words[a.beta+i])
			// The bound is relative to what is added up: with a shift the sum may be close to zero.
			bound := (float64(s.n)/256 + 16) * 0x1p-24 * (math.Abs(normed) + math.Abs(shift))
			if d := math.Abs(float(got[a.out+r*s.n+i]) - (normed + shift)); !(d <= bound) {
				t.Fatalf("out[%d, %d]: found %g, expected %g", r, i, float(got[a.out+r*s.n+i]), normed+shift)
			}
		}
	}
	same(t, "arena", got, want, a.out, s.rows, s.n, s.n)
}

// Nothing is written where inner is 0, nor in rows past outer.
func TestLiftedFusedBounds(t *testing.T) {
	b := open(t, Options{})
	const file, entry = "fused_residual_rms_norm.wgsl", "fused_residual_rms_norm"
	const rows, n = 4, 36
	for _, f := range liftedForms() {
		if n < f.min {
			continue
		}
		for _, tee := range []bool{false, true} {
			defines := f.defines
			if tee {
				defines = f.with("TEE", "1")
			}
			k := lift(t, b, file, entry, defines, wgpu.BufferBindingTypeStorage, wgpu.BufferBindingTypeUniform)
			t.Run(fmt.Sprintf("%s, tee %v", f.name, tee), func(t *testing.T) {
				a := layArena(rows, n, f.unit)
				for _, p := range [][]uint32{a.params(rows, 0, 1e-5, 1, tee), a.params(0, n, 1e-5, 1, tee)} {
					same(t, "arena", k.run(t, rows, 1, arenaUsage, a.words, p)[0], a.words, 0, 0, 0, 0)
				}
				got := k.run(t, rows, 3, arenaUsage, a.words, a.params(2, n, 1e-5, 1, tee))[0]
				for i, w := range got {
					inOut := i >= a.out && i < a.out+2*n
					inSum := tee && i >= a.sum && i < a.sum+2*n
					if changed := w != a.words[i]; changed != (inOut || inSum) {
						t.Fatalf("word %d: found %#x, before %#x", i, w, a.words[i])
					}
				}
			})
		}
	}
}
