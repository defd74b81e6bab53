package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

var epsilons = []float32{0, 1e-6, 1e-5, 0.1}

// normInput is a kind of row.
type normInput struct {
	name  string
	value func(seed uint64) func(r, i int) float32
}

// normInputs are kinds of rows. The squares of tiny and huge ones leave float32, those of the others stay within it.
var normInputs = []normInput{
	{"ordinary", func(s uint64) func(r, i int) float32 { return random(s, 1) }},
	{"near zero", func(s uint64) func(r, i int) float32 { return random(s, 1e-12) }},
	{"large", func(s uint64) func(r, i int) float32 { return random(s, 1e15) }},
	{"one outlier", func(s uint64) func(r, i int) float32 {
		f := random(s, 1e-3)
		return func(r, i int) float32 {
			if v := f(r, i); i != 0 {
				return v
			}
			return 1e4
		}
	}},
	{"tiny", func(s uint64) func(r, i int) float32 { return random(s, 1e-25) }},
	{"huge", func(s uint64) func(r, i int) float32 { return random(s, 1e25) }},
}

// paddings are gaps after a row, such as vector loads can step over and such as they cannot.
var paddings = []int{0, 8, 5, 4, 3}

// wantNorm returns rms_norm(x) * w + b at [r, i] in float64, with the bound of check's table.
func wantNorm(n int, x func(r, i int) float64, eps float32, w, b func(i int) float64) func(r, i int) (float64,
	float64) {
	row, inv := -1, 0.0
	return func(r, i int) (float64, float64) {
		if r != row {
			var sum float64
			for j := range n {
				sum += x(r, j) * x(r, j)
			}
			row, inv = r, 1/math.Sqrt(sum/float64(n)+float64(eps))
		}
		normed := x(r, i) * inv * w(i)
		bound := check.NormBound(n, normed, math.Abs(inv*w(i)))
		if s := b(i); s != 0 {
			normed += s
			bound += check.RoundingBound(normed)
		}
		return normed, bound
	}
}

func noShift(int) float64 { return 0 }

func testRMSNorm(t *testing.T, be backend.Backend) {
	for j, n := range Widths {
		for k, in := range normInputs {
			eps, pad := epsilons[(j+k)%len(epsilons)], paddings[(j+k)%len(paddings)]
			src := put(be, 3, n, n+pad, in.value(uint64(n)))
			w := put(be, 1, n, n, random(2, 1))
			dst := poisoned(be, 3, n, n+2*pad)
			be.RMSNorm(dst.t, src.t, w.t, eps)
			what := fmt.Sprintf("n %d, %s, eps %g, padding %d", n, in.name, eps, pad)
			dst.expect(t, what, wantNorm(n, func(r, i int) float64 { return float64(src.at(r, i)) }, eps,
				func(i int) float64 { return float64(w.at(0, i)) }, noShift))
			src.unchanged(t, what+": src")
			for _, o := range []*operand{src, w, dst} {
				o.free()
			}
		}
	}
	// Every eps on ordinary and on tiny rows, where eps decides.
	for _, eps := range epsilons {
		for _, scale := range []float64{1, 1e-3} {
			src, w := put(be, 2, 100, 100, random(3, scale)), put(be, 1, 100, 100, random(4, 1))
			dst := poisoned(be, 2, 100, 100)
			be.RMSNorm(dst.t, src.t, w.t, eps)
			dst.expect(t, fmt.Sprintf("eps %g, values about %g", eps, scale), wantNorm(100,
				func(r, i int) float64 { return float64(src.at(r, i)) }, eps,
				func(i int) float64 { return float64(w.at(0, i)) }, noShift))
			for _, o := range []*operand{src, w, dst} {
				o.free()
			}
		}
	}
}

func testAddRMSNorm(t *testing.T, be backend.Backend) {
	for j, n := range Widths {
		for k, in := range normInputs {
			addRMSNorm(t, be, 3, n, paddings[(j+k)%len(paddings)], epsilons[(j+k)%len(epsilons)], in.name,
				in.value(uint64(n)), in.value(uint64(n)+7))
		}
	}
}

