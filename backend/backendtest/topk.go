package backendtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
	"cera/check"
)

func testTopK(t *testing.T, be backend.Backend) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(0)
	negZero := float32(math.Copysign(0, -1))
	noise := random(3, 4)
	rising := func(_, i int) float32 { return float32(i) }
	few := func(r, i int) float32 { return float32((i*7 + r) % 3) }
	for _, c := range []struct {
		name string
		n, k int
		f    func(r, i int) float32
	}{
		{"one of one", 1, 1, noise},
		{"all of a few", 7, 7, noise},
		{"one of many", 5000, 1, noise},
		{"as many as a vocabulary asks for", 32000, 40, noise},
		{"the most", 20011, backend.MaxTopK, noise},
		{"rising, so that all are in one group", 30001, 64, rising},
		{"falling", 30001, 64, func(_, i int) float32 { return float32(-i) }},
		{"all equal", 9000, 64, func(int, int) float32 { return 2 }},
		{"many equals", 1500, 33, few},
		{"none finite", 700, 5, func(_, i int) float32 { return []float32{-inf, inf, nan}[i%3] }},
		{"zeros of both signs are equal", 900, 9, func(_, i int) float32 { return []float32{negZero, zero}[i%2] }},
		{"NaN is larger than all", 2000, 3, func(r, i int) float32 {
			return map[int]float32{5: nan, 1999: -nan, 600: inf}[i] + noise(r, i)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rows, places = 3, 5
			x := put(be, rows, c.n, c.n+3, c.f)
			values, columns := poisoned(be, places, c.k, c.k+2), poisoned(be, places, c.k, c.k+1)
			at := ids(be, []uint32{4, 13, 0}) // of 5 places: 4, 3, 0
			be.TopK(values.t, columns.t, x.t, at)
			gotValues, gotColumns := values.read(t, "values"), columns.read(t, "ids")
			for r, place := range []int{4, 3, 0} {
				order := make([]int, c.n)
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(a, b int) int {
					u, v := x.at(r, a), x.at(r, b)
					if (u != u) != (v != v) { // NaN first
						return map[bool]int{true: -1, false: 1}[u != u]
					}
					return cmp.Or(-cmp.Compare(u, v), cmp.Compare(a, b))
				})
				for j, column := range order[:c.k] {
					v, found := gotValues[place*values.t.Stride+j],
						math.Float32bits(gotColumns[place*columns.t.Stride+j])
					if found != uint32(column) || math.Float32bits(v) != math.Float32bits(x.at(r, column)) {
						t.Fatalf("row %d, place %d: found %g of column %d, want %g of %d", r, j, v, found,
							x.at(r, column), column)
					}
				}
			}
			for i := range gotValues {
				row, column := i/values.t.Stride, i%values.t.Stride
				if (row == 1 || row == 2 || column >= c.k) &&
					math.Float32bits(gotValues[i]) != math.Float32bits(poison) {
					t.Fatalf("word %d of values, which is no place of a row, was written", i)
				}
			}
			for _, o := range []*operand{x, values, columns} {
				o.free()
			}
			be.Free(at)
		})
	}
}

// drawCase is a Draw of which the right outcome is known by float64.
type drawCase struct {
	values []float32
	p      backend.DrawParams
	u      float32
}

// pick returns what is drawn, and whether that is certain: whether u is far enough from the borders between elements,
// and the bounds of top-p and min-p from the elements, that float32 falls on the same side.
func (c drawCase) pick() (picked int, certain bool) {
	gap := float64(c.values[0]-c.values[len(c.values)-1]) / min(1, float64(c.p.Temperature))
	bound := check.DrawBound(len(c.values), gap)
	odds := func(i int, temperature float64) float64 {
		return math.Exp((float64(c.values[i]) - float64(c.values[0])) / temperature)
	}
	certain = true
	apart := func(a float64, b float32) { certain = certain && math.Abs(a-float64(b)) > bound }
	n := max(1, min(int(c.p.TopK), len(c.values)))
	if c.p.TopP > 0 && c.p.TopP < 1 {
		sum, kept := 0.0, 0.0
		for i := range n {
			sum += odds(i, 1)
		}
		for i := range n - 1 {
			kept += odds(i, 1) / sum
			apart(kept, c.p.TopP)
			if kept >= float64(c.p.TopP) {
				n = i + 1
				break
			}
		}
	}
	for ; n > 1 && c.p.MinP > 0; n-- {
		apart(odds(n-1, 1), c.p.MinP)
		if odds(n-1, 1) >= float64(c.p.MinP) {
			break
		}
	}
	sum, kept := 0.0, 0.0
	for i := range n {
		sum += odds(i, float64(c.p.Temperature))
	}
	for i := range n - 1 {
		kept += odds(i, float64(c.p.Temperature)) / sum
		apart(kept, c.u)
		if kept > float64(c.u) {
			return i, certain
		}
	}
	return n - 1, certain
}

