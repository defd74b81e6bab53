package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cera/backend"
	"cera/check"
)

// expertCase is one shape of an expert matmul.
type expertCase struct {
	experts, m, k, xRows, slots, pad int
	ids                              string // random, one (all slots take the last), past (some are past the end), hot (most take the third)
	before                           int    // rows and ids in the buffers before those of the case
}

// experts returns the case's expert of every slot. Of 4 experts or more, the second is never used.
func (c expertCase) list() []uint32 {
	rng := rand.New(rand.NewPCG(uint64(c.slots), uint64(c.experts)))
	list := make([]uint32, c.slots)
	for s := range list {
		list[s] = uint32(rng.IntN(c.experts))
		if c.experts >= 4 && list[s] == 1 {
			list[s] = 0
		}
		switch {
		case c.ids == "one":
			list[s] = uint32(c.experts - 1)
		case c.ids == "past" && s%3 == 0:
			list[s] = []uint32{uint32(c.experts), uint32(c.experts) + 7, 0xdeadbeef, math.MaxUint32}[s/3%4]
		case c.ids == "hot" && s%5 > 0:
			list[s] = 2
		}
	}
	return list
}

func testExpertMatMul(t *testing.T, be backend.Backend) {
	for _, f := range []backend.Format{backend.F32, backend.Q8_0, backend.Q4_1, backend.BF16} {
		for j, k := range widths(f) {
			for i, slots := range []int{1, 2, 4, 7, 8, 9, 24, 33, 70} {
				used := []int{1, 2, 4, 7, 8, 3, 6, 1, 10}[i] // divides slots
				c := expertCase{experts: 5, m: []int{1, 5, 31, 66}[(i+j)%4], k: k, slots: slots, pad: (i + j) % 3, ids: "random"}
				c.xRows = []int{slots, slots / used}[(i+j)%2]
				expertMatMul(t, be, f, c)
			}
		}
	}
	for _, c := range []expertCase{
		{experts: 1, m: 3, k: 64, xRows: 6, slots: 6, ids: "random"},
		{experts: 8, m: 33, k: 64, xRows: 1, slots: 8, ids: "one"},
		{experts: 8, m: 33, k: 64, xRows: 70, slots: 70, ids: "one"},
		{experts: 3, m: 65, k: 96, xRows: 4, slots: 8, pad: 3, ids: "past"},
		{experts: 3, m: 65, k: 96, xRows: 23, slots: 69, ids: "past"},
		{experts: 60, m: 8, k: 32, xRows: 32, slots: 256, ids: "random"},
		{experts: 512, m: 2, k: 32, xRows: 70, slots: 700, ids: "random"},
	} {
		expertMatMul(t, be, backend.F32, c)
		expertMatMul(t, be, backend.Q8_0, c)
	}
	// Many slots an expert, in every format: one expert with most of them, one with none, ids past the end, and numbers of slots
	// and outputs that no tile divides.
	for i, f := range taken(t, be) {
		ks := widths(f)
		for j, k := range ks[len(ks)-3 : len(ks)-1] {
			c := expertCase{experts: 4, m: []int{67, 129, 16}[(i+j)%3], k: k, slots: 210, xRows: []int{210, 105, 30}[(i+j)%3], pad: j, ids: "hot"}
			expertMatMul(t, be, f, c)
			c.slots, c.xRows, c.ids, c.before = 131, 131, "past", 3
			expertMatMul(t, be, f, c)
		}
	}
	for _, c := range []expertCase{
		{experts: 1, m: 64, k: 64, xRows: 64, slots: 64, ids: "random"},
		{experts: 2, m: 130, k: 32, xRows: 1, slots: 300, ids: "one", before: 1},
		{experts: 3, m: 5, k: 96, xRows: 500, slots: 500, pad: 2, ids: "past", before: 2},
		{experts: 40, m: 33, k: 32, xRows: 400, slots: 800, ids: "hot"},
		{experts: 130, m: 9, k: 32, xRows: 512, slots: 4096, ids: "random"},
	} {
		expertMatMul(t, be, backend.F32, c)
		expertMatMul(t, be, backend.Q4_0, c)
	}
	replayExperts(t, be)
	// More outputs, and more slots, than one dimension of a grid holds.
	expertMatMul(t, be, backend.F32, expertCase{experts: 2, m: 70000, k: 1, xRows: 1, slots: 2, ids: "random"})
	expertMatMul(t, be, backend.F32, expertCase{experts: 3, m: 1, k: 2, xRows: 35000, slots: 70000, ids: "random"})
}