// addRMSNorm checks one shape: the stream bit for bit, then the norm of the stream.
func addRMSNorm(t *testing.T, be backend.Backend, rows, n, pad int, eps float32, name string, x,
	d func(r, i int) float32) {
	t.Helper()
	src, res := put(be, rows, n, n+pad, x), put(be, rows, n, n+pad, d)
	w, dst := put(be, 1, n, n, random(2, 1)), poisoned(be, rows, n, n+2*pad)
	be.AddRMSNorm(dst.t, src.t, res.t, w.t, eps)
	what := fmt.Sprintf("%d rows of %d, %s, eps %g, padding %d", rows, n, name, eps, pad)
	sum := func(r, i int) float64 { return float64(src.at(r, i) + res.at(r, i)) }
	src.expect(t, what+": stream", func(r, i int) (float64, float64) { return sum(r, i), 0 })
	dst.expect(t, what, wantNorm(n, sum, eps, func(i int) float64 { return float64(w.at(0, i)) }, noShift))
	res.unchanged(t, what+": residual")
	w.unchanged(t, what+": w")
	for _, o := range []*operand{src, res, w, dst} {
		o.free()
	}
}

func testFusedNorm(t *testing.T, be backend.Backend) {
	for j, n := range Widths {
		for k, in := range normInputs {
			for _, c := range []struct{ bias, tee, inPlace bool }{
				{false, false, false}, {true, false, false}, {false, true, false}, {true, true, true},
			} {
				fusedNorm(t, be, 3, n, epsilons[(j+k)%len(epsilons)], in.name, in.value(uint64(n)), c.bias, c.tee,
					c.inPlace)
			}
		}
	}
}

// fusedNorm checks one shape of the arena kernel; the arena is poisoned where nothing stands.
func fusedNorm(t *testing.T, be backend.Backend, rows, n int, eps float32, name string, value func(r, i int) float32,
	bias, tee, inPlace bool) {
	t.Helper()
	// The regions, a row of poison between each two.
	const gap = 1
	arenaRows := 4*rows + 3 + 7*gap
	start := map[string]int{}
	next := gap
	for _, region := range []struct {
		name string
		rows int
	}{{"in", rows}, {"residual", rows}, {"sum", rows}, {"out", rows}, {"bias", 1}, {"gamma", 1}, {"beta", 1}} {
		start[region.name] = next
		next += region.rows + gap
	}
	written := func(r int) bool {
		return r < start["sum"]-gap || r >= start["bias"]
	}
	gaps := map[int]bool{}
	for _, s := range start {
		gaps[s-gap] = true
	}
	arena := put(be, arenaRows+gap, n, n, func(r, i int) float32 {
		if !written(r) || gaps[r] || r >= arenaRows {
			return poison
		}
		return value(r, i)
	})
	at := func(region string, r, i int) float32 { return arena.at(start[region]+r, i) }
	view := func(region string, count int) backend.Tensor {
		return arena.t.Slice(start[region], start[region]+count)
	}
	p := backend.FusedNorm{
		Out: view("out", rows), In: view("in", rows), Residual: view("residual", rows),
		Gamma: view("gamma", 1), Beta: view("beta", 1), Eps: eps,
	}
	if bias {
		p.Bias = view("bias", 1)
	}
	sumRegion := "sum"
	if inPlace {
		sumRegion = "in"
	}
	if tee {
		p.Sum = view(sumRegion, rows)
	}
	be.FusedResidualRMSNorm(p)
	sum := func(r, i int) float64 {
		s := at("in", r, i) + at("residual", r, i)
		if bias {
			s += at("bias", 0, i)
		}
		return float64(s)
	}
	norm := wantNorm(n, sum, eps, func(i int) float64 { return float64(at("gamma", 0, i)) },
		func(i int) float64 { return float64(at("beta", 0, i)) })
	arena.expect(t, fmt.Sprintf("%d rows of %d, %s, eps %g, bias %v, tee %v, in place %v", rows, n, name, eps, bias,
		tee, inPlace),
		func(r, i int) (float64, float64) {
			switch k := r - start["out"]; {
			case k >= 0 && k < rows:
				return norm(k, i)
			}
			if k := r - start[sumRegion]; tee && k >= 0 && k < rows {
				return sum(k, i), 0
			}
			return float64(arena.at(r, i)), 0
		})
	arena.free()
}