func testDraw(t *testing.T, be backend.Backend) {
	r := rand.New(rand.NewPCG(5, 6))
	const places, draws = 3, 4
	clear, seen := 0, map[int]bool{}
	for n := range 400 {
		k := []int{1, 2, 40, backend.MaxTopK}[n%4]
		values, columns := poisoned(be, places, k, k+1), poisoned(be, places, k, k)
		u, at, id := poisoned(be, 1, draws, draws), uint32(n), ids(be, []uint32{99})
		c := drawCase{u: r.Float32(), p: backend.DrawParams{
			Temperature: 0.2 + 2*r.Float32(), TopK: float32(1 + r.IntN(2*k)),
			TopP: []float32{0, 1, 0.3 + 0.6*r.Float32()}[r.IntN(3)],
			MinP: []float32{0, 0.3 * r.Float32()}[r.IntN(2)],
		}}
		for range k {
			c.values = append(c.values, 8*r.Float32())
		}
		slices.SortFunc(c.values, func(a, b float32) int { return cmp.Compare(b, a) })
		copy(values.host[int(at)%places*values.t.Stride:], c.values)
		for i := range k {
			columns.host[int(at)%places*k+i] = math.Float32frombits(uint32(1000 + i))
		}
		u.host[int(at)%draws] = c.u
		for _, o := range []*operand{values, columns, u} {
			be.Upload(o.whole(), o.host)
		}
		params := put(be, 1, 4, 4, func(_, i int) float32 {
			return []float32{c.p.Temperature, c.p.TopK, c.p.TopP, c.p.MinP}[i]
		})
		step := ids(be, []uint32{at})
		be.Draw(id, values.t, columns.t, u.t, step, params.t)
		found := int(readIDs(t, be, id)[0]) - 1000
		want, certain := c.pick()
		switch {
		case certain:
			clear++
			seen[want] = true
			if found != want {
				t.Errorf("%+v: found element %d, want %d", c, found, want)
			}
		case found < 0 || found >= k:
			t.Errorf("%+v: found element %d of %d", c, found, k)
		}
		for _, o := range []*operand{values, columns, u, params} {
			o.free()
		}
		be.Free(step)
		be.Free(id)
	}
	if clear < 350 || len(seen) < 20 {
		t.Errorf("only %d of 400 draws were clear, of %d elements: too few to tell", clear, len(seen))
	}
	// Logits that are no numbers give one of the elements, whichever.
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		values, columns := put(be, 1, 3, 3, func(int, int) float32 { return v }),
			put(be, 1, 3, 3, func(_, i int) float32 {
				return math.Float32frombits(uint32(7 + i))
			})
		u, params := put(be, 1, 1, 1, func(int, int) float32 { return 0.9 }),
			put(be, 1, 4, 4, func(_, i int) float32 { return 1 })
		id, at := ids(be, []uint32{99}), ids(be, []uint32{0})
		be.Draw(id, values.t, columns.t, u.t, at, params.t)
		if found := readIDs(t, be, id)[0]; found < 7 || found > 9 {
			t.Errorf("%s: found %d, which is no element", fmt.Sprint(v), found)
		}
		for _, o := range []*operand{values, columns, u, params} {
			o.free()
		}
		be.Free(id)
		be.Free(at)
	}
}
