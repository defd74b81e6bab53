//go:build cgo

package gpu

import (
	"errors"
	"strings"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

func TestParseLimits(t *testing.T) {
	small := DefaultLimits()
	small.Invocations, small.StorageBuffers = 64, 4
	for _, c := range []struct {
		text string
		want Limits
		err  string
	}{
		{"default", DefaultLimits(), ""},
		{"default, threads=64,buffers=4", small, ""},
		{"binding=1048576,buffer=2097152,align=64,storage=1024,workgroups=70000",
			Limits{MaxBinding: 1 << 20, MaxBuffer: 2 << 20, OffsetAlign: 64, WorkgroupStorage: 1024, Workgroups: 70000},
			""},
		{"threads=64,default", DefaultLimits(), ""},
		{"", Limits{}, `""`},
		{"threads", Limits{}, "threads"},
		{"threads=0", Limits{}, "threads=0"},
		{"default=1", Limits{}, "default"},
		{"fibres=3", Limits{}, "fibres"},
	} {
		got, err := ParseLimits(c.text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: found %+v, %v", c.text, got, err)
		}
	}
	for _, l := range []Limits{
		{MaxBinding: 4}, {MaxBuffer: 100}, {Invocations: -1}, {WorkgroupStorage: -1}, {Workgroups: 65534},
		{StorageBuffers: -1}, {OffsetAlign: 48}, {OffsetAlign: 512},
	} {
		if _, err := Open(Options{Adapter: -1, AllowSoftware: true, Limits: l}); err == nil ||
			errors.Is(err, ErrNoDevice) {
			t.Errorf("%+v: found %v, expected it to be refused", l, err)
		}
	}
}

// A device has the limits that are asked for, and not more than the adapter's.
func TestLimitsAreAsked(t *testing.T) {
	l := DefaultLimits()
	l.Invocations, l.StorageBuffers = 64, 4
	if b := open(t, Options{Limits: l}); b.limits != l || b.maxThreads != 64 {
		t.Errorf("found %+v, expected %+v", b.limits, l)
	}
	all := open(t, Options{}).limits
	huge := Limits{MaxBinding: 1 << 60, MaxBuffer: 1 << 60, WorkgroupStorage: 1 << 30, Invocations: 1 << 30,
		Workgroups: 1 << 30, StorageBuffers: 1 << 30}
	if b := open(t, Options{Limits: huge}); b.limits != all {
		t.Errorf("found %+v, expected the adapter's %+v", b.limits, all)
	}
	t.Setenv("CERA_LIMITS", "default,threads=128")
	if b := open(t, Options{}); b.limits.Invocations != 128 || b.limits.OffsetAlign != 256 {
		t.Errorf("found %+v, expected what CERA_LIMITS says", b.limits)
	}
	t.Setenv("CERA_LIMITS", "fibres=3")
	if _, err := Open(Options{Adapter: -1, AllowSoftware: true}); err == nil ||
		!strings.Contains(err.Error(), "CERA_LIMITS") {
		t.Errorf("found %v, expected it to name CERA_LIMITS", err)
	}
}

// The whole suite runs on what WebGPU promises everywhere. A short list leaves out what TestConformanceFewThreads runs, with
// less than that, and what such limits change nothing of.
func TestConformanceDefaultLimits(t *testing.T) {
	b := open(t, Options{Limits: DefaultLimits()})
	var parts []string
	if !full() {
		parts = []string{
			"RMSNorm", "AddRMSNorm", "FusedResidualRMSNorm", "NormsAgree", "LayerNorm", "MatMul", "RopeStoreKV", "Attention",
			"AttentionSplits", "AttentionBatch", "RepeatAttention", "ExpertMatMul", "TopK", "Draw", "Repeat",
		}
	}
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, parts...)
}

// With fewer threads than WebGPU promises everything runs but norms whose sums would grow too long.
func TestConformanceFewThreads(t *testing.T) {
	l := DefaultLimits()
	l.Invocations, l.MaxBinding, l.MaxBuffer = 64, 64<<20, 64<<20
	b := open(t, Options{Limits: l})
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return b },
		"Memory", "Errors", "Formats", "Embed", "MatMul", "RoPE", "StoreKV", "UnpackHalf", "Attention",
		"AttentionSplits", "Act", "GatedAct", "AddBias", "Add", "Scale", "Softcap", "Route", "ExpertMatMul", "ExpertBias",
		"Combine", "AddGated", "MatMuls", "GatedMatMul", "ArgMax", "Record", "RepeatExperts")
}

