//go:build cgo

package gpu

import (
	"math"
	"strings"
	"testing"

	"cera/backend"
)

// misuse is a call that must give an error with all of want in it.
type misuse struct {
	name string
	run  func()
	want []string
}

// refuse makes the calls and reads their errors, which must not stay.
func refuse(t *testing.T, b *Backend, cases []misuse) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run()
			err := b.Flush()
			if err == nil {
				t.Fatalf("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("found %q, expected it to contain %q", err, want)
				}
			}
			if err := b.Flush(); err != nil {
				t.Fatalf("the error stayed: %v", err)
			}
		})
	}
}

// Every misuse gives an error that names the op and the operand, and none reaches the binding, which would abort.
func TestMisuse(t *testing.T) {
	b := open(t, Options{})
	other := open(t, Options{})
	foreign := other.Alloc("foreign", 2, 64)
	foreignW := other.LoadWeight("foreign weight", backend.F32, 4, 64, make([]byte, 4*64*4))

	x := b.Alloc("x", 2, 64)
	y := b.Alloc("y", 2, 64)
	z := b.Alloc("z", 2, 64)
	vec := b.Alloc("vec", 1, 64)
	pos := b.Alloc("pos", 1, 2)
	table := b.Alloc("table", 16, 8)
	kc, vc := b.Alloc("kc", 16, 32), b.Alloc("vc", 16, 32)
	kv := backend.KV{K: kc, V: vc}
	k, v := b.Alloc("k", 2, 32), b.Alloc("v", 2, 32)
	freed := b.Alloc("gone", 2, 64)
	b.Free(freed)
	w := b.LoadWeight("w", backend.F32, 64, 64, make([]byte, 64*64*4))
	gone := b.LoadWeight("gone weight", backend.F32, 1, 64, make([]byte, 64*4))
	b.FreeWeight(gone)
	arena := b.Alloc("arena", 10, 64)
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	att := backend.Attention{NHead: 4, NKV: 2, HeadDim: 16, Scale: 1}
	rope := backend.RoPE{HeadDim: 16, RotDim: 8}
	fused := backend.FusedNorm{
		Out: arena.Slice(0, 2), In: arena.Slice(2, 4), Residual: arena.Slice(4, 6), Gamma: arena.Slice(6, 7),
		Beta: arena.Slice(7, 8),
	}
	wide := x
	wide.Stride = 63
	long := x
	long.Rows = 3
	huge := x
	huge.Rows, huge.Stride = math.MaxInt, math.MaxInt
	nan := float32(math.NaN())
	negative := x
	negative.Off = -64

	refuse(t, b, []misuse{
		{"zero tensor", func() { b.RMSNorm(backend.Tensor{}, x, vec, 0) }, []string{"RMSNorm", "dst", "no tensor"}},
		{"other backend's tensor", func() { b.RMSNorm(foreign, x, vec, 0) },
			[]string{"RMSNorm", "dst", "another backend"}},
		{"freed tensor", func() { b.RMSNorm(x, freed, vec, 0) }, []string{"src", "gone", "freed"}},
		{"stride below width", func() { b.RMSNorm(y, wide, vec, 0) }, []string{"src", "stride"}},
		{"past the end", func() { b.Copy(y, long) }, []string{"src", "past the end", "128 words"}},
		{"overflowing shape", func() { b.Copy(huge, huge) }, []string{"dst", "past the end"}},
		{"negative offset", func() { b.Copy(negative, y) }, []string{"dst", "not a matrix"}},
		{"rows differ", func() { b.RMSNorm(y, x.Slice(0, 1), vec, 0) }, []string{"src", "found 1 rows", "expected 2"}},
		{"weight width", func() { b.RMSNorm(y, x, pos, 0) }, []string{"w:", "found rows of 2", "expected 64"}},
		{"weight with dst", func() { b.RMSNorm(x, y, x.Slice(1, 2), 0) }, []string{"dst", "w", "one buffer"}},
		{"dst is src", func() { b.RMSNorm(x, x, vec, 0) }, []string{"src", "share elements"}},
		{"residual stride", func() { b.AddRMSNorm(y, x.View(0, 2, 32), z.Slice(0, 2), vec.View(0, 1, 32), 0) },
			[]string{"residual", "found rows of 64"}},
		{"residual is src", func() { b.AddRMSNorm(y, x, x, vec, 0) }, []string{"AddRMSNorm", "one buffer"}},
		{"no residual", func() { b.AddRMSNorm(y, x, backend.Tensor{}, vec, 0) }, []string{"residual", "no tensor"}},
		{"fused over two buffers", func() { f := fused; f.In = x; b.FusedResidualRMSNorm(f) },
			[]string{"in is in buffer x", "arena"}},
		{"fused without beta", func() { f := fused; f.Beta = backend.Tensor{}; b.FusedResidualRMSNorm(f) },
			[]string{"beta", "no tensor"}},
		{"fused stride", func() { f := fused; f.In.Stride = 128; b.FusedResidualRMSNorm(f) },
			[]string{"in:", "stride 128"}},
		{"fused out is in", func() { f := fused; f.Out = f.In; b.FusedResidualRMSNorm(f) },
			[]string{"out", "share elements"}},
		{"fused sum halfway into in", func() { f := fused; f.Sum = arena.View(3*64, 2, 64); b.FusedResidualRMSNorm(f) },
			[]string{"sum", "share elements"}},
		{"fused sum over gamma", func() { f := fused; f.Sum = arena.Slice(6, 8); b.FusedResidualRMSNorm(f) },
			[]string{"sum", "gamma"}},
		{"no weight", func() { b.MatMul(x, y, nil) }, []string{"MatMul", "no weight"}},
		{"freed weight", func() { b.MatMul(x, y, gone) }, []string{"gone weight", "freed"}},
		{"other backend's weight", func() { b.MatMul(x, y, foreignW) }, []string{"foreign weight", "another backend"}},
		{"matmul in place", func() { b.MatMul(x, x, w) }, []string{"dst", "one buffer"}},
		{"matmul inner size", func() { b.MatMul(x, k, w) }, []string{"x:", "found rows of 32", "expected 64"}},
		{"matmul outer size", func() { b.MatMul(k, x, w) }, []string{"dst", "found rows of 32", "expected 64"}},
		{"embed tokens", func() { b.Embed(x, w, vec) }, []string{"tokens", "found rows of 64", "expected 2"}},
		{"bias width", func() { b.AddBias(x, pos) }, []string{"AddBias", "bias", "expected 64"}},
		{"rope head", func() { b.RoPE(x, pos, table, backend.RoPE{HeadDim: 24, RotDim: 8}) },
			[]string{"RoPE", "multiple of the head dim 24"}},
		{"rope odd", func() { b.RoPE(x, pos, table, backend.RoPE{HeadDim: 16, RotDim: 7}) }, []string{"even number"}},
		{"rope beyond head", func() { b.RoPE(x, pos, table, backend.RoPE{HeadDim: 4, RotDim: 8}) },
			[]string{"rotated dim 8"}},
		{"rope style", func() { r := rope; r.Style = 9; b.RoPE(x, pos, table, r) }, []string{"style 9"}},
		{"rope table stride", func() { tb := table; tb.Rows, tb.Stride = 8, 16; b.RoPE(x, pos, tb, rope) },
			[]string{"table", "stride 16"}},
		{"store pos", func() { b.StoreKV(kv, k, v, vec) }, []string{"StoreKV", "pos"}},
		{"store width", func() { b.StoreKV(kv, x, y, pos) }, []string{"cache K", "expected 64"}},
		{"store caches differ", func() { b.StoreKV(backend.KV{K: kc, V: vc.Slice(0, 8)}, k, v, pos) },
			[]string{"cache V", "found 8 rows"}},
		{"one cache twice", func() { b.StoreKV(backend.KV{K: kc, V: kc}, k, v, pos) }, []string{"share elements"}},
		{"attention heads", func() { a := att; a.NKV = 3; b.Attention(x, y, kv, pos, a) },
			[]string{"Attention", "multiple of KV heads"}},
		{"attention width", func() { a := att; a.HeadDim = 8; b.Attention(x, y, kv, pos, a) },
			[]string{"dst", "expected 32"}},
		{"attention window", func() { a := att; a.Window = -1; b.Attention(x, y, kv, pos, a) },
			[]string{"window of -1"}},
		{"attention softcap", func() { a := att; a.Softcap = -1; b.Attention(x, y, kv, pos, a) },
			[]string{"softcap -1", "positive"}},
		{"attention softcap NaN", func() { a := att; a.Softcap = nan; b.Attention(x, y, kv, pos, a) },
			[]string{"softcap NaN"}},
		{"attention sinks", func() { a := att; a.Sinks = vec; b.Attention(x, y, kv, pos, a) },
			[]string{"sinks", "found rows of 64", "expected 4"}},
		{"attention over sinks", func() { a := att; a.Sinks = x.View(0, 1, 4); b.Attention(x, y, kv, pos, a) },
			[]string{"sinks", "one buffer"}},
		{"attention without a cache", func() {
			b.Attention(x, y, backend.KV{K: kc.Slice(0, 0), V: vc.Slice(0, 0)}, pos, att)
		}, []string{"cache K", "no rows"}},
		{"attention in place", func() { b.Attention(x, x, kv, pos, att) }, []string{"one buffer"}},
		{"activation", func() { b.GatedAct(x, y, z, 7) }, []string{"GatedAct", "activation 7"}},
		{"gate shape", func() { b.GatedAct(x, k, z, backend.SiLU) }, []string{"gate", "found rows of 32"}},
		{"act in place", func() { b.Act(x, x, backend.SiLU) }, []string{"Act", "dst", "src", "one buffer"}},
		{"act shape", func() { b.Act(x, k, backend.SiLU) }, []string{"src", "found rows of 32", "expected 64"}},
		{"act of a gate", func() { b.Act(x, y, backend.ClampedSwiGLU) }, []string{"clamped_swiglu", "GatedAct alone"}},
		{"act unknown", func() { b.Act(x, y, 9) }, []string{"Act", "activation 9"}},
		{"add shape", func() { b.Add(x, k) }, []string{"Add", "x:", "found rows of 32", "expected 64"}},
		{"add in place", func() { b.Add(x, x) }, []string{"dst", "x", "one buffer"}},
		{"scale nothing", func() { b.Scale(backend.Tensor{}, 2) }, []string{"Scale", "no tensor"}},
		{"softcap freed", func() { b.Softcap(freed, 2) }, []string{"Softcap", "freed"}},
		{"softcap of zero", func() { b.Softcap(x, 0) }, []string{"limit 0", "positive"}},
		{"softcap of infinity", func() { b.Softcap(x, float32(math.Inf(1))) }, []string{"limit +Inf"}},
		{"softcap of NaN", func() { b.Softcap(x, nan) }, []string{"limit NaN"}},
		{"layer norm rows", func() { b.LayerNorm(y, x.Slice(0, 1), vec, vec, 0) },
			[]string{"LayerNorm", "src", "found 1 rows"}},
		{"layer norm weight", func() { b.LayerNorm(y, x, pos, vec, 0) },
			[]string{"w:", "found rows of 2", "expected 64"}},
		{"layer norm bias", func() { b.LayerNorm(y, x, vec, pos, 0) },
			[]string{"bias", "found rows of 2", "expected 64"}},
		{"layer norm in place", func() { b.LayerNorm(x, x, vec, vec, 0) }, []string{"dst", "src", "one buffer"}},
		{"layer norm over bias", func() { b.LayerNorm(x, y, vec, x.Slice(0, 1), 0) },
			[]string{"dst", "bias", "one buffer"}},
		{"rope and store, style", func() {
			r := rope
			r.Style = 9
			b.RopeStoreKV(kv, x.View(0, 2, 32), k, v, pos, table, r)
		}, []string{"RopeStoreKV", "style 9"}},
		{"rope and store, rows", func() { b.RopeStoreKV(kv, x.View(0, 1, 32), k, v, pos, table, rope) },
			[]string{"q: found 1 rows", "expected 2"}},
		{"rope and store, cache", func() {
			b.RopeStoreKV(backend.KV{K: kc, V: vc.Slice(0, 8)}, x.View(0, 2, 32), k, v, pos, table, rope)
		}, []string{"cache V", "found 8 rows"}},
		{"rope and store, heads", func() { b.RopeStoreKV(kv, x.View(0, 2, 31), k, v, pos, table, rope) },
			[]string{"q: found rows of 31", "multiple of the head dim"}},
		{"top k ids", func() { b.TopK(x.View(0, 2, 8), z.View(0, 2, 7), y, pos) },
			[]string{"TopK", "ids", "found rows of 7", "expected 8"}},
		{"top k places", func() { b.TopK(x.View(0, 2, 8), z.View(0, 2, 8), y, vec) },
			[]string{"at:", "found rows of 64", "expected 2"}},
		{"top k of more than there are", func() { b.TopK(x.View(0, 2, 9), z.View(0, 2, 9), y.View(0, 2, 8), pos) },
			[]string{"values", "row of at most 8"}},
		{"top k without a place", func() { b.TopK(x.Slice(0, 0), z.Slice(0, 0), y, pos) },
			[]string{"values", "at least one row"}},
		{"top k in one buffer", func() { b.TopK(x.View(0, 2, 8), x.View(64, 2, 8), y, pos) },
			[]string{"values and ids are in one buffer, x"}},
		{"draw parameters", func() { b.Draw(k.View(0, 1, 1), x, y, z, pos.View(0, 1, 1), vec) },
			[]string{"Draw", "u:", "found 2 rows", "expected 1"}},
		{"draw of none", func() {
			b.Draw(k.View(0, 1, 1), x.Slice(0, 0), y.Slice(0, 0), vec, pos.View(0, 1, 1),
				v.View(0, 1, 4))
		}, []string{"values and u", "at least one of each"}},
		{"draw fields", func() { b.Draw(k.View(0, 1, 1), x, y, vec, pos.View(0, 1, 1), v.View(0, 1, 3)) },
			[]string{"p:", "found rows of 3", "expected 4"}},
		{"draw over its input", func() { b.Draw(x.View(0, 1, 1), x, y, vec, pos.View(0, 1, 1), v.View(0, 1, 4)) },
			[]string{"id (written) and values (read)"}},
		{"upload length", func() { b.Upload(x, make([]float32, 5)) },
			[]string{"Upload", "found 5 values", "expected 128"}},
		{"copy overlap", func() { b.Copy(arena.Slice(0, 2), arena.Slice(1, 3)) }, []string{"Copy", "share elements"}},
		{"alloc negative", func() { b.Alloc("neg", -1, 4) }, []string{"neg", "not possible"}},
		{"alloc nothing", func() { b.Alloc("void", 4, 0) }, []string{"void", "not possible"}},
		{"alloc overflow", func() { b.Alloc("big", math.MaxInt, 4) }, []string{"big", "not possible"}},
		{"alloc beyond a binding", func() { b.Alloc("big", 1<<20, 1<<14) },
			[]string{"big", "68719476736 bytes", "maxStorageBufferBindingSize"}},
		{"free twice", func() { b.Free(freed) }, []string{"Free", "freed"}},
		{"free foreign", func() { b.Free(foreign) }, []string{"Free", "another backend"}},
		{"free weight twice", func() { b.FreeWeight(gone) }, []string{"FreeWeight", "freed"}},
		{"weight format", func() { b.LoadWeight("f", 99, 1, 1, nil) }, []string{"f:", "Format(99)"}},
		{"weight block", func() { b.LoadWeight("q", backend.Q4_0, 1, 33, nil) }, []string{"q:", "block of 32"}},
		{"weight length", func() { b.LoadWeight("q", backend.Q8_0, 2, 32, make([]byte, 34)) },
			[]string{"found 34 bytes", "expected 68"}},
		{"weight shape", func() { b.LoadWeight("q", backend.F32, 0, 4, nil) }, []string{"[0, 4]"}},
		{"weight overflow", func() { b.LoadWeight("q", backend.F32, math.MaxInt/8, 1<<20, nil) },
			[]string{"too large"}},
	})
	t.Run("read length", func(t *testing.T) {
		if err := b.Read(make([]float32, 3), x); err == nil || !strings.Contains(err.Error(), "3 values") {
			t.Errorf("found %v", err)
		}
	})
	t.Run("still works", func(t *testing.T) {
		b.Upload(x, make([]float32, 128))
		b.FusedResidualRMSNorm(fused)
		b.Attention(y, x, kv, pos, att)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	})
}

