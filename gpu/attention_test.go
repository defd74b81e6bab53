//go:build cgo

package gpu

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cera/backend"
	"cera/shaders"
)

// TestPlanAttention holds the choice of kernels to a table.
func TestPlanAttention(t *testing.T) {
	const most, least = 48 << 10, 16 << 10 // bytes of workgroup memory: a large GPU's, and what WebGPU promises
	decode := attentionShape{rows: 1, heads: 32, kv: 8, headDim: 128, positions: 16384, cacheAligned: true,
		rowsAligned: true}
	prefill := decode
	prefill.rows = 512
	with := func(s attentionShape, f func(s *attentionShape)) attentionShape {
		f(&s)
		return s
	}
	split := func(d, heads int, half bool) shaders.AttentionSplit {
		return shaders.AttentionSplit{HeadDim: d, Heads: heads, Half: half}
	}
	tile := func(d, cols, depth, values int, half bool) shaders.AttentionTile {
		return shaders.AttentionTile{HeadDim: d, Cols: cols, Depth: depth, Values: values, Half: half}
	}
	general := attentionPlan{kernel: attentionGeneral, parts: 1, splits: 1}
	for _, c := range []struct {
		name    string
		shape   attentionShape
		force   string
		storage int
		want    attentionPlan
	}{
		{"decode", decode, "", most, attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1,
			splits: 64}},
		{"decode of halves", with(decode, func(s *attentionShape) { s.half = true }), "", least,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, true), parts: 1, splits: 64}},
		{"eight rows", with(decode, func(s *attentionShape) { s.rows = 8 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 8}},
		{"a short cache", with(decode, func(s *attentionShape) { s.positions = 1000 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 16}},
		{"a window", with(decode, func(s *attentionShape) { s.positions = 128 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 1}},
		{"one KV head, and no more splits than are merged",
			with(decode, func(s *attentionShape) { s.kv, s.heads, s.positions = 1, 1, 1<<20 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: shaders.MaxSplits}},
		{"as many KV heads as heads", with(decode, func(s *attentionShape) { s.kv = 32 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 16}},
		{"groups of seven", with(decode, func(s *attentionShape) { s.heads, s.kv = 28, 4 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 8, false), parts: 1, splits: 128}},
		{"groups of sixteen", with(decode, func(s *attentionShape) { s.heads, s.kv = 64, 4 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 8, false), parts: 2, splits: 64}},
		{"groups of seven in little memory", with(decode, func(s *attentionShape) { s.heads, s.kv = 28, 4 }), "", least,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 2, splits: 64}},
		{"many KV heads of many rows", with(decode,
			func(s *attentionShape) { s.rows, s.kv = 8, 1<<10; s.heads = 1 << 10 }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 1}},

		{"prefill", prefill, "", most, attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false),
			parts: 1, splits: 1}},
		{"prefill in little memory", prefill, "", least,
			attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false), parts: 1, splits: 1}},
		{"prefill of large heads", with(prefill, func(s *attentionShape) { s.headDim = 256 }), "", most,
			attentionPlan{kernel: attentionTile, tile: tile(256, 64, 16, 16, false), parts: 1, splits: 1}},
		{"prefill of large heads in little memory",
			with(prefill, func(s *attentionShape) { s.headDim, s.half = 256, true }), "", least,
			attentionPlan{kernel: attentionTile, tile: tile(256, 64, 16, 8, true), parts: 1, splits: 1}},
		{"nine rows", with(prefill, func(s *attentionShape) { s.rows = 9 }), "", most,
			attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false), parts: 1, splits: 32}},
		{"a short prompt after a short one", with(prefill, func(s *attentionShape) { s.rows, s.positions = 40, 700 }),
			"", most,
			attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false), parts: 1, splits: 3}},

		{"a head that fills no vector", with(decode, func(s *attentionShape) { s.headDim = 126 }), "", most, general},
		{"a head that fills no vector of halves",
			with(prefill, func(s *attentionShape) { s.headDim, s.half = 124, true }), "", most, general},
		{"a head that is too large", with(prefill, func(s *attentionShape) { s.headDim = 260 }), "", most, general},
		{"a cache between vectors", with(decode, func(s *attentionShape) { s.cacheAligned = false }), "", most,
			general},
		{"queries between vectors", with(decode, func(s *attentionShape) { s.rowsAligned = false }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 64}},
		{"many queries between vectors", with(prefill, func(s *attentionShape) { s.rowsAligned = false }), "", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 1}},

		{"forced general", decode, "general", most, general},
		{"forced tile", decode, "tile", most,
			attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false), parts: 1, splits: 32}},
		{"forced split", prefill, "split", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 1}},
		{"forced workgroups", decode, "split-1024", most,
			attentionPlan{kernel: attentionSplit, split: split(128, 4, false), parts: 1, splits: 128}},
		{"forced tile of a shape", prefill, "tile-64-32", most,
			attentionPlan{kernel: attentionTile, tile: tile(128, 64, 32, 16, false), parts: 1, splits: 1}},
		{"forced tile of a shape too large", prefill, "tile-128-32", least,
			attentionPlan{kernel: attentionTile, tile: tile(128, 128, 16, 16, false), parts: 1, splits: 1}},
		{"forced tile between vectors", with(prefill, func(s *attentionShape) { s.rowsAligned = false }), "tile", most,
			general},
		{"forced split of an odd head", with(decode, func(s *attentionShape) { s.headDim = 31 }), "split", most,
			general},
	} {
		var force attentionForce
		if c.force != "" {
			var err error
			if force, err = parseAttention(c.force); err != nil {
				t.Fatal(err)
			}
		}
		got := planAttention(c.shape, force, c.storage, 256)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(attentionPlan{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if got.kernel == attentionSplit && got.split.Storage() > c.storage ||
			got.kernel == attentionTile && got.tile.Storage() > c.storage {
			t.Errorf("%s: %d and %d bytes of workgroup memory, there are %d", c.name, got.split.Storage(),
				got.tile.Storage(), c.storage)
		}
	}
}

// What WebGPU promises is enough for every head that the fast kernels take.
func TestPlanAttentionFits(t *testing.T) {
	for _, half := range []bool{false, true} {
		for d := 8; d <= shaders.MaxFastHeadDim; d += 8 {
			for _, rows := range []int{1, 100} {
				for _, heads := range []int{1, 4, 5, 8, 71} {
					s := attentionShape{rows: rows, heads: heads, kv: 1, headDim: d, positions: 5000, half: half,
						cacheAligned: true, rowsAligned: true}
					p := planAttention(s, attentionForce{}, 16<<10, 256)
					if p.kernel == attentionGeneral || p.split.Storage() > 16<<10 && p.kernel == attentionSplit ||
						p.tile.Storage() > 16<<10 && p.kernel == attentionTile {
						t.Errorf("%+v: %+v", s, p)
					}
				}
			}
		}
	}
}

func TestParseAttention(t *testing.T) {
	for name, want := range map[string]attentionForce{
		"general":     {kernel: attentionGeneral},
		"split":       {kernel: attentionSplit},
		"tile":        {kernel: attentionTile},
		"split-256":   {kernel: attentionSplit, workgroups: 256},
		"tile-64-32":  {kernel: attentionTile, cols: 64, depth: 32},
		"tile-128-16": {kernel: attentionTile, cols: 128, depth: 16},
	} {
		if got, err := parseAttention(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "flash", "split-", "split-0", "split-x", "split-70000", "tile-64", "tile-32-16",
		"tile-64-8", "general-1", "split-256-1", "tile-64-16x"} {
		if got, err := parseAttention(name); err == nil || !strings.Contains(err.Error(), "attention \""+name+"\"") {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	t.Setenv("CERA_ATTENTION_VARIANT", "fast")
	if _, err := Open(Options{Adapter: -1, AllowSoftware: true}); err == nil ||
		!strings.Contains(err.Error(), "CERA_ATTENTION_VARIANT") {
		t.Errorf("from the environment: %v", err)
	}
	t.Setenv("CERA_ATTENTION_VARIANT", "tile-64-16")
	if b := open(t, Options{}); b.attention.kernel != attentionTile || b.attention.cols != 64 {
		t.Errorf("from the environment: %+v", b.attention)
	}
	if b := open(t, Options{AttentionVariant: "split"}); b.attention != (attentionForce{kernel: attentionSplit}) {
		t.Errorf("the option goes first: %+v", b.attention)
	}
}

// A position past the cache, which no caller may pass, ends with the cache on every kernel: none may run for ever.
func TestAttentionPastTheCacheEverywhere(t *testing.T) {
	for _, variant := range []string{"general", "split", "split-65536", "tile"} {
		for _, half := range []bool{false, true} {
			b := open(t, Options{AttentionVariant: variant})
			const context, n = 70, 16
			words := backend.KV{Half: half}.Width(n)
			value := func(seed int) func(r, i int) float32 {
				return func(r, i int) float32 {
					v := noise(seed, r, i)
					if half {
						return math.Float32frombits(math.Float32bits(v)&0x83ff83ff | 0x34003400) // of 1/4 to 1/2
					}
					return v
				}
			}
			kv := backend.KV{K: filled(t, b, "k", context, words, value(1)),
				V: filled(t, b, "v", context, words, value(2)), Half: half}
			q := filled(t, b, "q", 4, n, func(_, i int) float32 { return noise(3, 0, i) })
			pos := uploaded(b, "pos", []uint32{context - 1, context, math.MaxUint32 - 1, math.MaxUint32})
			dst := b.Alloc("dst", 4, n)
			b.Attention(dst, q, kv, pos, backend.Attention{NHead: 1, NKV: 1, HeadDim: n, Scale: 1})
			got := read(t, b, dst)
			for r := 1; r < 4; r++ {
				if !slices.Equal(got[r*n:(r+1)*n], got[:n]) {
					t.Errorf("%s, halves %v, row %d: found %v, expected %v, that of the last position", variant, half,
						r, got[r*n:(r+1)*n], got[:n])
				}
			}
		}
	}
}

// Attentions of all sizes share what splits leave, and a recorded step keeps what it refers to.
func TestAttentionRecorded(t *testing.T) {
	b := open(t, Options{AttentionVariant: "split"})
	const context, n = 700, 16
	kv := backend.KV{
		K: filled(t, b, "k", context, n, func(r, i int) float32 { return noise(1, r, i) }),
		V: filled(t, b, "v", context, n, func(r, i int) float32 { return noise(2, r, i) }),
	}
	pos := uploaded(b, "pos", []uint32{600, 601, 602, 603, 604})
	q := filled(t, b, "q", 5, n, func(r, i int) float32 { return noise(3, r, i) })
	small, large := b.Alloc("small", 1, n), b.Alloc("large", 5, n)
	run := func() {
		for _, rows := range []int{1, 5} {
			dst := small
			if rows == 5 {
				dst = large
			}
			b.Attention(dst, q.Slice(0, rows), kv, pos.View(0, 1, rows),
				backend.Attention{NHead: 1, NKV: 1, HeadDim: n, Scale: 1})
		}
	}
	again := b.Record(run)
	want := slices.Concat(read(t, b, small), read(t, b, large))
	for range 3 {
		b.Upload(small, make([]float32, n))
		b.Upload(large, make([]float32, 5*n))
		again()
		if got := slices.Concat(read(t, b, small), read(t, b, large)); !slices.Equal(got, want) {
			t.Fatalf("found %v, expected %v", got, want)
		}
	}
}

// The trial of halves finds what a conversion that flushes does, and leaves a recorded step alone.
func TestTrialOfHalves(t *testing.T) {
	b := open(t, Options{})
	kv := backend.KV{K: b.Alloc("k", 4, 8), V: b.Alloc("v", 4, 8), Half: true}
	q, dst, pos := b.Alloc("q", 1, 16), b.Alloc("dst", 1, 16), b.Alloc("pos", 1, 1)
	// Values of 2^-24, the smallest half there is.
	b.UploadU32(kv.V, slices.Repeat([]uint32{0x00010001}, 32))
	again := b.Record(func() {
		b.Attention(dst, q, kv, pos, backend.Attention{NHead: 1, NKV: 1, HeadDim: 16, Scale: 1})
	})
	if b.halves == halvesUnknown {
		t.Error("nothing was tried")
	}
	for range 2 {
		for i, v := range read(t, b, dst) {
			if v != 0x1p-24 {
				t.Errorf("value %d: found %g, expected 2^-24", i, v)
			}
		}
		b.Upload(dst, make([]float32, 16))
		again()
	}
}
