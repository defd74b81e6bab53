package backendtest

import (
	"fmt"
	"testing"

	"cera/backend"
	"cera/kernelbench"
)

// AttentionBench says what BenchAttention compares: ways of a backend to run attention for few rows and for many, tried
// in turn. Without any, it runs it as it does.
type AttentionBench struct{ Few, Many []AttentionVariant }

// AttentionVariant is one way to run attention.
type AttentionVariant struct {
	Name string
	Use  func() // makes the backend run attention so from here on
}

// BenchAttention benchmarks attention in the shapes of an 8B and a 1B model, with caches of f32 and of halves: decode
// at some positions, a few rows at a time, and prompts from their start, a line for each variant. Decode reports GB/s
// of the keys and values that are seen, the others GFLOP/s of products and sums that are seen.
func BenchAttention(b *testing.B, be backend.Backend, o AttentionBench) {
	for _, s := range []struct {
		name               string
		heads, kv, headDim int
	}{{"8B", 32, 8, 128}, {"1B", 32, 8, 64}} {
		for _, half := range []bool{false, true} {
			c := kernelbench.AttentionShape{Heads: s.heads, KV: s.kv, HeadDim: s.headDim, Half: half}
			name := s.name + "/f32"
			if half {
				name = s.name + "/f16"
			}
			for _, at := range []struct{ positions, ctx int }{{128, 4096}, {128, 16384}, {4096, 4096}, {16384, 16384}} {
				c.Rows, c.Positions, c.Ctx = 1, at.positions, at.ctx
				b.Run(fmt.Sprintf("decode/%s/%dof%d", name, c.Positions, c.Ctx),
					func(b *testing.B) { benchAttention(b, be, c, o.Few) })
			}
			for _, rows := range []int{2, 4, 8, 16} {
				c.Rows, c.Positions, c.Ctx = rows, 4096, 4096
				both := append(o.Few[:len(o.Few):len(o.Few)], o.Many...)
				b.Run(fmt.Sprintf("rows/%s/%dat4096", name, rows),
					func(b *testing.B) { benchAttention(b, be, c, both) })
			}
			for _, rows := range []int{512, 2048} {
				c.Rows, c.Positions, c.Ctx = rows, rows, 4096
				b.Run(fmt.Sprintf("prefill/%s/%d", name, rows), func(b *testing.B) { benchAttention(b, be, c, o.Many) })
			}
			c.Rows, c.Positions, c.Ctx = 512, 16384, 16384
			b.Run(fmt.Sprintf("prefill/%s/512at16384", name), func(b *testing.B) { benchAttention(b, be, c, o.Many) })
			c.Rows, c.Window = 1, 1024
			b.Run(fmt.Sprintf("decode/%s/16384window1024", name),
				func(b *testing.B) { benchAttention(b, be, c, o.Few) })
			c.Rows, c.Positions, c.Window = 512, 4096, 128
			b.Run(fmt.Sprintf("prefill/%s/512at4096window128", name),
				func(b *testing.B) { benchAttention(b, be, c, o.Many) })
		}
	}
}

// benchAttention runs the variants, each on several KV caches in turn, so that no cache of the device answers that
// would not in a model. One op works on what the one before left, as in a model.
func benchAttention(b *testing.B, be backend.Backend, s kernelbench.AttentionShape, variants []AttentionVariant) {
	var list []variant
	for _, v := range variants {
		list = append(list, variant{v.Name, func() bool { v.Use(); return true }})
	}
	benchCase(b, be, s.Case(), list)
}