// What a device cannot do is refused by the name of the limit, with what is needed and what there is, and nothing else
// stops working.
func TestLimitsAreNamed(t *testing.T) {
	type refused struct {
		name   string
		limits Limits
		run    func(b *Backend)
		want   LimitError
	}
	norm := func(n int) func(*Backend) {
		return func(b *Backend) { b.RMSNorm(b.Alloc("dst", 1, n), b.Alloc("src", 1, n), b.Alloc("w", 1, n), 1e-5) }
	}
	attention := func(b *Backend) {
		kv := backend.KV{K: b.Alloc("k", 8, 32), V: b.Alloc("v", 8, 32)}
		b.Attention(b.Alloc("dst", 1, 32), b.Alloc("q", 1, 32), kv, b.Alloc("pos", 1, 1),
			backend.Attention{NHead: 1, NKV: 1, HeadDim: 32, Scale: 1})
	}
	for _, c := range []refused{
		{"threads of a norm", Limits{Invocations: 64}, norm(1025),
			LimitError{"kernel rmsnorm_batch.wgsl", limitInvocations, 256, 64}},
		{"threads of a layer norm", Limits{Invocations: 64}, func(b *Backend) {
			b.LayerNorm(b.Alloc("dst", 1, 1024), b.Alloc("src", 1, 1024), b.Alloc("w", 1, 1024), backend.Tensor{}, 1e-5)
		}, LimitError{"kernel layernorm.wgsl", limitInvocations, 256, 64}},
		{"threads of a rotation", Limits{Invocations: 32}, func(b *Backend) {
			b.RoPE(b.Alloc("x", 1, 8), b.Alloc("pos", 1, 1), b.Alloc("table", 2, 8),
				backend.RoPE{HeadDim: 8, RotDim: 8})
		}, LimitError{"kernel rope.wgsl", limitInvocations, 64, 32}},
		{"buffers of an attention", Limits{StorageBuffers: 4}, attention,
			LimitError{"kernel attention_split.wgsl", limitBuffers, 5, 4}},
		{"workgroup memory of an attention", Limits{WorkgroupStorage: 1024}, attention,
			LimitError{"kernel attention.wgsl", limitStorage, 5120, 1024}},
		{"a binding", Limits{MaxBinding: 1024}, func(b *Backend) { b.Alloc("large", 17, 16) },
			LimitError{"large [17, 16]", limitBinding, 1088, 1024}},
		{"a buffer", Limits{MaxBuffer: 4096}, func(b *Backend) { b.Alloc("large", 65, 16) },
			LimitError{"large [65, 16]", limitBuffer, 4160, 4096}},
		{"a row of a weight", Limits{MaxBinding: 1024}, func(b *Backend) {
			b.LoadWeight("wide", backend.F32, 1, 257, make([]byte, 4*257))
		}, LimitError{"a row", limitBinding, 1028, 1024}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{Limits: c.limits})
			c.run(b)
			err := b.Flush()
			var limit *LimitError
			if !errors.As(err, &limit) || *limit != c.want {
				t.Fatalf("found %v, expected %+v", err, c.want)
			}
			x := filled(t, b, "x", 2, 100, func(_, i int) float32 { return float32(i) })
			b.Scale(x, 2)
			if got := read(t, b, x); got[199] != 198 {
				t.Errorf("afterwards: found %g, expected 198", got[199])
			}
		})
	}
}

// Weights larger than a binding, or a buffer, are split, and give what they give in one piece.
func TestTinyBindings(t *testing.T) {
	one := open(t, Options{})
	tiny := open(t, Options{Limits: Limits{MaxBinding: 16 << 10, MaxBuffer: 16 << 10}})
	one.tune.parts, tiny.tune.parts = 1, 1 // how sums are split follows from the room
	for _, f := range []backend.Format{backend.F32, backend.F16, backend.Q8_0, backend.Q4_K} {
		n := max(64, f.Block())
		const rows, batch = 300, 5
		data := encoded(f, rows, n)
		// The rows of the outputs must fit as well: one of 300 words does.
		for _, matVec := range []int{-1, batch} {
			one.matVecRows, tiny.matVecRows = matVec, matVec
			want, whole := productsOf(t, one, f, rows, n, batch, data)
			got, parts := productsOf(t, tiny, f, rows, n, batch, data)
			if len(whole.chunks) != 1 || len(parts.chunks) < 2 {
				t.Fatalf("%v: %d and %d parts", f, len(whole.chunks), len(parts.chunks))
			}
			sameBits(t, f.String(), got, want)
		}
	}
}

// productsOf is products without the embedding, whose output would not fit a tiny binding.
func productsOf(t *testing.T, b *Backend, f backend.Format, rows, n, batch int, data []byte) ([]float32, *weight) {
	t.Helper()
	w := b.LoadWeight("w", f, rows, n, data)
	x := filled(t, b, "x", batch, n, func(r, i int) float32 { return noise(7, r, i) })
	y, e := b.Alloc("y", batch, rows), b.Alloc("e", 4, n)
	ids := uploaded(b, "ids", []uint32{0, 171, 299, 300})
	b.MatMul(y, x, w)
	b.Embed(e, w, ids)
	out := append(read(t, b, y), read(t, b, e)...)
	for _, x := range []backend.Tensor{x, y, e, ids} {
		b.Free(x)
	}
	g := w.(*weight)
	b.FreeWeight(w)
	return out, g
}
