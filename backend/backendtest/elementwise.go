package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

func testGatedAct(t *testing.T, be backend.Backend) {
	for _, n := range Widths[:8] {
		gate, up := put(be, 3, n, n+1, random(1, 6)), put(be, 3, n, n, random(2, 1))
		dst := poisoned(be, 3, n, n+2)
		be.GatedAct(dst.t, gate.t, up.t, backend.SiLU)
		dst.expect(t, fmt.Sprintf("silu, n %d", n), func(r, i int) (float64, float64) {
			g := float64(gate.at(r, i))
			want := g / (1 + math.Exp(-g)) * float64(up.at(r, i))
			return want, check.ActBound(g, want)
		})
		for _, o := range []*operand{gate, up, dst} {
			o.free()
		}
	}
	// Where exp overflows or vanishes, the result must be that of the limit.
	extreme := []float32{-1e30, -200, -100, -88.5, -50, 0, 50, 88.5, 100, 200, 1e30}
	gate := put(be, 1, len(extreme), len(extreme), func(_, i int) float32 { return extreme[i] })
	up := put(be, 1, len(extreme), len(extreme), func(int, int) float32 { return 1 })
	dst := poisoned(be, 1, len(extreme), len(extreme))
	be.GatedAct(dst.t, gate.t, up.t, backend.SiLU)
	dst.expect(t, "silu of extreme values", func(r, i int) (float64, float64) {
		g := float64(extreme[i])
		want := g / (1 + math.Exp(-g))
		return want, check.ActBound(g, want)
	})
	for _, o := range []*operand{gate, up, dst} {
		o.free()
	}
}

func testAddBias(t *testing.T, be backend.Backend) {
	for _, n := range Widths {
		x, bias := put(be, 5, n, n+3, random(1, 1)), put(be, 1, n, n, random(2, 1))
		be.AddBias(x.t, bias.t)
		x.expect(t, fmt.Sprintf("n %d", n), func(r, i int) (float64, float64) {
			return float64(x.at(r, i) + bias.at(0, i)), 0
		})
		bias.unchanged(t, "bias")
		x.free()
		bias.free()
	}
}

// testRepeat runs a chain of ops again and again: a missing barrier shows as a result that moves.
func testRepeat(t *testing.T, be backend.Backend) {
	const rows, n = 19, 544
	w := encode(t, be, backend.Q8_0, n, n, 1)
	weight := put(be, 1, n, n, random(2, 1))
	var first []float32
	for run := range 20 {
		x, d := put(be, rows, n, n, random(3, 1)), put(be, rows, n, n, random(4, 1))
		h, y, z := poisoned(be, rows, n, n), poisoned(be, rows, n, n), poisoned(be, rows, n, n)
		for range 3 {
			be.AddRMSNorm(h.t, x.t, d.t, weight.t, 1e-5)
			be.MatMul(y.t, h.t, w.w)
			be.GatedAct(z.t, y.t, h.t, backend.SiLU)
			be.Copy(d.t, z.t)
		}
		got := make([]float32, rows*n)
		if err := be.Read(got, d.t); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
				t.Fatalf("run %d: word %d is %g, was %g in the first", run, i, got[i], first[i])
			}
		}
		for _, o := range []*operand{x, d, h, y, z} {
			o.free()
		}
	}
	weight.free()
	be.FreeWeight(w.w)
}
