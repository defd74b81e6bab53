package kernelbench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"cera/backend"
)

// AttentionShape is attention of rows tokens at the end of a number of positions, in a cache with room for Ctx, laid out
// as in a model.
type AttentionShape struct {
	Rows, Positions, Ctx int
	Heads, KV, HeadDim   int
	Half                 bool // the cache holds halves
	Window               int  // 0: none
}

// Case is bound by the cache where there is one row, by products where there are many.
func (s AttentionShape) Case() *Case {
	width, element, kind := s.Heads*s.HeadDim, 4, "f32"
	if s.Half {
		element, kind = 2, "f16"
	}
	seen, first := 0, s.Positions // positions times rows, and the first position that a row sees
	for r := range s.Rows {
		last := s.Positions - s.Rows + r
		n := last + 1
		if s.Window > 0 {
			n = min(n, s.Window)
		}
		seen, first = seen+n, min(first, last+1-n)
	}
	bytes := 2 * int64(s.Positions-first) * int64(s.KV*s.HeadDim*element)
	c := &Case{
		Kernel: "attention " + kind, Shape: fmt.Sprintf("%d at %d", s.Rows, s.Positions), Arithmetic: s.Rows > 1,
		Bytes: float64(bytes) + 8*float64(s.Rows*width), Flops: 4 * float64(seen) * float64(width),
		Largest: 4 * int64(s.Ctx) * int64(s.KV*s.HeadDim),
	}
	if s.Window > 0 {
		c.Shape += fmt.Sprintf(" window %d", s.Window)
	}
	p := backend.Attention{NHead: s.Heads, NKV: s.KV, HeadDim: s.HeadDim, Scale: 0.088, Window: s.Window}
	c.Make = func(be backend.Backend) (*Work, error) {
		n := 1
		if !be.Info().Software {
			n = between(bytes, weightBytes)
		}
		var at []uint32
		for r := range s.Rows {
			at = append(at, uint32(s.Positions-s.Rows+r))
		}
		var q, y, pos backend.Tensor // of all: an op works on what the one before left, as in a model
		return makeSets(be, n, func(a *arena) func() {
			if !q.Valid() {
				q, y, pos = a.spread(s.Rows, width, 1), a.alloc(s.Rows, width), a.ids(at)
			}
			kv := a.cache(s.Ctx, s.Positions, s.KV*s.HeadDim, s.Half).First(backend.Reach(s.Positions-1, s.Ctx))
			return func() { be.Attention(y, q, kv, pos, p) }
		})
	}
	return c
}

// cache is a KV cache of rows of n with random values at the positions that are seen.
func (a *arena) cache(ctx, positions, n int, half bool) backend.KV {
	kv := backend.KV{Half: half}
	width := kv.Width(n)
	kv.K, kv.V = a.alloc(ctx, width), a.alloc(ctx, width)
	for _, t := range []backend.Tensor{kv.K, kv.V} {
		seen := t.Slice(0, positions)
		if !half {
			a.fill(seen, random(min(some, positions)*width, 1))
			continue
		}
		// Through the op that rounds.
		rows := min(some, positions)
		at := make([]uint32, rows)
		for i := range at {
			at[i] = uint32(i)
		}
		src, pos := a.spread(rows, n, 1), a.ids(at)
		block := backend.KV{K: a.alloc(rows, width), V: a.alloc(rows, width), Half: true}
		a.be.StoreKV(block, src, src, pos)
		for lo := 0; lo < positions; lo += rows {
			hi := min(lo+rows, positions)
			a.be.Copy(seen.Slice(lo, hi), block.K.Slice(0, hi-lo))
		}
	}
	return kv
}

func upTo(n int) []uint32 {
	at := make([]uint32, n)
	for i := range at {
		at[i] = uint32(i)
	}
	return at
}

// ropeCase rotates the queries of rows tokens in place.
func ropeCase(rows int, s Shape) *Case {
	n := s.Heads * s.HeadDim
	return &Case{
		Kernel: "rope", Shape: dims(rows, n), Largest: 4 * int64(rows) * int64(n),
		Bytes: 8*float64(rows)*float64(n) + 4*float64(rows*s.HeadDim),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 4*int64(rows)*int64(n), cycleBytes), func(a *arena) func() {
				x, pos, table := a.spread(rows, n, 1), a.ids(upTo(rows)), a.turns(rows, s.HeadDim)
				p := backend.RoPE{Style: backend.RopeNorm, HeadDim: s.HeadDim, RotDim: s.HeadDim}
				return func() { be.RoPE(x, pos, table, p) }
			})
		},
	}
}

