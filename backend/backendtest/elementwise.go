package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

// shapes are rows, widths and paddings for ops that treat every element alike: odd widths, and more rows than one
// dimension of a grid holds.
func shapes() (list []struct{ rows, n, pad int }) {
	for k, n := range Widths {
		list = append(list, struct{ rows, n, pad int }{5, n, k % 3})
	}
	return append(list, struct{ rows, n, pad int }{70000, 3, 1})
}

func testAddBias(t *testing.T, be backend.Backend) {
	for _, n := range Widths {
		x, bias := put(be, 5, n, n+3, random(1, 1)), put(be, 1, n, n, random(2, 1))
		be.AddBias(x.t, bias.t)
		x.expect(t, fmt.Sprintf("n %d", n), func(r, i int) (float64, float64) {
			return float64(x.at(r, i) + bias.at(0, i)), 0
		})
		bias.unchanged(t, "bias")
		freeAll(x, bias)
	}
}

func testAdd(t *testing.T, be backend.Backend) {
	for _, c := range shapes() {
		dst, x := put(be, c.rows, c.n, c.n+c.pad, random(1, 1)), put(be, c.rows, c.n, c.n+2*c.pad, random(2, 1))
		be.Add(dst.t, x.t)
		what := fmt.Sprintf("%+v", c)
		dst.expect(t, what, func(r, i int) (float64, float64) { return float64(dst.at(r, i) + x.at(r, i)), 0 })
		x.unchanged(t, what+": x")
		freeAll(dst, x)
	}
}

func testScale(t *testing.T, be backend.Backend) {
	for k, c := range shapes() {
		factor := []float32{0.5, -1.7, 78.38367, 0, 1e-3}[k%5]
		x := put(be, c.rows, c.n, c.n+c.pad, random(1, 1))
		be.Scale(x.t, factor)
		x.expect(t, fmt.Sprintf("%+v, factor %g", c, factor), func(r, i int) (float64, float64) {
			want := float64(x.at(r, i)) * float64(factor)
			return want, check.RoundingBound(want)
		})
		x.free()
	}
}

func testSoftcap(t *testing.T, be backend.Backend) {
	// From far below the limit, where nothing changes, to far above, where all is the limit.
	sizes := []float64{1e-6, 1e-3, 0.1, 0.3, 1, 3, 10, 1e4}
	for k, c := range shapes() {
		limit := []float32{30, 50, 0.5}[k%3]
		value := random(1, 1)
		x := put(be, c.rows, c.n, c.n+c.pad, func(r, i int) float32 {
			return value(r, i) * limit * float32(sizes[(r+i)%len(sizes)])
		})
		be.Softcap(x.t, limit)
		x.expect(t, fmt.Sprintf("%+v, limit %g", c, limit), func(r, i int) (float64, float64) {
			v := float64(x.at(r, i))
			_, bound := check.SoftcapBound(v, float64(limit))
			return float64(limit) * math.Tanh(v/float64(limit)), bound
		})
		x.free()
	}
	extreme := []float32{-1e30, -1e10, -2e3, -300, -30, -1e-10, 0, 1e-30, 1e-10, 30, 300, 2e3, 1e10, 1e30}
	x := put(be, 1, len(extreme), len(extreme), func(_, i int) float32 { return extreme[i] })
	be.Softcap(x.t, 30)
	x.expect(t, "extreme values", func(_, i int) (float64, float64) {
		v := float64(extreme[i])
		_, bound := check.SoftcapBound(v, 30)
		return 30 * math.Tanh(v/30), bound
	})
	x.free()
}

// activate is act(gate) * up, or what the activation does instead, as its definition in package backend has it.
func activate(act backend.Activation, gate, up float64) float64 {
	switch act {
	case backend.SiLU:
		return gate / (1 + math.Exp(-gate)) * up
	case backend.GELUTanh:
		// 1 + tanh(u) is 2 / (1 + exp(-2u)); the sum would lose its digits where tanh(u) is close to -1.
		u := math.Sqrt(2/math.Pi) * (gate + 0.044715*math.Pow(gate, 3))
		return gate / 2 * (2 / (1 + math.Exp(-2*u))) * up
	default:
		gate, up = min(gate, 7), max(min(up, 7), -7)
		return gate / (1 + math.Exp(-1.702*gate)) * (up + 1)
	}
}

