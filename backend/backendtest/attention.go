package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cera/backend"
	"cera/check"
)

// attentionCase is one shape of attention.
type attentionCase struct {
	heads, kv, headDim, pad int // pad: words between rows
	scale                   float32
	at                      []uint32 // positions of the rows
	window                  int
	softcap                 float32
	sinks                   []float32 // repeated over the heads; none where empty
	half                    bool      // the cache holds halves
	free                    int       // rows of the cache past the largest position; 0: 200
}

func testAttention(t *testing.T, be backend.Backend) {
	for _, c := range []attentionCase{
		{heads: 1, kv: 1, headDim: 1, scale: 1, at: []uint32{0}},
		{heads: 4, kv: 4, headDim: 8, scale: 0.35, at: []uint32{0, 1, 2, 3, 4}},
		{heads: 8, kv: 4, headDim: 8, pad: 3, scale: 0.35, at: []uint32{63, 64, 65}},
		{heads: 6, kv: 1, headDim: 24, scale: 0.2, at: []uint32{127, 128, 0, 129}},
		{heads: 4, kv: 2, headDim: 80, pad: 1, scale: 0.11, at: []uint32{300}},
		{heads: 2, kv: 2, headDim: 128, scale: 0.09, at: []uint32{255, 256, 257}},
		{heads: 2, kv: 1, headDim: 256, scale: 0.06, at: []uint32{70, 71}},
		// Scores so large that one position takes all.
		{heads: 3, kv: 3, headDim: 31, pad: 2, scale: 4, at: []uint32{19, 20}},
	} {
		attention(t, be, c)
	}
	// Windows, from positions that they do not reach past to positions far beyond them.
	for _, window := range []uint32{1, 3, 64, 130} {
		for k, p := range []uint32{0, 1, window - 1, window, window + 1, 2 * window, 300} {
			attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, pad: k % 3, scale: 0.2, at: []uint32{p},
				window: int(window)})
		}
		attention(t, be, attentionCase{heads: 2, kv: 1, headDim: 16, scale: 0.25, window: int(window),
			at: []uint32{0, 1, 2, 3, 63, 64, 65, 127, 128, 129, 130, 131, 190, 260}})
	}
	attention(t, be, attentionCase{heads: 2, kv: 1, headDim: 16, scale: 0.25, at: []uint32{5, 130}, window: 1 << 30})
	// Softcaps, from one that hardly shows to one that levels all scores.
	for _, limit := range []float32{50, 3, 0.25} {
		attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, scale: 0.2, at: []uint32{0, 40, 129},
			softcap: limit})
		attention(t, be, attentionCase{heads: 3, kv: 1, headDim: 31, pad: 1, scale: 4, at: []uint32{7, 130},
			softcap: limit})
	}
	// Sinks: of the scores' size, some that take all, some that take nothing.
	for _, sinks := range [][]float32{{0, 1.5, -2, 6}, {-1e30, -200, -60, 60}, {100, 88, 200, 1e30}} {
		attention(t, be, attentionCase{heads: 4, kv: 2, headDim: 24, pad: 2, scale: 0.2,
			at: []uint32{0, 5, 127, 128, 200}, sinks: sinks})
	}
	// All of it together.
	for _, window := range []int{1, 3, 64, 130} {
		attention(t, be, attentionCase{heads: 12, kv: 3, headDim: 40, pad: 5, scale: 0.3, window: window, softcap: 5,
			at: []uint32{0, 2, 63, 64, 129, 130, 131, 270}, sinks: []float32{0.5, -3, 4, -1e30, 30, 1, -0.25}})
	}
}

