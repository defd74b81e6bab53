package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var widths = []int{1, 2, 3, 31, 64, 255, 256, 257, 1025, 4096, 5120, 7168, 8193, 16384}

// device is the float32 arithmetic of a norm as a GPU may do it: 256 partial sums, a tree over them, and operations as
// far off as WGSL lets them be. Each off is a relative error in units of 2^-24.
type device struct {
	fused                   bool // the square and its addition in one rounding
	flush                   bool // subnormal operands and results are zero
	offDiv, offSqrt         float64
	weightFirst, reciprocal bool // (v*w)*inv for (v*inv)*w; v/rms for v*inv
}

func (d device) f(v float32) float32 {
	if d.flush && math.Abs(float64(v)) < tiny {
		return 0
	}
	return v
}

// sum adds f(v) of every v in float32, as 256 threads and a tree over them do.
func (d device) sum(x []float32, squares bool) float32 {
	var partial [groupSize]float32
	for i, v := range x {
		p := &partial[i%groupSize]
		switch v = d.f(v); {
		case !squares:
			*p = d.f(*p + v)
		case d.fused:
			*p = d.f(float32(math.FMA(float64(v), float64(v), float64(*p))))
		default:
			*p = d.f(*p + d.f(v*v))
		}
	}
	for half := groupSize / 2; half > 0; half /= 2 {
		for i := range half {
			partial[i] = d.f(partial[i] + partial[i+half])
		}
	}
	return partial[0]
}

// mean divides a sum. WGSL allows 2.5 ULP to a division and 2 to inverseSqrt; an ULP has up to two units.
func (d device) mean(sum float32, n int) float32 {
	return d.f(float32(float64(sum) / float64(n) * (1 + d.offDiv*unit)))
}

func (d device) inv(x []float32, eps float32) float32 {
	mean := d.f(d.mean(d.sum(x, true), len(x)) + eps)
	return d.f(float32(1 / math.Sqrt(float64(mean)) * (1 + d.offSqrt*unit)))
}

func (d device) product(v, inv, w float32) float32 {
	v, w = d.f(v), d.f(w)
	switch {
	case d.weightFirst:
		return d.f(d.f(v*w) * inv)
	case d.reciprocal:
		return d.f(d.f(v/float32(1/float64(inv))) * w)
	}
	return d.f(d.f(v*inv) * w)
}

func (d device) norm(x, w []float32, eps float32) []float32 {
	inv := d.inv(x, eps)
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = d.product(v, inv, w[i])
	}
	return out
}

// devices are all ways of computing that there are.
func devices() (list []device) {
	for _, off := range []float64{-1, 0, 1} {
		for k := range 16 {
			list = append(list, device{
				fused: k&1 != 0, flush: k&2 != 0, weightFirst: k&4 != 0, reciprocal: k&8 != 0, offDiv: 5 * off,
				offSqrt: -4 * off,
			})
		}
	}
	return list
}

// adversary is a kind of row.
type adversary struct {
	name  string
	value func(rng *rand.Rand, n, i int) float32
}

// rows that try to make every rounding go the same way, beside ordinary ones.
var adversaries = []adversary{
	{"ordinary", func(rng *rand.Rand, _, _ int) float32 { return float32(rng.NormFloat64()) }},
	{"equal", func(_ *rand.Rand, _, _ int) float32 { return 1.2345678 }},
	// A large first square, then squares of just under half a unit of the sum: each of them is lost.
	{"lost terms", func(_ *rand.Rand, _, i int) float32 {
		if i < groupSize {
			return 1
		}
		return 0x1.6a09e4p-13
	}},
	// The same with just over half a unit: each counts double.
	{"doubled terms", func(_ *rand.Rand, _, i int) float32 {
		if i < groupSize {
			return 1.0000001
		}
		return 0x1.6a09ep-12 * 1.001
	}},
	{"growing", func(_ *rand.Rand, n, i int) float32 { return float32(i+1) / float32(n) }},
	{"one outlier", func(rng *rand.Rand, _, i int) float32 {
		if i == 0 {
			return 1e4
		}
		return float32(rng.NormFloat64() * 1e-3)
	}},
	{"tiny beside ordinary", func(rng *rand.Rand, _, i int) float32 {
		if i%3 == 1 {
			return float32(rng.NormFloat64() * 0x1p-126)
		}
		return float32(rng.NormFloat64() * 100)
	}},
	{"wide spread", func(rng *rand.Rand, _, _ int) float32 {
		return float32(rng.NormFloat64() * math.Exp2(-40*rng.Float64()))
	}},
}