// The first error sticks, ops do nothing until it is reported, and the one reported is the first.
func TestErrorSticks(t *testing.T) {
	b := open(t, Options{})
	x := filled(t, b, "x", 1, 8, func(_, i int) float32 { return float32(i) })
	b.Copy(x, backend.Tensor{})                   // the first
	b.AddBias(backend.Tensor{}, backend.Tensor{}) // the second
	b.Upload(x, make([]float32, 8))               // must not happen
	if y := b.Alloc("y", 1, 1); y.Valid() {
		t.Error("Alloc worked after an error")
	}
	if w := b.LoadWeight("w", backend.F32, 1, 1, make([]byte, 4)); w != nil {
		t.Error("LoadWeight worked after an error")
	}
	err := b.Read(make([]float32, 8), x)
	if err == nil || !strings.Contains(err.Error(), "Copy: src: no tensor") {
		t.Fatalf("found %v, expected the error of Copy", err)
	}
	if got := read(t, b, x); got[7] != 7 {
		t.Errorf("found %v: an op ran after an error", got)
	}
	b.Free(backend.Tensor{})
	b.FreeWeight(nil)
	if err := b.Flush(); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	b := open(t, Options{})
	x := b.Alloc("x", 1, 4)
	w := b.LoadWeight("w", backend.F32, 1, 4, make([]byte, 16))
	b.RMSNorm(b.Alloc("y", 1, 4), x, b.Alloc("w", 1, 4), 1)
	b.Close()
	b.Close()
	b.Free(x)
	b.FreeWeight(w)
	b.Upload(x, make([]float32, 4))
	if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Flush: found %v, expected that it is closed", err)
	}
	if err := b.Read(make([]float32, 4), x); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Read: found %v, expected that it is closed", err)
	}
}