// extremes are values where exp overflows or vanishes, powers overflow or a clamp bites: the result must be that of
// the limit.
var extremes = []float32{-1e30, -1e13, -200, -100, -88.5, -50, -10.5, -7, -1, -1e-20, 0, 1e-20, 6.9, 7, 7.1, 50, 88.5,
	100, 200, 1e13, 1e30}

func testAct(t *testing.T, be backend.Backend) {
	for _, act := range []backend.Activation{backend.SiLU, backend.GELUTanh} {
		for _, c := range shapes() {
			src, dst := put(be, c.rows, c.n, c.n+c.pad, random(1, 6)), poisoned(be, c.rows, c.n, c.n+2*c.pad)
			checkAct(t, be, fmt.Sprintf("%s, %+v", act, c), act, dst, src)
		}
		src := put(be, 1, len(extremes), len(extremes), func(_, i int) float32 { return extremes[i] })
		checkAct(t, be, fmt.Sprintf("%s of extreme values", act), act, poisoned(be, 1, len(extremes), len(extremes)),
			src)
	}
}

func checkAct(t *testing.T, be backend.Backend, what string, act backend.Activation, dst, src *operand) {
	t.Helper()
	be.Act(dst.t, src.t, act)
	dst.expect(t, what, func(r, i int) (float64, float64) {
		x := float64(src.at(r, i))
		_, bound := check.ActivationBound(act, x)
		return activate(act, x, 1), bound
	})
	src.unchanged(t, what+": src")
	freeAll(dst, src)
}

func testGatedAct(t *testing.T, be backend.Backend) {
	for _, act := range []backend.Activation{backend.SiLU, backend.GELUTanh, backend.ClampedSwiGLU} {
		for _, n := range Widths[:8] {
			gate, up := put(be, 3, n, n+1, random(1, 6)), put(be, 3, n, n, random(2, 6))
			gatedAct(t, be, fmt.Sprintf("%s, n %d", act, n), act, poisoned(be, 3, n, n+2), gate, up)
		}
		// Every extreme gate beside every extreme value that it passes on, as far as the product is a number.
		n := len(extremes)
		gate := put(be, n, n, n, func(r, _ int) float32 { return extremes[r] })
		up := put(be, n, n, n, func(r, i int) float32 {
			if math.Abs(float64(extremes[r]*extremes[i])) > 1e37 {
				return 1
			}
			return extremes[i]
		})
		gatedAct(t, be, fmt.Sprintf("%s of extreme values", act), act, poisoned(be, n, n, n), gate, up)
	}
}

func gatedAct(t *testing.T, be backend.Backend, what string, act backend.Activation, dst, gate, up *operand) {
	t.Helper()
	be.GatedAct(dst.t, gate.t, up.t, act)
	dst.expect(t, what, func(r, i int) (float64, float64) {
		g, u := float64(gate.at(r, i)), float64(up.at(r, i))
		_, bound := check.GatedBound(act, g, u)
		return activate(act, g, u), bound
	})
	gate.unchanged(t, what+": gate")
	up.unchanged(t, what+": up")
	freeAll(dst, gate, up)
}

// testRepeat runs a chain of ops again and again: a missing barrier shows as a result that moves.
func testRepeat(t *testing.T, be backend.Backend) {
	const rows, n = 19, 544
	w := encode(t, be, backend.Q8_0, n, n, 1)
	weight := put(be, 1, n, n, random(2, 1))
	repeat(t, be, rows, n, func(x, d *operand) []*operand {
		h, y, z := poisoned(be, rows, n, n), poisoned(be, rows, n, n), poisoned(be, rows, n, n)
		for range 3 {
			be.AddRMSNorm(h.t, x.t, d.t, weight.t, 1e-5)
			be.MatMul(y.t, h.t, w.w)
			be.GatedAct(z.t, y.t, h.t, backend.SiLU)
			be.Copy(d.t, z.t)
		}
		return []*operand{h, y, z}
	})
	weight.free()
	be.FreeWeight(w.w)
}

// repeat runs chain 20 times on the same values of x and d, [rows, n], and compares d bit for bit. The operands that
// chain returns are freed after the readback.
func repeat(t *testing.T, be backend.Backend, rows, n int, chain func(x, d *operand) []*operand) {
	t.Helper()
	var first []float32
	for run := range 20 {
		x, d := put(be, rows, n, n, random(3, 1)), put(be, rows, n, n, random(4, 1))
		used := append(chain(x, d), x, d)
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
		freeAll(used...)
	}
}