// attention checks one shape. Cache rows that no row of the batch may see must not be read: before the first that some
// row sees and after the last they are not even numbers. Between them values are poison, and keys are zeros in some and
// poison in others, so that whatever the query is, one of them has a weight that would show.
func attention(t *testing.T, be backend.Backend, c attentionCase) {
	t.Helper()
	first := func(p uint32) int {
		if c.window == 0 {
			return 0
		}
		return max(0, int(p)+1-c.window)
	}
	ctx, free := 0, 200
	if c.free > 0 {
		free = c.free
	}
	for _, p := range c.at {
		ctx = max(ctx, int(p)+free)
	}
	seen := make([]bool, ctx)
	for _, p := range c.at {
		for j := first(p); j <= int(p); j++ {
			seen[j] = true
		}
	}
	lo, hi := slices.Index(seen, true), ctx-free
	width := c.kv * c.headDim
	key, value := random(2, 1), random(3, 1)
	unseen := func(r int) float32 {
		switch {
		case r < lo || r > hi:
			return float32(math.NaN())
		case c.half:
			return -60000 // poison would be infinite
		}
		return poison
	}
	k := putCache(be, c.half, ctx, width, c.pad, func(r, i int) float32 {
		v := key(r, i)
		if seen[r] {
			return v
		}
		if r > lo && r < hi && r%2 == 0 {
			return 0
		}
		return unseen(r)
	})
	v := putCache(be, c.half, ctx, width, 2*c.pad, func(r, i int) float32 {
		if v := value(r, i); seen[r] {
			return v
		}
		return unseen(r)
	})
	q := put(be, len(c.at), c.heads*c.headDim, c.heads*c.headDim+c.pad, random(1, 1))
	dst := poisoned(be, len(c.at), c.heads*c.headDim, c.heads*c.headDim+c.pad)
	pos := ids(be, c.at)
	p := backend.Attention{NHead: c.heads, NKV: c.kv, HeadDim: c.headDim, Scale: c.scale, Window: c.window,
		Softcap: c.softcap}
	operands := []*operand{q}
	if len(c.sinks) > 0 {
		sinks := put(be, 1, c.heads, c.heads, func(_, h int) float32 { return c.sinks[h%len(c.sinks)] })
		p.Sinks = sinks.t
		operands = append(operands, sinks)
	}
	be.Attention(dst.t, q.t, backend.KV{K: k.t, V: v.t, Half: c.half}, pos, p)
	what := fmt.Sprintf("%+v", c)
	// The weights of one row and head serve every element of the head.
	row, head := -1, -1
	var weights []float64
	var size, sink float64
	dst.expect(t, what, func(r, i int) (float64, float64) {
		h, lo := i/c.headDim, first(c.at[r])
		base := h / (c.heads / c.kv) * c.headDim
		if r != row || h != head {
			row, head, size, sink = r, h, 0, 0
			weights = make([]float64, int(c.at[r])+1-lo)
			for j := range weights {
				var abs float64
				for d := range c.headDim {
					p := float64(q.at(r, h*c.headDim+d)) * float64(k.at(lo+j, base+d)) * float64(c.scale)
					weights[j] += p
					abs += math.Abs(p)
				}
				if c.softcap > 0 {
					weights[j] = float64(c.softcap) * math.Tanh(weights[j]/float64(c.softcap))
				}
				size = math.Max(size, abs)
			}
			scores := weights
			if len(c.sinks) > 0 {
				sink = float64(c.sinks[h%len(c.sinks)])
				scores = append(weights[:len(weights):len(weights)], sink)
			}
			top, sum := math.Inf(-1), 0.0
			for _, s := range scores {
				top = math.Max(top, s)
			}
			for _, s := range scores {
				sum += math.Exp(s - top)
			}
			for j, s := range weights {
				weights[j] = math.Exp(s-top) / sum
			}
		}
		var out, abs float64
		for j, w := range weights {
			x := float64(v.at(lo+j, base+i%c.headDim))
			out += w * x
			abs += w * math.Abs(x)
		}
		return out, check.AttendBound(p, len(weights), size, sink, abs)
	})
	for _, o := range operands {
		o.unchanged(t, what+": an input")
	}
	for _, o := range []*cache{k, v} {
		o.sameBits(t, what+": the cache")
		be.Free(o.t)
	}
	freeAll(append(operands, dst)...)
	be.Free(pos)
}
