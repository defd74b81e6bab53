package backendtest

import (
	"fmt"
	"testing"

	"cera/backend"
)

// AttentionBench says what BenchAttention compares: ways of a backend to run attention for few rows and for many, tried in
// turn. Without any, it runs it as it does.
type AttentionBench struct{ Few, Many []AttentionVariant }

// AttentionVariant is one way to run attention.
type AttentionVariant struct {
	Name string
	Use  func() // makes the backend run attention so from here on
}

// attentionBench is rows tokens at the end of a number of positions, in a cache with room for ctx.
type attentionBench struct {
	rows, positions, ctx int
	heads, kv, headDim   int
	half                 bool
	window               int // 0: none
}

// BenchAttention benchmarks attention in the shapes of an 8B and a 1B model, with caches of f32 and of halves: decode at some
// positions, a few rows at a time, and prompts from their start, a line for each variant. Decode reports GB/s of the keys
// and values that are seen, the others GFLOP/s of products and sums that are seen.
func BenchAttention(b *testing.B, be backend.Backend, o AttentionBench) {
	for _, s := range []struct {
		name               string
		heads, kv, headDim int
	}{{"8B", 32, 8, 128}, {"1B", 32, 8, 64}} {
		for _, half := range []bool{false, true} {
			c := attentionBench{heads: s.heads, kv: s.kv, headDim: s.headDim, half: half}
			name := s.name + "/f32"
			if half {
				name = s.name + "/f16"
			}
			for _, at := range []struct{ positions, ctx int }{{128, 4096}, {128, 16384}, {4096, 4096}, {16384, 16384}} {
				c.rows, c.positions, c.ctx = 1, at.positions, at.ctx
				b.Run(fmt.Sprintf("decode/%s/%dof%d", name, c.positions, c.ctx), func(b *testing.B) { c.bench(b, be, o.Few) })
			}
			for _, rows := range []int{2, 4, 8, 16} {
				c.rows, c.positions, c.ctx = rows, 4096, 4096
				both := append(o.Few[:len(o.Few):len(o.Few)], o.Many...)
				b.Run(fmt.Sprintf("rows/%s/%dat4096", name, rows), func(b *testing.B) { c.bench(b, be, both) })
			}
			for _, rows := range []int{512, 2048} {
				c.rows, c.positions, c.ctx = rows, rows, 4096
				b.Run(fmt.Sprintf("prefill/%s/%d", name, rows), func(b *testing.B) { c.bench(b, be, o.Many) })
			}
			c.rows, c.positions, c.ctx = 512, 16384, 16384
			b.Run(fmt.Sprintf("prefill/%s/512at16384", name), func(b *testing.B) { c.bench(b, be, o.Many) })
			c.rows, c.window = 1, 1024
			b.Run(fmt.Sprintf("decode/%s/16384window1024", name), func(b *testing.B) { c.bench(b, be, o.Few) })
			c.rows, c.positions, c.window = 512, 4096, 128
			b.Run(fmt.Sprintf("prefill/%s/512at4096window128", name), func(b *testing.B) { c.bench(b, be, o.Many) })
		}
	}
}

const (
	// beyondCaches is more than any device's cache holds.
	beyondCaches = 256 << 20
	// manyLayers is how many KV caches there are in turn at most, as in a model.
	manyLayers = 32
)

// bench runs the variants, each on several KV caches in turn, so that no cache of the device answers that would not in a
// model. One op works on what the one before left, as in a model.
func (c attentionBench) bench(b *testing.B, be backend.Backend, variants []AttentionVariant) {
	width := c.heads * c.headDim
	at := upTo(uint32(c.positions-1), c.rows)
	seen, first := 0, c.positions // positions times rows, and the first position that a row sees
	for _, p := range at {
		n := int(p) + 1
		if c.window > 0 {
			n = min(n, c.window)
		}
		seen, first = seen+n, min(first, int(p)+1-n)
	}
	elementBytes := 4
	if c.half {
		elementBytes = 2
	}
	bytes := 2 * (c.positions - first) * c.kv * c.headDim * elementBytes
	one, free := c.cache(be)
	defer free()
	caches := []backend.KV{one}
	for len(caches) < min(manyLayers, beyondCaches/bytes+2) {
		next := backend.KV{K: be.Alloc("bench K", c.ctx, one.K.N), V: be.Alloc("bench V", c.ctx, one.V.N), Half: c.half}
		be.Copy(next.K.Slice(0, c.positions), one.K.Slice(0, c.positions))
		be.Copy(next.V.Slice(0, c.positions), one.V.Slice(0, c.positions))
		defer be.Free(next.K)
		defer be.Free(next.V)
		caches = append(caches, next)
	}
	q, y := put(be, c.rows, width, width, random(1, 1)), poisoned(be, c.rows, width, width)
	defer freeAll(q, y)
	pos := ids(be, at)
	defer be.Free(pos)
	p := backend.Attention{NHead: c.heads, NKV: c.kv, HeadDim: c.headDim, Scale: 0.088, Window: c.window}
	unit, perOp := "GFLOP/s", 4*float64(seen)*float64(width)
	if c.rows == 1 {
		unit, perOp = "GB/s", float64(bytes)
	}
	if len(variants) == 0 {
		variants = []AttentionVariant{{"chosen", func() {}}}
	}
	for _, v := range variants {
		b.Run(v.Name, func(b *testing.B) {
			v.Use()
			i := 0
			timed(b, be, perOp, unit, func() { be.Attention(y.t, q.t, caches[i%len(caches)], pos, p); i++ })
		})
	}
}

// cache is a KV cache with random values at the positions that are seen.
func (c attentionBench) cache(be backend.Backend) (kv backend.KV, free func()) {
	const some = 256 // random rows, again and again
	kv.Half = c.half
	width := kv.Width(c.kv * c.headDim)
	kv.K, kv.V = be.Alloc("bench K", c.ctx, width), be.Alloc("bench V", c.ctx, width)
	for i, t := range []backend.Tensor{kv.K, kv.V} {
		rows := putCache(be, c.half, min(some, c.positions), c.kv*c.headDim, 0, random(uint64(2+i), 1))
		for lo := 0; lo < c.positions; lo += some {
			n := min(some, c.positions-lo)
			be.Copy(t.Slice(lo, lo+n), rows.t.Slice(0, n))
		}
		be.Free(rows.t)
	}
	return kv, func() { be.Free(kv.K); be.Free(kv.V) }
}