func TestOverlap(t *testing.T) {
	buf := &buffer{words: 1000}
	view := func(off, rows, n, stride int) backend.Tensor {
		return backend.Tensor{Buf: buf, Off: off, Rows: rows, N: n, Stride: stride}
	}
	for _, c := range []struct {
		name string
		a, b backend.Tensor
		want bool
	}{
		{"apart", view(0, 2, 8, 8), view(16, 2, 8, 8), false},
		{"touching", view(0, 2, 8, 8), view(15, 2, 8, 8), true},
		{"columns", view(0, 4, 8, 24), view(8, 4, 16, 24), false},
		{"columns over", view(0, 4, 9, 24), view(8, 4, 16, 24), true},
		{"columns around the end", view(4, 4, 8, 24), view(20, 4, 8, 24), false},
		{"columns wrapping into the next row", view(4, 4, 8, 24), view(20, 4, 9, 24), true},
		{"other stride", view(0, 4, 8, 24), view(8, 4, 8, 16), true},
		{"empty", view(0, 0, 8, 8), view(0, 2, 8, 8), false},
		{"other buffer", view(0, 2, 8, 8), backend.Tensor{Buf: &buffer{words: 9}, Rows: 1, N: 9, Stride: 9}, false},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("%s: found %v, expected %v", c.name, got, c.want)
		}
		if got := overlap(c.b, c.a); got != c.want {
			t.Errorf("%s, swapped: found %v, expected %v", c.name, got, c.want)
		}
	}
}
