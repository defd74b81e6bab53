package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

func testRoPE(t *testing.T, be backend.Backend) {
	for _, c := range []struct{ rows, heads, headDim, rotDim, pad int }{
		{1, 1, 2, 2, 0}, {3, 4, 8, 8, 0}, {5, 3, 24, 24, 7}, {2, 8, 64, 32, 0}, {17, 2, 128, 128, 5}, {1, 32, 80, 20, 0},
	} {
		table := put(be, 40, c.rotDim, c.rotDim, func(r, i int) float32 {
			angle := float64(r) * float64(i/2+1) * 0.37
			if i%2 == 0 {
				return float32(math.Cos(angle))
			}
			return float32(math.Sin(angle))
		})
		x := put(be, c.rows, c.heads*c.headDim, c.heads*c.headDim+c.pad, random(1, 1))
		at := make([]uint32, c.rows)
		for i := range at {
			at[i] = uint32((i*23 + 39) % 40)
		}
		pos := ids(be, at)
		be.RoPE(x.t, pos, table.t, backend.RoPE{HeadDim: c.headDim, RotDim: c.rotDim})
		x.expect(t, fmt.Sprintf("%+v", c), func(r, i int) (float64, float64) {
			j := i % c.headDim
			if j >= c.rotDim {
				return float64(x.at(r, i)), 0
			}
			cos, sin := float64(table.at(int(at[r]), j&^1)), float64(table.at(int(at[r]), j|1))
			first, second := float64(x.at(r, i&^1)), float64(x.at(r, i|1))
			want, abs := first*cos-second*sin, math.Abs(first*cos)+math.Abs(second*sin)
			if j%2 == 1 {
				want, abs = first*sin+second*cos, math.Abs(first*sin)+math.Abs(second*cos)
			}
			return want, check.DotBound(2, abs)
		})
		x.free()
		table.free()
		be.Free(pos)
	}
}

func testStoreKV(t *testing.T, be backend.Backend) {
	for _, n := range []int{1, 24, 64, 257} {
		at := []uint32{9, 3, 4, 0}
		k, v := put(be, 4, n, n+5, random(1, 1)), put(be, 4, n, n+2, random(2, 1))
		kc, vc := poisoned(be, 11, n, n), poisoned(be, 11, n, n)
		pos := ids(be, at)
		be.StoreKV(backend.KV{K: kc.t, V: vc.t}, k.t, v.t, pos)
		for _, c := range []struct {
			what       string
			cache, src *operand
		}{{"k", kc, k}, {"v", vc, v}} {
			c.cache.expect(t, fmt.Sprintf("n %d, %s cache", n, c.what), func(r, i int) (float64, float64) {
				for row, p := range at {
					if int(p) == r {
						return float64(c.src.at(row, i)), 0
					}
				}
				return float64(poison), 0
			})
		}
		for _, o := range []*operand{k, v, kc, vc} {
			o.free()
		}
		be.Free(pos)
	}
}

func testAttention(t *testing.T, be backend.Backend) {
	for _, c := range []struct {
		heads, kv, headDim, pad int
		scale                   float32
		at                      []uint32
	}{
		{1, 1, 1, 0, 1, []uint32{0}},
		{4, 4, 8, 0, 0.35, []uint32{0, 1, 2, 3, 4}},
		{8, 4, 8, 3, 0.35, []uint32{63, 64, 65}},
		{6, 1, 24, 0, 0.2, []uint32{127, 128, 0, 129}},
		{4, 2, 80, 1, 0.11, []uint32{300}},
		{2, 2, 128, 0, 0.09, []uint32{255, 256, 257}},
		{2, 1, 256, 0, 0.06, []uint32{70, 71}},
		{3, 3, 31, 2, 4, []uint32{19, 20}}, // scores so large that one position takes all
	} {
		ctx := int(c.at[len(c.at)-1]) + 200
		q := put(be, len(c.at), c.heads*c.headDim, c.heads*c.headDim+c.pad, random(1, 1))
		// Rows past a token's position must not be read: they hold poison, which would show.
		last := uint32(0)
		for _, p := range c.at {
			last = max(last, p)
		}
		fill := func(seed uint64) *operand {
			value := random(seed, 1)
			return put(be, ctx, c.kv*c.headDim, c.kv*c.headDim, func(r, i int) float32 {
				if r > int(last) {
					return poison
				}
				return value(r, i)
			})
		}
		k, v := fill(2), fill(3)
		dst := poisoned(be, len(c.at), c.heads*c.headDim, c.heads*c.headDim+c.pad)
		pos := ids(be, c.at)
		be.Attention(dst.t, q.t, backend.KV{K: k.t, V: v.t}, pos,
			backend.Attention{NHead: c.heads, NKV: c.kv, HeadDim: c.headDim, Scale: c.scale})
		what := fmt.Sprintf("%d heads on %d of %d at %v", c.heads, c.kv, c.headDim, c.at)
		dst.expect(t, what, func(r, i int) (float64, float64) {
			h, col := i/c.headDim, i%c.headDim
			base := h / (c.heads / c.kv) * c.headDim
			scores := make([]float64, c.at[r]+1)
			top, size := math.Inf(-1), 0.0
			for j := range scores {
				var abs float64
				for d := range c.headDim {
					p := float64(q.at(r, h*c.headDim+d)) * float64(k.at(j, base+d)) * float64(c.scale)
					scores[j] += p
					abs += math.Abs(p)
				}
				top, size = math.Max(top, scores[j]), math.Max(size, abs)
			}
			var sum, out, abs float64
			for j, s := range scores {
				e := math.Exp(s - top)
				sum += e
				out += e * float64(v.at(j, base+col))
				abs += e * math.Abs(float64(v.at(j, base+col)))
			}
			return out / sum, check.AttentionBound(c.headDim, len(scores), size, abs/sum)
		})
		for _, o := range []*operand{q, k, v, dst} {
			o.free()
		}
		be.Free(pos)
	}
}
