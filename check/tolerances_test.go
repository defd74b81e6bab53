package check

import (
	"math"
	"math/rand/v2"
	"testing"
)

// round is one float32 rounding of a float64 value.
func round(v float64) float64 { return float64(float32(v)) }

// TestNormBound runs the worst roundings that the derivation admits, all in one direction: the bound must hold, and
// be near enough to tell a wrong eps.
func TestNormBound(t *testing.T) {
	const up = 1 + unit
	for _, n := range []int{1, 31, 256, 257, 4096, 8193, 1 << 16} {
		mean := 1.0
		for range (n+groupSize-1)/groupSize + 8 { // squares and partial sums, then the tree
			mean *= up
		}
		mean *= math.Pow(up, 5+1) // division within 2.5 ULP, eps
		got := 1 / math.Sqrt(mean) / math.Pow(up, 4+2)
		err := math.Abs(got - 1)
		if bound := NormBound(n, 1, 1); !(err <= bound) {
			t.Errorf("n %d: the error may be %g, the bound is %g", n, err, bound)
		} else if bound > 4*err {
			t.Errorf("n %d: the bound %g is more than four times the largest error %g", n, bound, err)
		}
	}
	if wrong := 1 - math.Sqrt((1+1e-6)/(1+1e-5)); !(NormBound(4096, 1, 1) < wrong) {
		t.Errorf("eps 1e-6 for 1e-5 changes a row of rms 1 by %g, within the bound %g", wrong, NormBound(4096, 1, 1))
	}
	if !(NormBound(64, 0, 0) > 0) {
		t.Error("no room for a subnormal that is flushed to zero")
	}
	if NormBound(64, math.NaN(), 1) == NormBound(64, math.NaN(), 1) {
		t.Error("the bound of NaN is a number")
	}
}

// TestDotBound sums random and ill-conditioned products in float32, from left to right.
func TestDotBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 2, 3, 64, 1000, 16385} {
		for _, cancel := range []bool{false, true} {
			var sum32 float32
			var sum, abs float64
			for i := range k {
				a, b := float32(rng.NormFloat64()), float32(rng.NormFloat64())
				if cancel && i%2 == 1 {
					a = -float32(math.Abs(float64(a)))
				}
				p := a * b
				sum32 += p
				sum += float64(a) * float64(b)
				abs += math.Abs(float64(a) * float64(b))
			}
			if err := math.Abs(float64(sum32) - sum); !(err <= DotBound(k, abs)) {
				t.Errorf("k %d: error %g, bound %g", k, err, DotBound(k, abs))
			}
		}
	}
}

func TestActBound(t *testing.T) {
	for g := -120.0; g <= 120; g += 0.37 {
		g := round(g)
		want := g / (1 + math.Exp(-g))
		// exp at the edge of its 3 + 2|x| ULP, then the roundings of x * (e' / (1 + e)).
		for _, side := range []float64{-1, 1} {
			x := math.Abs(g)
			e := math.Exp(-x) * (1 + side*2*unit*(3+2*x))
			if e < tiny {
				e = 0 // flushed
			}
			num := e
			if g >= 0 {
				num = 1
			}
			got := round(g * round(num/round(1+e)*(1+side*4*unit)))
			if err, bound := math.Abs(got-want), ActBound(g, want); !(err <= bound) {
				t.Errorf("silu(%g): error %g, bound %g", g, err, bound)
			}
		}
	}
	if b := ActBound(1e30, 1e30); b > 1e30*20*unit {
		t.Errorf("the bound of a large value grew to %g of it", b/1e30)
	}
	if b := ActBound(-1e30, 0); b > 1e-30 {
		t.Errorf("the bound of a vanishing value is %g", b)
	}
}

// TestAttentionBound computes a softmax in float32 in one tile a position, the most rescalings there can be.
func TestAttentionBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		headDim, positions int
		scale              float32
	}{{1, 1, 1}, {8, 5, 0.35}, {64, 300, 0.125}, {31, 20, 4}, {128, 1000, 0.09}} {
		q := make([]float32, c.headDim)
		for i := range q {
			q[i] = float32(rng.NormFloat64())
		}
		var size, abs, sum, out float64
		scores, values := make([]float64, c.positions), make([]float64, c.positions)
		top32, sum32, out32 := float32(math.Inf(-1)), float32(0), float32(0)
		for p := range c.positions {
			var s, a float64
			var s32 float32
			for _, x := range q {
				k := float32(rng.NormFloat64())
				s32 += x * k
				s += float64(x) * float64(k) * float64(c.scale)
				a += math.Abs(float64(x) * float64(k) * float64(c.scale))
			}
			s32 *= c.scale
			v := float32(rng.NormFloat64())
			scores[p], values[p], size = s, float64(v), math.Max(size, a)
			next := max(top32, s32)
			fade, w := float32(math.Exp(float64(top32-next))), float32(math.Exp(float64(s32-next)))
			top32, sum32, out32 = next, sum32*fade+w, out32*fade+w*v
		}
		for p, s := range scores {
			e := math.Exp(s - float64(top32))
			sum, out, abs = sum+e, out+e*values[p], abs+e*math.Abs(values[p])
		}
		err := math.Abs(float64(out32/sum32) - out/sum)
		if bound := AttentionBound(c.headDim, c.positions, size, abs/sum); !(err <= bound) {
			t.Errorf("%+v: error %g, bound %g", c, err, bound)
		}
	}
}

// TestDriftBound: half precision in every block is more than float32 may lose.
func TestDriftBound(t *testing.T) {
	half := 0x1p-11 / math.Sqrt(12) // rms of a rounding to 11 bits, relative, at its smallest
	for _, blocks := range []int{1, 2, 8, 32, 64} {
		bound := DriftBound(blocks)
		if drift := float64(blocks) * half * half; !(bound < drift) {
			t.Errorf("%d blocks: the bound %g lets half precision pass, which drifts by %g", blocks, bound, drift)
		}
		if !(DriftBound(blocks+1) > bound) {
			t.Errorf("%d blocks: the bound does not grow", blocks)
		}
	}
}
