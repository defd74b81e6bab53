package kernelbench

import (
	"slices"

	"cera/backend"
)

// drawn is how many of the likeliest tokens sampling on the device looks at by default.
const drawn = 40

// argMaxCase finds the likeliest of the vocabulary.
func argMaxCase(s Shape) *Case {
	return &Case{
		Kernel: "argmax", Shape: dims(1, s.Vocab), Bytes: 4 * float64(s.Vocab+1), Largest: 4 * int64(s.Vocab),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, 1, func(a *arena) func() {
				x, id := a.spread(1, s.Vocab, 1), a.alloc(1, 1)
				return func() { be.ArgMax(id, x) }
			})
		},
	}
}

// topKCase finds the k likeliest of the vocabulary.
func topKCase(s Shape, k int) *Case {
	k = min(k, s.Vocab)
	return &Case{
		Kernel: "topk", Shape: dims(k, s.Vocab), Bytes: 4 * float64(s.Vocab+2*k+1), Largest: 4 * int64(s.Vocab),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, 1, func(a *arena) func() {
				x, at, values, ids := a.spread(1, s.Vocab, 1), a.ids([]uint32{0}), a.alloc(1, k), a.alloc(1, k)
				return func() { be.TopK(values, ids, x, at) }
			})
		},
	}
}

// drawCase draws one of k tokens.
func drawCase(k int) *Case {
	return &Case{
		Kernel: "draw", Shape: dims(1, k), Bytes: 4 * float64(2*k+7), // values and ids, four parameters, a number by chance, its place, the outcome
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, 1, func(a *arena) func() {
				sorted := random(k, 3)
				slices.SortFunc(sorted, func(a, b float32) int {
					if a > b {
						return -1
					}
					return 1
				})
				values, u, p := a.alloc(1, k), a.alloc(1, 1), a.alloc(1, 4)
				a.be.Upload(values, sorted)
				a.be.Upload(u, []float32{0.9})
				a.be.Upload(p, []float32{0.8, float32(k), 0.95, 0.05}) // temperature, top-k, top-p, min-p
				ids, at, id := a.ids(upTo(k)), a.ids([]uint32{0}), a.alloc(1, 1)
				return func() { be.Draw(id, values, ids, u, at, p) }
			})
		},
	}
}
