package check

import (
	"math"
	"math/rand/v2"
	"testing"

	"cera/backend"
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

// TestDriftBound: half precision in every block is more than float32 may lose.
func TestDriftBound(t *testing.T) {
	half := 0x1p-11 / math.Sqrt(12) // rms of a rounding to 11 bits, relative, at its smallest
	for _, blocks := range []int{1, 2, 8, 32, 64} {
		bound := DriftBound(blocks)
		if drift := float64(blocks) * half * half; !(bound < drift) {
			t.Errorf("%d blocks: the bound %g lets half precision pass, which drifts by %g", blocks, bound, drift)
		}
		// Two independent roundings to halves of keys and of values, at their largest, are within its other form.
		kv := 2 * math.Sqrt(float64(blocks)) * 0x1p-10 / math.Sqrt(12)
		if halves := driftBound(blocks, backend.F16); !(kv*kv < halves && driftBound(blocks+1, backend.F16) > halves) {
			t.Errorf("%d blocks: the bound %g of halves does not let their roundings pass, which drift by %g", blocks,
				halves, kv*kv)
		}
		if !(DriftBound(blocks+1) > bound) {
			t.Errorf("%d blocks: the bound does not grow", blocks)
		}
	}
}