// want is rms_norm in float64, with the bound of every element.
func want(x, w []float32, eps float32) (values, bounds []float64) {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	inv := 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
	for i, v := range x {
		y := float64(v) * inv * float64(w[i])
		values = append(values, y)
		bounds = append(bounds, NormBound(len(x), y, math.Abs(float64(w[i]))*math.Max(1, inv)))
	}
	return values, bounds
}

// TestNormBoundOnDevices tries to break the bound with implementations that are right.
func TestNormBoundOnDevices(t *testing.T) {
	worst, where := 0.0, ""
	for _, n := range widths {
		for _, a := range adversaries {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			x, w := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], w[i] = a.value(rng, n, i), float32(rng.NormFloat64()*30)
			}
			for _, eps := range []float32{0, 1e-5} {
				values, bounds := want(x, w, eps)
				if math.IsNaN(values[0]) {
					continue // a row of nothing without eps
				}
				for _, d := range devices() {
					for i, got := range d.norm(x, w, eps) {
						if ratio := math.Abs(float64(got)-values[i]) / bounds[i]; !(ratio <= worst) {
							worst, where = ratio, fmt.Sprintf("n %d, %s, eps %g, %+v, element %d: %g for %g", n, a.name,
								eps, d, i, got, values[i])
						}
					}
				}
			}
		}
	}
	t.Logf("largest error/bound %.3f: %s", worst, where)
	if !(worst < 1) {
		t.Errorf("a correct norm is %.3g times the bound: %s", worst, where)
	}
	if worst < 0.3 {
		t.Errorf("the largest error/bound is %.3g: the bound is far too wide, or the test's devices are too good",
			worst)
	}
}

// TestNormBoundIsTight: of the float32 numbers around a right value, the last within the bound passes a check and the
// next one fails it; and the bound is what docs/numerics.md says.
func TestNormBoundIsTight(t *testing.T) {
	for _, n := range widths[2:] {
		rng := rand.New(rand.NewPCG(uint64(n), 4))
		x, w := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], w[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		values, bounds := want(x, w, testEps)
		out := rmsNorm(x, w, testEps)
		r := newRun()
		r.tokens, r.ref, r.sites = []int32{1}, nil, r.sites[:1]
		r.file["blk.0.attn_norm.weight"], r.device["attn_norm-0"] = w, w
		r.data = map[string][]float32{"embd": x, "attn_norm-0": out}
		r.width = map[string]int{"embd": n, "attn_norm-0": n}
		for _, i := range []int{0, n / 2, n - 1} {
			v, right := values[i], out[i]
			for _, side := range []float64{-1, 1} {
				inside, outside := right, right
				for math.Abs(float64(outside)-v) <= bounds[i] {
					inside, outside = outside, math.Nextafter32(outside, float32(math.Inf(int(side))))
				}
				for _, c := range []struct {
					value float32
					want  Verdict
				}{{inside, Pass}, {outside, Fail}} {
					out[i] = c.value
					if got := Norms(r.input(t)); got.Verdict != c.want {
						t.Errorf("n %d, element %d: %g for %g is %s, want %s: %+v", n, i, c.value, v, got.Verdict,
							c.want, got.First)
					}
				}
				out[i] = right
			}
			if limit := (float64(n)/256 + 16.01) * 0x1p-24 * math.Abs(v); math.Abs(v) > 1e-20 && bounds[i] > limit {
				t.Errorf("n %d: bound %g of %g, want at most %g", n, bounds[i], v, limit)
			}
		}
	}
	// In the terms of what people get wrong, at the width of a 7B model.
	for _, c := range []struct {
		name string
		err  float64 // relative
	}{
		{"eps 1e-6 for 1e-5, rms 1", 4.5e-6}, {"half precision", 0x1p-12}, {"bfloat16", 0x1p-9},
		{"mean over n-1", 0.5 / 4096},
	} {
		if bound := NormBound(4096, 1, 1); c.err < bound {
			t.Errorf("%s: an error of %g hides within %g", c.name, c.err, bound)
		}
	}
}
