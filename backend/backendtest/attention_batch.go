package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
)

// upTo counts rows positions that end with last.
func upTo(last uint32, rows int) []uint32 {
	at := make([]uint32, rows)
	for i := range at {
		at[i] = last + 1 + uint32(i-rows)
	}
	return at
}

// testAttentionSplits has few rows on caches long enough that a kernel may split the positions, which lie at the
// borders of every likely split, and groups of any number of heads.
func testAttentionSplits(t *testing.T, be backend.Backend) {
	for _, half := range []bool{false, true} {
		for k, c := range []attentionCase{
			{heads: 1, kv: 1, headDim: 16, at: []uint32{0, 63, 64, 65}},
			{heads: 2, kv: 2, headDim: 16, at: []uint32{127, 128, 129}},
			{heads: 3, kv: 1, headDim: 24, at: []uint32{191, 192, 193, 1}},
			{heads: 8, kv: 2, headDim: 80, at: []uint32{255, 256, 257}},
			{heads: 5, kv: 1, headDim: 24, at: []uint32{511, 512}},
			{heads: 12, kv: 2, headDim: 16, at: []uint32{639, 640, 0}},
			{heads: 7, kv: 1, headDim: 80, at: []uint32{1023, 1024}},
			{heads: 4, kv: 1, headDim: 128, at: []uint32{1000, 64, 1001}},
			{heads: 17, kv: 1, headDim: 16, at: []uint32{130, 400}},
			{heads: 6, kv: 1, headDim: 256, at: []uint32{257, 400}},
			{heads: 2, kv: 1, headDim: 16, at: []uint32{16383, 16384}}, // more than there may be splits
			{heads: 1, kv: 1, headDim: 264, at: []uint32{70}},
			{heads: 2, kv: 1, headDim: 30, at: []uint32{200, 63}},
			{heads: 2, kv: 1, headDim: 27, at: []uint32{200, 64}},
		} {
			c.half, c.scale, c.pad = half, float32(1/math.Sqrt(float64(c.headDim))), k%3*4
			attention(t, be, c)
		}
		// A long cache that is hardly filled, and one that is full.
		for _, at := range [][]uint32{{0}, {5, 64, 128}, {2047, 1000}} {
			attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 16, scale: 0.25, at: at, half: half, free: 3000})
		}
		attention(t, be, attentionCase{heads: 4, kv: 1, headDim: 16, scale: 0.25, at: []uint32{2111}, half: half,
			free: 1})
		for _, window := range []int{1, 63, 64, 65, 200, 700} {
			attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, pad: 4, scale: 0.2, window: window, softcap: 5,
				half: half,
				at:   []uint32{0, 62, 63, 64, 700, 1300}, sinks: []float32{0.5, -3, 4, -1e30, 30, 1, -0.25}})
		}
		for _, sinks := range [][]float32{{0, 1.5, -2, 6}, {-1e30, -200, -60, 60}, {100, 88, 200, 1e30}} {
			attention(t, be, attentionCase{heads: 8, kv: 2, headDim: 24, scale: 0.2, at: []uint32{700, 5, 127, 128, 0},
				sinks: sinks, half: half})
		}
	}
}

// testAttentionBatch has many rows: chunks of a prompt from its start and from its middle, rows of several sequences in
// one batch, and numbers of rows that fill no tile.
func testAttentionBatch(t *testing.T, be backend.Backend) {
	for _, half := range []bool{false, true} {
		for k, c := range []attentionCase{
			{heads: 2, kv: 2, headDim: 16, at: upTo(69, 70)},
			{heads: 8, kv: 2, headDim: 16, at: upTo(300, 17)},
			{heads: 4, kv: 1, headDim: 128, at: upTo(140, 33)},
			{heads: 4, kv: 4, headDim: 80, at: upTo(128, 129)},
			{heads: 6, kv: 2, headDim: 24, at: upTo(63, 64)},
			{heads: 7, kv: 1, headDim: 24, at: upTo(200, 9)},
			{heads: 3, kv: 3, headDim: 256, at: upTo(80, 12)},
			{heads: 2, kv: 1, headDim: 192, at: upTo(90, 40)},
			{heads: 2, kv: 1, headDim: 16, at: append(upTo(600, 20), upTo(7, 8)...)},
			{heads: 70, kv: 1, headDim: 16, at: upTo(150, 10)},
			{heads: 2, kv: 1, headDim: 31, at: upTo(100, 20)},
		} {
			c.half, c.scale, c.pad = half, float32(1/math.Sqrt(float64(c.headDim))), k%3*4
			attention(t, be, c)
		}
		for _, window := range []int{1, 40, 64, 129, 1 << 20} {
			attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, pad: 4, scale: 0.3, window: window, softcap: 5,
				half: half,
				at:   upTo(333, 75), sinks: []float32{0.5, -3, 4, -1e30, 30, 1, -0.25}})
			// Rows that see nothing of what others see.
			attention(t, be, attentionCase{heads: 2, kv: 1, headDim: 16, scale: 0.25, window: window, half: half,
				at: append(upTo(900, 10), 0, 450, 451, 449, 130, 3)})
		}
		for _, sinks := range [][]float32{{0, 1.5, -2, 6}, {-1e30, -200, -60, 60}, {100, 88, 200, 1e30}} {
			attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, scale: 0.2, at: upTo(1400, 12), sinks: sinks,
				half: half})
		}
		// Scores so large that one position takes all.
		attention(t, be, attentionCase{heads: 3, kv: 3, headDim: 16, scale: 4, at: upTo(130, 11), half: half})
	}
}

// testRepeatAttention runs attentions again and again on other data in between: a missing barrier shows as bits that
// move.
func testRepeatAttention(t *testing.T, be backend.Backend) {
	const heads, kv, headDim, ctx = 8, 2, 24, 700
	runs := 8
	if !be.Info().Software { // where threads really run at the same time
		runs = 200
	}
	for _, half := range []bool{false, true} {
		for _, rows := range []int{1, 3, 40} {
			k, v := putCache(be, half, ctx, kv*headDim, 0, random(1, 1)),
				putCache(be, half, ctx, kv*headDim, 0, random(2, 1))
			q, other := put(be, rows, heads*headDim, heads*headDim, random(3, 1)),
				put(be, rows, heads*headDim, heads*headDim, random(4, 1))
			dst := poisoned(be, rows, heads*headDim, heads*headDim)
			pos := ids(be, upTo(600, rows))
			p := backend.Attention{NHead: heads, NKV: kv, HeadDim: headDim, Scale: 0.3}
			var want []float32
			for run := range runs {
				what := fmt.Sprintf("halves %v, %d rows, run %d", half, rows, run)
				be.Attention(dst.t, other.t, backend.KV{K: v.t, V: k.t, Half: half}, pos, p)
				be.Attention(dst.t, q.t, backend.KV{K: k.t, V: v.t, Half: half}, pos, p)
				got := dst.read(t, what)
				if run == 0 {
					want = got
				}
				for i, g := range got {
					if math.Float32bits(g) != math.Float32bits(want[i]) {
						t.Fatalf("%s: word %d is %g, first %g", what, i, g, want[i])
					}
				}
			}
			freeAll(q, other, dst)
			be.Free(k.t)
			be.Free(v.t)
			be.Free(pos)
		}
	}
}