// expertMatMul checks one shape.
func expertMatMul(t *testing.T, be backend.Backend, f backend.Format, c expertCase) {
	t.Helper()
	w := encode(t, be, f, c.experts*c.m, c.k, 2)
	rows := c.before
	x, dst := put(be, rows+c.xRows, c.k, c.k+c.pad, random(3, 1)), poisoned(be, rows+c.slots, c.m, c.m+2*c.pad)
	list := c.list()
	expert := ids(be, append(make([]uint32, rows), list...))
	be.ExpertMatMul(dst.t.Slice(rows, rows+c.slots), x.t.Slice(rows, rows+c.xRows), w.w, expert.View(rows, 1, c.slots))
	what := fmt.Sprintf("%s, %+v", f, c)
	c.expect(t, what, dst, x, w, list)
	x.unchanged(t, what+": x")
	freeAll(x, dst)
	be.Free(expert)
	be.FreeWeight(w.w)
}

// expect compares the outputs of a case whose slots take the experts of list. The rows before them are as they were.
func (c expertCase) expect(t *testing.T, what string, dst, x *operand, w *matrix, list []uint32) {
	t.Helper()
	dst.expect(t, what, func(r, o int) (float64, float64) {
		s := r - c.before
		switch {
		case s < 0:
			return float64(poison), 0
		case int64(list[s]) >= int64(c.experts):
			return 0, 0
		}
		row, from := int(list[s])*c.m+o, c.before+s/(c.slots/c.xRows)
		var sum, abs float64
		for i := range c.k {
			p := float64(x.at(from, i)) * float64(w.at(row, i))
			sum += p
			abs += math.Abs(p)
		}
		return sum, check.DotBound(c.k, abs)
	})
}

// replayExperts replays products of few slots and of many, each time with other ids.
func replayExperts(t *testing.T, be backend.Backend) {
	few := expertCase{experts: 6, m: 70, k: 64, xRows: 3, slots: 6}
	many := expertCase{experts: 6, m: 70, k: 64, xRows: 100, slots: 200}
	w := encode(t, be, backend.Q8_0, few.experts*few.m, few.k, 2)
	for _, c := range []expertCase{few, many} {
		x, dst := put(be, c.xRows, c.k, c.k, random(3, 1)), poisoned(be, c.slots, c.m, c.m)
		expert := ids(be, c.list())
		again := be.Record(func() { be.ExpertMatMul(dst.t, x.t, w.w, expert) })
		for _, kind := range []string{"one", "past", "hot", "random"} {
			c.ids = kind
			be.Upload(dst.t, dst.host)
			be.UploadU32(expert, c.list())
			again()
			c.expect(t, fmt.Sprintf("replayed, %+v", c), dst, x, w, c.list())
		}
		freeAll(x, dst)
		be.Free(expert)
	}
	be.FreeWeight(w.w)
}

func testExpertBias(t *testing.T, be backend.Backend) {
	for k, c := range shapes() {
		experts := []int{1, 4, 32}[k%3]
		x, bias := put(be, c.rows, c.n, c.n+c.pad, random(1, 1)), put(be, experts, c.n, c.n+2*c.pad, random(2, 1))
		list := make([]uint32, c.rows)
		for s := range list {
			list[s] = uint32(s * 7 % experts)
		}
		expert := ids(be, list)
		be.ExpertBias(x.t, bias.t, expert)
		what := fmt.Sprintf("%+v of %d experts", c, experts)
		x.expect(t, what, func(s, i int) (float64, float64) {
			return float64(x.at(s, i) + bias.at(int(list[s]), i)), 0
		})
		bias.unchanged(t, what+": bias")
		freeAll(x, bias)
		be.Free(expert)
	}
}