// turns is a table of cosines and sines.
func (a *arena) turns(rows, n int) backend.Tensor {
	table, turns := a.alloc(rows, n), make([]float32, rows*n)
	for i := range len(turns) / 2 {
		sin, cos := math.Sincos(float64(i))
		turns[2*i], turns[2*i+1] = float32(cos), float32(sin)
	}
	a.be.Upload(table, turns)
	return table
}

// ropeStoreCase rotates queries and keys of rows tokens and stores keys and values.
func ropeStoreCase(rows int, s Shape, half bool) *Case {
	nq, n := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	kind, element := "f32", 4
	if half {
		kind, element = "f16", 2
	}
	// Queries in place, keys and values to the cache, and the table.
	bytes := int64(8*rows*nq + 2*rows*n*(4+element) + 4*rows*s.HeadDim)
	return &Case{
		Kernel: "rope_store " + kind, Shape: dims(rows, nq+2*n), Bytes: float64(bytes), Largest: 4 * int64(rows) * int64(nq),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, bytes, cycleBytes), func(a *arena) func() {
				kv := backend.KV{Half: half}
				kv.K, kv.V = a.alloc(rows, kv.Width(n)), a.alloc(rows, kv.Width(n))
				q, k, v := a.spread(rows, nq, 1), a.spread(rows, n, 1), a.spread(rows, n, 1)
				pos, table := a.ids(upTo(rows)), a.turns(rows, s.HeadDim)
				p := backend.RoPE{Style: backend.RopeNorm, HeadDim: s.HeadDim, RotDim: s.HeadDim}
				return func() { be.RopeStoreKV(kv, q, k, v, pos, table, p) }
			})
		},
	}
}

// storeCase stores keys and values of rows tokens.
func storeCase(rows int, s Shape, half bool) *Case {
	n := s.KVHeads * s.HeadDim
	kind, element := "f32", 4
	if half {
		kind, element = "f16", 2
	}
	return &Case{
		Kernel: "store_kv " + kind, Shape: dims(rows, n), Largest: 4 * int64(rows) * int64(n),
		Bytes: 2 * float64(rows*n*(4+element)),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, int64(2*rows*n*(4+element)), cycleBytes), func(a *arena) func() {
				kv := backend.KV{Half: half}
				kv.K, kv.V = a.alloc(rows, kv.Width(n)), a.alloc(rows, kv.Width(n))
				k, v, pos := a.spread(rows, n, 1), a.spread(rows, n, 1), a.ids(upTo(rows))
				return func() { be.StoreKV(kv, k, v, pos) }
			})
		},
	}
}

// actCase is the gated activation of rows tokens, or of what their experts gave.
func actCase(rows int, s Shape) *Case {
	rows *= max(1, s.ExpertsUsed)
	size := 4 * int64(rows) * int64(s.FF)
	return &Case{
		Kernel: "gated_act", Shape: dims(rows, s.FF), Bytes: 3 * float64(size), Largest: size,
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 3*size, cycleBytes), func(a *arena) func() {
				gate, up, dst := a.spread(rows, s.FF, 1), a.spread(rows, s.FF, 1), a.alloc(rows, s.FF)
				return func() { be.GatedAct(dst, gate, up, s.Act) }
			})
		},
	}
}

// embedRows is how many rows of a table are enough for no cache to hold them.
const embedRows = 1 << 15

// embedCase looks up rows tokens anywhere in the vocabulary, or in as much of it as takes long enough to upload.
func embedCase(f backend.Format, rows, vocab, n int) *Case {
	vocab = min(vocab, embedRows)
	return &Case{
		Kernel: "embed " + f.String(), Shape: dims(rows, n), Largest: 4 * int64(rows) * int64(n),
		Bytes: float64(rows) * float64(f.RowBytes(n)+4*n),
		Make: func(be backend.Backend) (*Work, error) {
			rng := rand.New(rand.NewPCG(3, uint64(rows)))
			var table backend.Weight
			return makeSets(be, sets(be, rows, 4*int64(rows)*int64(n), cycleBytes), func(a *arena) func() {
				if table == nil {
					table = a.weight(f, vocab, n)
				}
				at := make([]uint32, rows)
				for i := range at {
					at[i] = rng.Uint32N(uint32(vocab))
				}
				tokens, dst := a.ids(at), a.alloc(rows, n)
				return func() { be.Embed(dst, table, tokens) }
			})
		},
	}
}
