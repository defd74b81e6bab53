//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cera/backend"
	"cera/check"
)

// TestAttentionLarge runs the kernels in a model's shape, so that all of a device is at work, and holds some rows and
// heads to float64. On a software adapter the shape is smaller, and, not at full length, halves and one row are not
// crossed.
func TestAttentionLarge(t *testing.T) {
	for _, half := range []bool{false, true} {
		for _, rows := range []int{1, 8, 600} {
			b := open(t, Options{})
			heads, kv, headDim, ctx := 32, 8, 128, 9000
			if b.info.Software {
				if !full() && half == (rows == 1) {
					continue
				}
				heads, kv, ctx, rows = 8, 2, 1500, min(rows, 40)
			}
			t.Run(fmt.Sprintf("halves %v, %d rows", half, rows),
				func(t *testing.T) { attentionLarge(t, b, half, rows, heads, kv, headDim, ctx) })
		}
	}
}

func attentionLarge(t *testing.T, b *Backend, half bool, rows, heads, kv, headDim, ctx int) {
	// The cache is filled as a model fills it, and read back as a probe reads it.
	n := kv * headDim
	cache := backend.KV{Half: half}
	cache.K, cache.V = b.Alloc("K", ctx, cache.Width(n)), b.Alloc("V", ctx, cache.Width(n))
	all := make([]uint32, ctx)
	for i := range all {
		all[i] = uint32(i)
	}
	every := uploaded(b, "every position", all)
	k := filled(t, b, "k", ctx, n, func(r, i int) float32 { return 2 * noise(1, r, i) })
	v := filled(t, b, "v", ctx, n, func(r, i int) float32 { return 2 * noise(2, r, i) })
	b.StoreKV(cache, k, v, every)
	if half {
		b.UnpackHalf(k, cache.K)
		b.UnpackHalf(v, cache.V)
	}
	keys, values := read(t, b, k), read(t, b, v)

	q := filled(t, b, "q", rows, heads*headDim, func(r, i int) float32 { return 3 * noise(3, r, i) })
	queries := read(t, b, q)
	at := all[ctx-rows-3 : ctx-3]
	pos := uploaded(b, "pos", at)
	dst := b.Alloc("dst", rows, heads*headDim)
	p := backend.Attention{NHead: heads, NKV: kv, HeadDim: headDim, Scale: float32(1 / math.Sqrt(float64(headDim)))}
	rng := rand.New(rand.NewPCG(uint64(rows), 7))
	for _, variant := range []string{"split", "split-256", "split-1024", "tile", "tile-64-16", "tile-64-32",
		"tile-128-32"} {
		force, err := parseAttention(variant)
		if err != nil {
			t.Fatal(err)
		}
		b.attention = force
		b.Copy(dst, q) // so that what is not written shows
		b.Attention(dst, q, cache, pos, p)
		got := read(t, b, dst)
		for range 24 {
			r, h := rng.IntN(rows), rng.IntN(heads)
			query := queries[(r*heads+h)*headDim:][:headDim]
			weights := make([]float64, at[r]+1)
			var size float64
			top := math.Inf(-1)
			for j := range weights {
				var abs float64
				for d, x := range query {
					s := float64(x) * float64(keys[j*n+h/(heads/kv)*headDim+d]) * float64(p.Scale)
					weights[j] += s
					abs += math.Abs(s)
				}
				size, top = math.Max(size, abs), math.Max(top, weights[j])
			}
			var sum float64
			for j, s := range weights {
				weights[j] = math.Exp(s - top)
				sum += weights[j]
			}
			for d := range headDim {
				var want, abs float64
				for j, w := range weights {
					x := float64(values[j*n+h/(heads/kv)*headDim+d])
					want += w / sum * x
					abs += w / sum * math.Abs(x)
				}
				g := float64(got[(r*heads+h)*headDim+d])
				if bound := check.AttendBound(p, len(weights), size, 0, abs); !(math.Abs(g-want) <= bound) {
					t.Fatalf("%s: row %d, head %d, element %d is %g, want %g: off by %.3g, bound %.3g", variant, r, h,
						d, g, want, math.Abs(g-want), bound)
				}
			}
		}
	}
}
