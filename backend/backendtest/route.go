package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cera/backend"
	"cera/check"
)

// routeInputs are kinds of rows of logits.
var routeInputs = []struct {
	name  string
	value func(seed uint64) func(r, e int) float32
}{
	{"ordinary", func(s uint64) func(r, e int) float32 { return random(s, 2) }},
	{"spread out", func(s uint64) func(r, e int) float32 { return random(s, 60) }},
	{"all equal", func(uint64) func(r, e int) float32 { return func(int, int) float32 { return -3.25 } }},
	// Few values, so that ties run through the picked ones and past the last of them.
	{"ties", func(s uint64) func(r, e int) float32 {
		f := random(s, 1.5)
		return func(r, e int) float32 { return float32(math.Round(float64(f(r, e)))) }
	}},
	// Neighbouring float32 numbers: any rounding before the comparison shows.
	{"neighbours", func(uint64) func(r, e int) float32 {
		return func(r, e int) float32 { return math.Nextafter32(1, 2) + float32((e*7+r)%13)*0x1p-23 }
	}},
	{"both zeros", func(uint64) func(r, e int) float32 {
		return func(r, e int) float32 { return float32(math.Copysign(0, float64((e+r)%2)-0.5)) }
	}},
	{"ascending", func(uint64) func(r, e int) float32 {
		return func(r, e int) float32 { return float32(e)*0.37 - 20 }
	}},
	{"descending", func(uint64) func(r, e int) float32 {
		return func(r, e int) float32 { return 20 - float32(e)*0.37 }
	}},
	// No constant that stands for nothing yet is below these.
	{"huge negative", func(s uint64) func(r, e int) float32 {
		f := random(s, 1)
		return func(r, e int) float32 { return -3.0e38 - 1e36*float32(math.Abs(float64(f(r, e)))) }
	}},
	{"one far above", func(s uint64) func(r, e int) float32 {
		f := random(s, 1)
		return func(r, e int) float32 {
			if v := f(r, e); e != r%3 {
				return v
			}
			return 1e30
		}
	}},
}

func testRoute(t *testing.T, be backend.Backend) {
	experts := []int{1, 2, 3, 8, 31, 60, 64, 65, 128, 257, 512}
	k := 0
	for _, in := range routeInputs {
		for _, n := range experts {
			for _, used := range []int{1, 2, 3, 4, 6, 8} {
				// Both kinds, normalised and not, in turn: the number of turns shares no factor with the loops'.
				if k++; used <= n {
					p := backend.Router{Kind: backend.RouterKind(k % 5 % 2), Used: used, Normalize: k%7%2 == 1}
					route(t, be, 3, n, k%3, in.name, in.value(uint64(k)), p)
				}
			}
		}
	}
	for _, kind := range []backend.RouterKind{backend.SoftmaxTopK, backend.TopKSoftmax} {
		for _, normalize := range []bool{false, true} {
			for used := 1; used <= 8; used++ {
				route(t, be, 7, 64, used%2, "ordinary", random(uint64(used), 2),
					backend.Router{Kind: kind, Used: used, Normalize: normalize})
			}
			route(t, be, 3, 8, 0, "all are used", random(9, 2),
				backend.Router{Kind: kind, Used: 8, Normalize: normalize})
			route(t, be, 2, 512, 0, "all are used", random(9, 2),
				backend.Router{Kind: kind, Used: 512, Normalize: normalize})
		}
	}
	// More rows than one dimension of a grid holds.
	route(t, be, 70000, 4, 1, "ordinary", random(5, 2), backend.Router{Used: 2, Normalize: true})
	routeNaN(t, be)
}

// picks returns the experts of a row in the order of their logits, the lower expert first where two are equal.
func picks(logits []float32) []int {
	order := make([]int, len(logits))
	for e := range order {
		order[e] = e
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	return order
}

// route checks one shape: the ids bit for bit, the weights within their bound.
func route(t *testing.T, be backend.Backend, rows, experts, pad int, name string, value func(r, e int) float32,
	p backend.Router) {
	t.Helper()
	logits := put(be, rows, experts, experts+pad, value)
	ids, weights := poisoned(be, rows, p.Used, p.Used+2*pad), poisoned(be, rows, p.Used, p.Used+pad)
	be.Route(ids.t, weights.t, logits.t, p)
	what := fmt.Sprintf("%s, %d rows of %d experts, padding %d, %+v", name, rows, experts, pad, p)
	want := make([][]int, rows)
	for r := range want {
		want[r] = picks(logits.host[r*logits.t.Stride:][:experts])
	}
	ids.expectU32(t, what+": ids", func(r, j int) uint32 { return uint32(want[r][j]) })
	row, sum := -1, 0.0
	weights.expect(t, what+": weights", func(r, j int) (float64, float64) {
		gap := func(e int) float64 { return float64(logits.at(r, want[r][0])) - float64(logits.at(r, e)) }
		if r != row {
			row, sum = r, 0
			for place, e := range want[r] {
				// Divided by their own sum, the parts of all experts and those of the picked ones are the same.
				if place < p.Used || p.Kind == backend.SoftmaxTopK && !p.Normalize {
					sum += math.Exp(-gap(e))
				}
			}
		}
		w := math.Exp(-gap(want[r][j])) / sum
		return w, check.RouteBound(p, experts, gap(want[r][j]), w)
	})
	logits.unchanged(t, what+": logits")
	freeAll(logits, ids, weights)
}

// routeNaN routes rows with logits that are no number, as a broken model gives: the ids must still be different experts
// that there are, since they are places in memory.
func routeNaN(t *testing.T, be backend.Backend) {
	const experts = 9
	nan := float32(math.NaN())
	logits := put(be, experts+1, experts, experts, func(r, e int) float32 {
		if (e*4+1)%experts < r { // none in the first row, all in the last
			return nan
		}
		return float32(e%4) - 2
	})
	p := backend.Router{Kind: backend.SoftmaxTopK, Used: 5}
	ids, weights := poisoned(be, experts+1, p.Used, p.Used), poisoned(be, experts+1, p.Used, p.Used)
	be.Route(ids.t, weights.t, logits.t, p)
	got := ids.read(t, "ids of rows with NaN")
	for r := range experts + 1 {
		var seen [experts]bool
		for j := range p.Used {
			id := math.Float32bits(got[r*p.Used+j])
			if id >= experts || seen[id] {
				t.Fatalf("a row of %d NaN among %d logits: pick %d is expert %d, which is picked twice or not there", r,
					experts, j, id)
			}
			seen[id] = true
		}
	}
	freeAll(logits, ids, weights)
}
