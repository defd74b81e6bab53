package kernelbench

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"cera/backend"
)

// Mixtures lists shapes of published models with experts: Mixtral 8x7B and Qwen3 30B-A3B.
func Mixtures() []Shape {
	return []Shape{
		{Name: "8x7B", Dim: 4096, FF: 14336, Heads: 32, KVHeads: 8, HeadDim: 128, Vocab: 32000, Experts: 8, ExpertsUsed: 2},
		{Name: "30B-A3B", Dim: 2048, FF: 768, Heads: 32, KVHeads: 4, HeadDim: 128, Vocab: 151936, Experts: 128, ExpertsUsed: 8},
	}
}

// ExpertShape is a product of rows tokens with the matrices [M, K] of Used experts each, which are picked among Experts.
type ExpertShape struct {
	Rows, Used, Experts, M, K int
	Down                      bool // each slot has a row of x of its own; else those of a token share one
}

// experts are the products of a mixture, with one row and with a prompt, and what lies around them.
func (o *Options) experts(s Shape, main []backend.Format) []*Case {
	var all []*Case
	for _, f := range o.Formats {
		if s.Dim%f.Block() != 0 || s.FF%f.Block() != 0 {
			continue
		}
		rows := []int{1}
		if slices.Contains(main, f) {
			rows = append(rows, o.Prompts...)
		}
		for _, n := range rows {
			e := ExpertShape{Rows: n, Used: s.ExpertsUsed, Experts: s.Experts, M: s.FF, K: s.Dim}
			all = append(all, e.Case(f))
			e.M, e.K, e.Down = s.Dim, s.FF, true
			all = append(all, e.Case(f))
		}
	}
	for _, n := range slices.Concat([]int{1}, o.Prompts) {
		all = append(all, routeCase(n, s), combineCase(n, s))
	}
	return all
}

// slots is how many products there are.
func (s ExpertShape) slots() int { return s.Rows * s.Used }

// lists returns the experts of the slots, of as many ops as it takes until all experts had their turn. A prompt is one op: its
// tokens take experts by chance, each of them different ones.
func (s ExpertShape) lists() [][]uint32 {
	if s.Rows > 1 {
		rng := rand.New(rand.NewPCG(4, uint64(s.Rows)))
		var list []uint32
		for range s.Rows {
			for _, e := range rng.Perm(s.Experts)[:s.Used] {
				list = append(list, uint32(e))
			}
		}
		return [][]uint32{list}
	}
	lists := make([][]uint32, (s.Experts+s.Used-1)/s.Used)
	for i := range lists {
		for j := range s.Used {
			lists[i] = append(lists[i], uint32((i*s.Used+j)%s.Experts))
		}
	}
	return lists
}

// Case is bound by the matrices of the experts that are used where there is one token, and by products where there are many.
func (s ExpertShape) Case(f backend.Format) *Case {
	kind, xRows := "experts_up ", s.Rows
	if s.Down {
		kind, xRows = "experts_down ", s.slots()
	}
	c := &Case{Kernel: kind + f.String(), Shape: fmt.Sprintf("%dx%dof%dx%dx%d", s.Rows, s.Used, s.Experts, s.M, s.K), Arithmetic: s.Rows > 1}
	lists := s.lists()
	used := map[uint32]bool{}
	for _, e := range lists[0] {
		used[e] = true
	}
	each := int64(s.M) * int64(f.RowBytes(s.K))
	c.Bytes = float64(len(used))*float64(each) + 4*float64(s.slots()*s.M+xRows*s.K+s.slots())
	c.Flops = 2 * float64(s.slots()) * float64(s.M) * float64(s.K)
	c.Largest = 4 * int64(max(s.slots()*s.M, xRows*s.K))
	c.Make = func(be backend.Backend) (*Work, error) {
		n := 1
		if s.Rows == 1 {
			n = copies(be, each*int64(s.Experts))
		}
		var w backend.Weight
		i := 0
		return makeSets(be, n*len(lists), func(a *arena) func() {
			list := lists[i%len(lists)]
			if i%len(lists) == 0 {
				w = a.weight(f, s.Experts*s.M, s.K)
			}
			i++
			w, x, y, ids := w, a.spread(xRows, s.K, 1), a.alloc(s.slots(), s.M), a.ids(list)
			return func() { be.ExpertMatMul(y, x, w, ids) }
		})
	}
	return c
}

// routeCase picks the experts of rows tokens.
func routeCase(rows int, s Shape) *Case {
	return &Case{
		Kernel: "route", Shape: fmt.Sprintf("%dx%dof%d", rows, s.ExpertsUsed, s.Experts), Largest: 4 * int64(rows) * int64(s.Experts),
		Bytes: 4 * float64(rows) * float64(s.Experts+2*s.ExpertsUsed),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, 1, func(a *arena) func() {
				logits, ids, weights := a.spread(rows, s.Experts, 1), a.alloc(rows, s.ExpertsUsed), a.alloc(rows, s.ExpertsUsed)
				return func() { be.Route(ids, weights, logits, backend.Router{Used: s.ExpertsUsed, Normalize: true}) }
			})
		},
	}
}

// combineCase adds up what the experts of rows tokens gave.
func combineCase(rows int, s Shape) *Case {
	slots := rows * s.ExpertsUsed
	size := 4 * int64(slots) * int64(s.Dim)
	bytes := size + 4*int64(slots+rows*s.Dim)
	return &Case{
		Kernel: "combine", Shape: fmt.Sprintf("%dx%dx%d", rows, s.ExpertsUsed, s.Dim), Bytes: float64(bytes), Largest: size,
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, bytes, cycleBytes), func(a *arena) func() {
				x, weights, dst := a.spread(slots, s.Dim, 1), a.spread(rows, s.ExpertsUsed, 1), a.alloc(rows, s.Dim)
				return func() { be.Combine(dst, x, weights) }
			})
		},
	}
}
