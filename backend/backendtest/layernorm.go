package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

// layerInputs are kinds of rows for LayerNorm: beside those of RMSNorm, means that dwarf the differences to them.
var layerInputs = append(normInputs[:len(normInputs):len(normInputs)], []normInput{
	{"large mean", func(s uint64) func(r, i int) float32 {
		f := random(s, 1)
		return func(r, i int) float32 { return f(r, i) + []float32{3000, -3000, 1e5}[r%3] }
	}},
	{"constant", func(s uint64) func(r, i int) float32 {
		f := random(s, 1)
		row, value := -1, float32(0)
		return func(r, i int) float32 {
			if v := f(r, i); r != row {
				row, value = r, v*100
			}
			return value
		}
	}},
}...)

func testLayerNorm(t *testing.T, be backend.Backend) {
	for k, n := range Widths {
		for j, in := range layerInputs {
			layerNorm(t, be, 3, n, (j+k)%3*5, epsilons[(j+k)%len(epsilons)], in, (j+k)%2 == 0)
		}
	}
	// Every kind of row with and without a bias, and every eps.
	for _, in := range layerInputs {
		for j, eps := range epsilons {
			layerNorm(t, be, 3, 100, j%2*4, eps, in, j%2 == 0)
			layerNorm(t, be, 3, 100, j%2*4, eps, in, j%2 == 1)
		}
	}
	// More rows than one dimension of a grid holds.
	layerNorm(t, be, 70000, 3, 0, 1e-5, normInputs[0], true)
}

// layerNorm checks one shape. Where all elements of a row may be equal, as they are in a row of one, eps 0 would divide
// zero by zero: there it is 1e-5.
func layerNorm(t *testing.T, be backend.Backend, rows, n, pad int, eps float32, in normInput, shifted bool) {
	t.Helper()
	if n == 1 || in.name == "constant" {
		eps = max(eps, 1e-5)
	}
	src, dst := put(be, rows, n, n+pad, in.value(uint64(n))), poisoned(be, rows, n, n+2*pad)
	w, bias := put(be, 1, n, n, random(2, 1)), put(be, 1, n, n, random(3, 1))
	var b backend.Tensor
	if shifted {
		b = bias.t
	}
	be.LayerNorm(dst.t, src.t, w.t, b, eps)
	what := fmt.Sprintf("%d rows of %d, %s, eps %g, padding %d, bias %v", rows, n, in.name, eps, pad, shifted)
	row, mean, meanAbs, inv := -1, 0.0, 0.0, 0.0
	dst.expect(t, what, func(r, i int) (float64, float64) {
		if r != row {
			row, mean, meanAbs = r, 0, 0
			for j := range n {
				mean += float64(src.at(r, j)) / float64(n)
				meanAbs += math.Abs(float64(src.at(r, j))) / float64(n)
			}
			var variance float64
			for j := range n {
				d := float64(src.at(r, j)) - mean
				variance += d * d / float64(n)
			}
			inv = 1 / math.Sqrt(variance+float64(eps))
		}
		gamma := float64(w.at(0, i))
		normed := (float64(src.at(r, i)) - mean) * inv * gamma
		want := normed
		if shifted {
			want += float64(bias.at(0, i))
		}
		return want, check.LayerNormBound(n, meanAbs, inv, gamma, normed, want)
	})
	src.unchanged(t, what+": src")
	w.unchanged(t, what+": w")
	bias.unchanged(t, what+": bias")
	freeAll(src, dst, w, bias)
}