func testCombine(t *testing.T, be backend.Backend) {
	for k, c := range shapes() {
		used := []int{1, 2, 4, 8, 3}[k%5]
		x := put(be, c.rows*used, c.n, c.n+c.pad, random(1, 1))
		weights, dst := put(be, c.rows, used, used+c.pad, random(2, 1)), poisoned(be, c.rows, c.n, c.n+2*c.pad)
		be.Combine(dst.t, x.t, weights.t)
		what := fmt.Sprintf("%+v, %d used", c, used)
		dst.expect(t, what, func(r, i int) (float64, float64) {
			var sum, abs float64
			for j := range used {
				p := float64(weights.at(r, j)) * float64(x.at(r*used+j, i))
				sum += p
				abs += math.Abs(p)
			}
			return sum, check.DotBound(used, abs)
		})
		x.unchanged(t, what+": x")
		weights.unchanged(t, what+": weights")
		freeAll(x, weights, dst)
	}
}

func testAddGated(t *testing.T, be backend.Backend) {
	for _, c := range shapes() {
		addGated(t, be, c.rows, c.n, c.pad, random(3, 3))
	}
	// Gates that are shut, open, or where exp overflows or vanishes.
	addGated(t, be, len(extremes), 70, 1, func(r, _ int) float32 { return extremes[r] })
}

// addGated checks one shape. The gates are a column of a wider matrix.
func addGated(t *testing.T, be backend.Backend, rows, n, pad int, value func(r, i int) float32) {
	t.Helper()
	dst, x := put(be, rows, n, n+pad, random(1, 1)), put(be, rows, n, n+2*pad, random(2, 1))
	gate := put(be, rows, 1, 1+pad, value)
	be.AddGated(dst.t, x.t, gate.t)
	what := fmt.Sprintf("%d rows of %d, padding %d", rows, n, pad)
	dst.expect(t, what, func(r, i int) (float64, float64) {
		d, v, g := float64(dst.at(r, i)), float64(x.at(r, i)), float64(gate.at(r, 0))
		_, bound := check.AddGatedBound(d, v, g)
		return d + v/(1+math.Exp(-g)), bound
	})
	x.unchanged(t, what+": x")
	gate.unchanged(t, what+": gate")
	freeAll(dst, x, gate)
}

// testRepeatExperts is testRepeat of a layer of experts, from the norm before it to the sum after it.
func testRepeatExperts(t *testing.T, be backend.Backend) {
	const rows, n, experts, used = 11, 96, 16, 4
	router := encode(t, be, backend.F32, experts, n, 1)
	up, down := encode(t, be, backend.Q8_0, experts*n, n, 2), encode(t, be, backend.Q4_0, experts*n, n, 3)
	bias, w := put(be, experts, n, n, random(5, 1)), put(be, 1, n, n, random(6, 1))
	repeat(t, be, rows, n, func(x, d *operand) []*operand {
		h, logits, gate := poisoned(be, rows, n, n), poisoned(be, rows, experts, experts), poisoned(be, rows, 1, 1)
		picked, weights := poisoned(be, rows, used, used), poisoned(be, rows, used, used)
		a, b := poisoned(be, rows*used, n, n), poisoned(be, rows*used, n, n)
		slots := picked.t.View(0, 1, rows*used)
		for range 3 {
			be.Add(x.t, d.t)
			be.LayerNorm(h.t, x.t, w.t, w.t, 1e-5)
			be.MatMul(logits.t, h.t, router.w)
			be.Softcap(logits.t, 5)
			be.Route(picked.t, weights.t, logits.t, backend.Router{Used: used, Normalize: true})
			be.ExpertMatMul(a.t, h.t, up.w, slots)
			be.ExpertBias(a.t, bias.t, slots)
			be.Act(b.t, a.t, backend.GELUTanh)
			be.ExpertMatMul(a.t, b.t, down.w, slots)
			be.Combine(d.t, a.t, weights.t)
			column := logits.t
			column.N = 1
			be.Copy(gate.t, column)
			be.AddGated(d.t, h.t, gate.t)
			be.Scale(d.t, 0.25)
		}
		return []*operand{h, logits, gate, picked, weights, a, b}
	})
	freeAll(bias, w)
	for _, m := range []*matrix{router, up, down} {
		be.FreeWeight(m.w)
	}
}
