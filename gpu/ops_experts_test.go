//go:build cgo

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
)

// uploaded puts u32 values on the device as [1, n].
func uploaded(b *Backend, name string, values []uint32) backend.Tensor {
	x := b.Alloc(name, 1, len(values))
	b.UploadU32(x, values)
	return x
}

// Experts whose rows lie in several bindings give the values of a weight that is not split, bit for bit, in every
// format and form; an id past the experts gives zeros, and nothing beside the rows of dst is written.
func TestExpertsOfSplitWeights(t *testing.T) {
	for name, form := range map[string]expertForm{"by slot": expertsBySlot, "in panels": expertsInPanels} {
		t.Run(name, func(t *testing.T) { expertsOfSplitWeights(t, form) })
	}
}

func expertsOfSplitWeights(t *testing.T, form expertForm) {
	b := open(t, Options{})
	b.tune.experts = form
	const experts, m, k, slots, stride = 5, 7, 768, 12, 9 // groups of packed weights begin inside of rows
	ids := uploaded(b, "ids", []uint32{0, 4, 3, 3, experts, 1, 2, math.MaxUint32, 0, 4, 1, 2})
	x := filled(t, b, "x", slots/3, k, func(r, i int) float32 { return noise(1, r, i) })
	run := func(t *testing.T, f backend.Format, data []byte) ([]float32, *weight) {
		t.Helper()
		w := b.LoadWeight("w", f, experts*m, k, data)
		all := filled(t, b, "dst", slots, stride, func(int, int) float32 { return 99 })
		dst := all
		dst.N = m
		b.ExpertMatMul(dst, x, w, ids)
		out := read(t, b, all)
		b.Free(all)
		g := w.(*weight)
		b.FreeWeight(w)
		return out, g
	}
	for _, f := range backend.Formats() {
		t.Run(f.String(), func(t *testing.T) {
			data := encoded(f, experts*m, k)
			b.maxWeight = b.limits.MaxBinding
			want, _ := run(t, f, data)
			for s := range slots {
				row := want[s*stride : (s+1)*stride]
				if absent := s == 4 || s == 7; absent != (slices.Max(row[:m]) == 0 && slices.Min(row[:m]) == 0) {
					t.Fatalf("slot %d: found %v", s, row)
				}
				if row[m] != 99 || row[m+1] != 99 {
					t.Fatalf("slot %d: the gap after it was overwritten", s)
				}
			}
			for _, rowsPer := range []int{2, 6, 7, 10, 34} { // a group at least
				b.maxWeight = int64(rowsPer*f.RowBytes(k)+3) &^ 3
				got, w := run(t, f, data)
				if !slices.Equal(got, want) {
					t.Fatalf("%d rows a binding: results differ", rowsPer)
				}
				checkChunks(t, w, b.maxWeight, f.RowBytes(k))
			}
		})
	}
}

// Whatever 32 bits the logits are, the ids are experts that there are, each once, in the order of the logits with NaN
// last, the lower expert first where two are equal.
func TestRouteOfAnyBits(t *testing.T) {
	b := open(t, Options{})
	const rows = 64
	nan := uint32(0x7fc00000)
	special := []uint32{0, 1 << 31, 1, 1<<31 | 1, 0x7f800000, 0xff800000, nan, nan | 1<<31, 0x7f800001, 0x7f7fffff, 0xff7fffff}
	for _, c := range []struct{ experts, used int }{{1, 1}, {2, 2}, {63, 5}, {64, 64}, {65, 3}, {512, 8}, {1500, 70}} {
		t.Run(fmt.Sprintf("%d of %d", c.used, c.experts), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
			bits := make([]uint32, rows*c.experts)
			for i := range bits {
				switch r := i / c.experts; {
				case r == 0:
					bits[i] = nan
				case r%2 == 0:
					bits[i] = special[rng.IntN(len(special))]
				default:
					bits[i] = rng.Uint32()
				}
			}
			logits := b.Alloc("logits", rows, c.experts)
			b.UploadU32(logits, bits)
			ids := filled(t, b, "ids", rows, c.used, func(int, int) float32 { return 99 })
			weights := b.Alloc("weights", rows, c.used)
			b.Route(ids, weights, logits, backend.Router{Used: c.used})
			got := read(t, b, ids)
			for r := range rows {
				row := bits[r*c.experts : (r+1)*c.experts]
				order := make([]int, c.experts)
				for e := range order {
					order[e] = e
				}
				slices.SortStableFunc(order, func(i, j int) int {
					return cmp.Compare(math.Float32frombits(row[j]), math.Float32frombits(row[i])) // NaN is below all
				})
				for j := range c.used {
					if id := math.Float32bits(got[r*c.used+j]); id != uint32(order[j]) {
						t.Fatalf("row %d, pick %d: found expert %d, expected %d", r, j, id, order[j])
					}
				}
			}
			for _, x := range []backend.Tensor{logits, ids, weights} {
				b.Free(x)
			}
		})
	}
}