// testNormRows runs more rows than one dimension of a grid holds, of a length that vector loads divide and of one that
// they do not.
func testNormRows(t *testing.T, be backend.Backend) {
	for k, rows := range []int{1, 2, 513, 65535, 65536, 70000} {
		addRMSNorm(t, be, rows, []int{5, 8}[k%2], 0, 1e-5, "ordinary", random(1, 1), random(2, 1))
		fusedNorm(t, be, rows, []int{3, 8}[k%2], 1e-5, "ordinary", random(3, 1), true, true, true)
	}
	addRMSNorm(t, be, 513, 257, 3, 1e-5, "ordinary", random(1, 1), random(2, 1))
	addRMSNorm(t, be, 513, 256, 4, 1e-5, "ordinary", random(1, 1), random(2, 1))
}

// testNormsAgree runs the two kernels on the same values: the streams are equal bit for bit.
func testNormsAgree(t *testing.T, be backend.Backend) {
	for _, n := range []int{37, 128, 1024, 1025} {
		normsAgree(t, be, n)
	}
}

func normsAgree(t *testing.T, be backend.Backend, n int) {
	t.Helper()
	const rows, eps = 4, 1e-5
	x, d, g := random(5, 1), random(6, 1), random(7, 1)
	src, res, w, dst := put(be, rows, n, n, x), put(be, rows, n, n, d), put(be, 1, n, n, g), poisoned(be, rows, n, n)
	arena := poisoned(be, 3*rows+2, n, n)
	in, delta, out := arena.t.Slice(0, rows), arena.t.Slice(rows, 2*rows), arena.t.Slice(2*rows, 3*rows)
	gamma, beta := arena.t.Slice(3*rows, 3*rows+1), arena.t.Slice(3*rows+1, 3*rows+2)
	zero := be.Alloc("zero", 1, n)
	be.Copy(in, src.t)
	be.Copy(delta, res.t)
	be.Copy(gamma, w.t)
	be.Copy(beta, zero)
	be.AddRMSNorm(dst.t, src.t, res.t, w.t, eps)
	be.FusedResidualRMSNorm(backend.FusedNorm{Out: out, In: in, Residual: delta, Gamma: gamma, Beta: beta, Sum: in,
		Eps: eps})
	stream, fused := make([]float32, rows*n), make([]float32, rows*n)
	if err := be.Read(stream, src.t); err != nil {
		t.Fatal(err)
	}
	if err := be.Read(fused, in); err != nil {
		t.Fatal(err)
	}
	for i := range stream {
		if math.Float32bits(stream[i]) != math.Float32bits(fused[i]) {
			t.Fatalf("rows of %d, stream[%d]: batch %g, arena %g", n, i, stream[i], fused[i])
		}
	}
	normed, fusedNormed := make([]float32, rows*n), make([]float32, rows*n)
	if err := be.Read(normed, dst.t); err != nil {
		t.Fatal(err)
	}
	if err := be.Read(fusedNormed, out); err != nil {
		t.Fatal(err)
	}
	for i := range normed {
		if bound := 2 * check.NormBound(n, float64(normed[i]),
			1); !(math.Abs(float64(normed[i]-fusedNormed[i])) <= bound) {
			t.Fatalf("rows of %d, norm[%d]: batch %g, arena %g", n, i, normed[i], fusedNormed[i])
		}
	}
	for _, o := range []*operand{src, res, w, dst, arena} {
		o.free()
	}
	be.Free(zero)
}
