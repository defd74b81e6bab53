package cpufast

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/check"
	"cera/cpu"
	"cera/weights"
)

// eachLevel runs f on every set of kernels that this processor has, and in pure Go.
func eachLevel(t *testing.T, f func(t *testing.T, v *vector)) {
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) { f(t, &v) })
	}
	t.Run("pure Go", func(t *testing.T) { f(t, nil) })
}

func TestConformance(t *testing.T) {
	eachLevel(t, func(t *testing.T, v *vector) {
		var parts []string
		if v != nil && os.Getenv("CERA_FULL") == "" { // the others are the same code, and run in pure Go
			parts = []string{"Formats", "Embed", "MatMul", "MatMuls", "GatedMatMul", "ExpertMatMul", "Attention", "AttentionSplits",
				"AttentionBatch", "RepeatAttention", "RepeatExperts"}
		}
		backendtest.RunAll(t, func(*testing.T) backend.Backend { return open(v) }, parts...)
	})
}

func BenchmarkAll(b *testing.B) {
	backendtest.BenchAll(b, func(*testing.B) backend.Backend { return New() })
}

// TestCores runs ops on one core and on several: every bit of their results is the same.
func TestCores(t *testing.T) {
	const rows, k, experts, heads = 29, 256, 3, 6
	eachLevel(t, func(t *testing.T, v *vector) {
		backendtest.SameOnCores(t, func() []float32 {
			be, rng := open(v), rand.New(rand.NewPCG(1, 2))
			x, y, z := backendtest.NormalTensor(be, rng, rows, k), be.Alloc("y", rows, experts*k),
				be.Alloc("z", rows, experts*k)
			out := be.Alloc("out", 5*rows, experts*k)
			place := func(i, n int) backend.Tensor { return out.View(i*rows*experts*k, rows, n) }
			positions, ids := make([]uint32, rows), make([]uint32, rows)
			for r := range positions {
				positions[r], ids[r] = uint32(r), uint32(r*r%experts)
			}
			pos, which := be.Alloc("pos", 1, rows), be.Alloc("ids", 1, rows)
			be.UploadU32(pos, positions)
			be.UploadU32(which, ids)
			for i, f := range []backend.Format{backend.Q4_K, backend.IQ3_S} { // with and without kernels
				w := be.LoadWeight("w", f, experts*k, k, backendtest.RandomBlocks(f, experts*k, k, 5))
				be.MatMul(y, x, w)
				be.Copy(place(2*i, experts*k), y)
				be.ExpertMatMul(place(2*i+1, k), x, w, which)
			}
			be.Act(z, y, backend.SiLU)
			const width = experts * k
			be.Attention(place(4, width), z, backend.KV{K: y.View(0, rows, width/3), V: y.View(0, rows, width/3)}, pos,
				backend.Attention{NHead: heads, NKV: heads / 3, HeadDim: width / heads, Scale: 0.1, Window: 9})
			got := make([]float32, out.Rows*out.N)
			if err := be.Read(got, out); err != nil {
				t.Fatal(err)
			}
			return got
		})
	})
}

// TestInfo: what runs is told from the reference, and from other kernels.
func TestInfo(t *testing.T) {
	names := map[string]bool{}
	eachLevel(t, func(t *testing.T, v *vector) {
		info := open(v).Info()
		if info.Backend != "cpu-fast" || !info.Software || !strings.Contains(info.Driver, "float32") ||
			names[info.Driver] {
			t.Errorf("described as %+v", info)
		}
		names[info.Driver] = true
	})
	if best := New().Info().Driver; len(vectors()) > 0 && !strings.HasPrefix(best, vectors()[0].name) {
		t.Errorf("the best kernels are %s, a new backend has %s", vectors()[0].name, best)
	}
}

// TestPieces: pieces cover a weight's rows once, wherever an expert begins.
func TestPieces(t *testing.T) {
	for _, v := range append(vectors(), vector{}) {
		f := &fast{v: &v}
		if v.name == "" {
			f.v = nil
		}
		const n, rows, m = 32, 5000, 1250
		w := f.pack(backend.Q8_0, rows, n, backendtest.RandomBlocks(backend.Q8_0, rows, n, 1))
		x, dst := make([]float32, n), make([]float32, 4*m)
		for i := range x {
			x[i] = 1
		}
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		var list []cpu.Product
		for e := range 4 {
			list = append(list, cpu.Product{W: w, Lo: e * m, Hi: (e + 1) * m, X: x, Stride: n, From: []int{0}, Dst: dst,
				At: []int{e * m}})
		}
		f.matmul(list)
		row, decoded := make([]byte, backend.Q8_0.RowBytes(n)), make([]float32, n)
		for r, got := range dst {
			w.Row(row, r)
			if err := weights.Decode(decoded, backend.Q8_0, row); err != nil {
				t.Fatal(err)
			}
			var want, abs float64
			for _, d := range decoded {
				want += float64(d)
				abs += math.Abs(float64(d))
			}
			if d := math.Abs(float64(got) - want); !(d <= check.DotBound(n, abs)) {
				t.Fatalf("%s: row %d is %g, want %g", v.name, r, got, want)
			}
		}
	}
}