// A chain of the ops of experts, of a layer norm and of attention gives the same bits, run after run: a missing barrier
// shows as a result that moves.
func TestRepeatableExperts(t *testing.T) {
	b := open(t, Options{})
	const rows, n, experts, used, heads, context = 17, 256, 300, 70, 8, 300
	x := filled(t, b, "x", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	norm := filled(t, b, "norm", 1, n, func(_, i int) float32 { return noise(2, 0, i) })
	router := b.LoadWeight("router", backend.Q8_0, experts, n, encoded(backend.Q8_0, experts, n))
	w := b.LoadWeight("w", backend.F16, experts*4, n, encoded(backend.F16, experts*4, n))
	kv := backend.KV{
		K: filled(t, b, "k", context, n, func(r, i int) float32 { return noise(3, r, i) }),
		V: filled(t, b, "v", context, n, func(r, i int) float32 { return noise(4, r, i) }),
	}
	at := make([]uint32, rows)
	for i := range at {
		at[i] = uint32(i*59) % context
	}
	pos := uploaded(b, "pos", at)
	h, a := b.Alloc("h", rows, n), b.Alloc("a", rows, n)
	logits := b.Alloc("logits", rows, experts)
	ids, weights := b.Alloc("ids", rows, used), b.Alloc("weights", rows, used)
	y, sum := b.Alloc("y", rows*used, 4), b.Alloc("sum", rows, 4)
	var first []float32
	for run := range 20 {
		b.LayerNorm(h, x, norm, backend.Tensor{}, 1e-5)
		b.Attention(a, h, kv, pos, backend.Attention{
			NHead: heads, NKV: heads, HeadDim: n / heads, Scale: 1, Window: 150, Softcap: 3, Sinks: norm.View(0, 1, heads),
		})
		b.MatMul(logits, a, router)
		b.Route(ids, weights, logits, backend.Router{Kind: backend.SoftmaxTopK, Used: used})
		b.ExpertMatMul(y, a, w, ids.View(0, 1, rows*used))
		b.Combine(sum, y, weights)
		got := slices.Concat(read(t, b, a), read(t, b, ids), read(t, b, weights), read(t, b, sum))
		if run == 0 {
			first = got
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
				t.Fatalf("run %d, value %d: found %g, first %g", run, i, got[i], first[i])
			}
		}
	}
}

// A position past the cache, which no caller may pass, ends with the cache: the kernel must not run for ever.
func TestAttentionPastTheCache(t *testing.T) {
	b := open(t, Options{})
	const context, n = 5, 8
	kv := backend.KV{
		K: filled(t, b, "k", context, n, func(r, i int) float32 { return noise(1, r, i) }),
		V: filled(t, b, "v", context, n, func(r, i int) float32 { return noise(2, r, i) }),
	}
	q := filled(t, b, "q", 4, n, func(_, i int) float32 { return noise(3, 0, i) })
	pos := uploaded(b, "pos", []uint32{context - 1, context, math.MaxUint32 - 1, math.MaxUint32})
	dst := b.Alloc("dst", 4, n)
	b.Attention(dst, q, kv, pos, backend.Attention{NHead: 1, NKV: 1, HeadDim: n, Scale: 1})
	got := read(t, b, dst)
	for r := 1; r < 4; r++ {
		if !slices.Equal(got[r*n:(r+1)*n], got[:n]) {
			t.Errorf("row %d: found %v, expected %v, that of the last position", r, got[r*n:(r+1)*n], got[:n])
		}
	}
}
