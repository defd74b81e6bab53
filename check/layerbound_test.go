package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// layerNorm is a float32 layer norm. The mean may be summed a second time over what the first left.
func (d device) layerNorm(x, w, bias []float32, eps float32, twice bool) []float32 {
	c := append([]float32(nil), x...)
	for range map[bool]int{false: 1, true: 2}[twice] {
		mean := d.mean(d.sum(c, false), len(c))
		for i, v := range c {
			c[i] = d.f(d.f(v) - mean)
		}
	}
	inv := d.inv(c, eps)
	for i, v := range c {
		c[i] = d.product(v, inv, w[i])
		if bias != nil {
			c[i] = d.f(c[i] + d.f(bias[i]))
		}
	}
	return c
}

// onePass is the formula that cancels: the mean of squares less the square of the mean.
func (d device) onePass(x, w []float32, eps float32) []float32 {
	mean := d.mean(d.sum(x, false), len(x))
	variance := d.mean(d.sum(x, true), len(x)) - mean*mean
	inv := float32(1 / math.Sqrt(float64(variance+eps)))
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = d.product(v-mean, inv, w[i])
	}
	return out
}

// wantLayer is a layer norm in float64, with the bound of every element.
func wantLayer(x, w, bias []float32, eps float32) (values, bounds []float64) {
	n := float64(len(x))
	var mean, meanAbs, variance float64
	for _, v := range x {
		mean += float64(v) / n
		meanAbs += math.Abs(float64(v)) / n
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / n
	}
	inv := 1 / math.Sqrt(variance+float64(eps))
	for i, v := range x {
		normed := (float64(v) - mean) * inv * float64(w[i])
		y := normed
		if bias != nil {
			y += float64(bias[i])
		}
		values = append(values, y)
		bounds = append(bounds, LayerNormBound(len(x), meanAbs, inv, float64(w[i]), normed, y))
	}
	return values, bounds
}

// layerRows are the rows that RMSNorm is tried with, and rows whose mean dwarfs the differences to it.
var layerRows = append(adversaries[:len(adversaries):len(adversaries)], []adversary{
	{"mean 3000", func(rng *rand.Rand, _, _ int) float32 { return 3000 + float32(rng.NormFloat64()) }},
	{"mean -1e5", func(rng *rand.Rand, _, _ int) float32 { return -1e5 + float32(rng.NormFloat64()) }},
	{"mean beyond the last digit", func(rng *rand.Rand, _, _ int) float32 {
		return 1e8 + float32(rng.NormFloat64()*20)
	}},
	// A first element of 1, then elements of just under half a unit of the sum: each of them is lost.
	{"lost from the mean", func(_ *rand.Rand, _, i int) float32 {
		if i < groupSize {
			return 1
		}
		return 0x1.ffp-25
	}},
}...)

// TestLayerNormBoundOnDevices tries to break the bound with implementations that are right.
func TestLayerNormBoundOnDevices(t *testing.T) {
	worst, where := 0.0, ""
	for _, n := range []int{1, 3, 31, 256, 257, 1025, 4096, 8193} {
		for _, a := range layerRows {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			x, w, shift := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], w[i], shift[i] = a.value(rng, n, i), float32(rng.NormFloat64()*30), float32(rng.NormFloat64())
			}
			for _, bias := range [][]float32{nil, shift} {
				values, bounds := wantLayer(x, w, bias, testEps)
				for k, d := range devices() {
					for i, got := range d.layerNorm(x, w, bias, testEps, k%3 == 0) {
						if ratio := math.Abs(float64(got)-values[i]) / bounds[i]; !(ratio <= worst) {
							worst, where = ratio, fmt.Sprintf("n %d, %s, %+v, element %d: %g for %g", n, a.name, d, i,
								got, values[i])
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

// TestLayerNormFaults: what people get wrong is outside the bound.
func TestLayerNormFaults(t *testing.T) {
	for _, n := range []int{64, 768, 4096} {
		for _, c := range []struct {
			name string
			mean float64
			out  func(x, w []float32) []float32
		}{
			{"variance in one pass, mean 3000", 3000,
				func(x, w []float32) []float32 { return device{}.onePass(x, w, testEps) }},
			{"mean not subtracted", 0.1, func(x, w []float32) []float32 { return rmsNorm(x, w, testEps) }},
			{"eps 1e-6 for 1e-5", 0, func(x, w []float32) []float32 {
				return device{}.layerNorm(x, w, nil, 1e-6, true)
			}},
			{"variance over n-1", 1, func(x, w []float32) []float32 {
				out := device{}.layerNorm(x, w, nil, testEps, true)
				for i := range out {
					out[i] *= float32(math.Sqrt(float64(n-1) / float64(n)))
				}
				return out
			}},
			{"half precision", 0, func(x, w []float32) []float32 {
				out := device{}.layerNorm(x, w, nil, testEps, true)
				for i, v := range out {
					out[i] = math.Float32frombits(math.Float32bits(v) &^ (1<<13 - 1))
				}
				return out
			}},
		} {
			rng := rand.New(rand.NewPCG(uint64(n), 5))
			x, w := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], w[i] = float32(c.mean+rng.NormFloat64()*0.5), float32(rng.NormFloat64())
			}
			values, bounds := wantLayer(x, w, nil, testEps)
			wrong := 0
			for i, got := range c.out(x, w) {
				if !(math.Abs(float64(got)-values[i]) <= bounds[i]) {
					wrong++
				}
			}
			if wrong < n/4 {
				t.Errorf("n %d, %s: %d of %d elements are outside the bound", n, c.name, wrong, n)
			}
		}
	}
}
