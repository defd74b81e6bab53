//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/shaders"
)

// Norms of tensors that start anywhere in a buffer, share one, or interleave give the values of tensors that stand
// alone, bit for bit, and touch nothing else.
func TestNormPlacement(t *testing.T) {
	b := open(t, Options{})
	const rows, n = 3, 37
	w := filled(t, b, "w", 1, n, func(_, i int) float32 { return noise(3, 0, i) })
	wAll := filled(t, b, "w far in", 1, 3+n, func(_, i int) float32 { return noise(3, 0, i-3) })
	wOdd := wAll.View(3, 1, n)
	value := func(seed int) func(r, i int) float32 {
		return func(r, i int) float32 { return noise(seed, r, i) }
	}
	for _, add := range []bool{false, true} {
		src := filled(t, b, "src", rows, n, value(1))
		residual := filled(t, b, "residual", rows, n, value(2))
		dst := b.Alloc("dst", rows, n)
		run := func(dst, src, residual, w backend.Tensor) {
			if add {
				b.AddRMSNorm(dst, src, residual, w, 1e-5)
			} else {
				b.RMSNorm(dst, src, w, 1e-5)
			}
		}
		run(dst, src, residual, w)
		want, wantSrc := read(t, b, dst), read(t, b, src)
		for _, c := range []struct {
			name                                 string
			srcOff, srcStride, dstOff, dstStride int
			shared                               bool
		}{
			{"aligned", 64, n, 64, n, false},
			{"odd offsets", 1, n, 5, n, false},
			{"odd offsets and strides", 7, n + 2, 3, n + 9, false},
			{"one buffer", 0, n, 1024, n, true},
			{"one buffer, odd offset", 1, n, 131, n, true},
			{"interleaved", 0, 2*n + 3, n + 1, 2*n + 3, true},
			{"interleaved, odd offset", 3, 2*n + 3, n + 5, 2*n + 3, true},
		} {
			t.Run(fmt.Sprintf("%s, add %v", c.name, add), func(t *testing.T) {
				const size = 2048
				fill := func(r, i int) float32 { return -float32(i) }
				srcAll := filled(t, b, "src buffer", 1, size, fill)
				dstAll := srcAll
				if !c.shared {
					dstAll = filled(t, b, "dst buffer", 1, size, fill)
				}
				resAll := filled(t, b, "residual buffer", 1, size, fill)
				src2 := backend.Tensor{Buf: srcAll.Buf, Off: c.srcOff, Rows: rows, N: n, Stride: c.srcStride}
				dst2 := backend.Tensor{Buf: dstAll.Buf, Off: c.dstOff, Rows: rows, N: n, Stride: c.dstStride}
				res2 := backend.Tensor{Buf: resAll.Buf, Off: 1, Rows: rows, N: n, Stride: c.srcStride}
				s := filled(t, b, "fresh src", rows, n, value(1))
				b.Copy(src2, s)
				b.Copy(res2, residual)
				before := read(t, b, srcAll)
				beforeDst := read(t, b, dstAll)
				run(dst2, src2, res2, wOdd)
				if got := read(t, b, dst2); !slices.Equal(got, want) {
					t.Errorf("dst: found %v, expected %v", got[:4], want[:4])
				}
				if got := read(t, b, src2); !slices.Equal(got, wantSrc) {
					t.Errorf("src: found %v, expected %v", got[:4], wantSrc[:4])
				}
				sameOutside(t, "src buffer", read(t, b, srcAll), before, src2, dst2)
				sameOutside(t, "dst buffer", read(t, b, dstAll), beforeDst, src2, dst2)
			})
		}
	}
}

// sameOutside compares the words of a buffer that lie in neither view, wherever the views belong.
func sameOutside(t *testing.T, name string, got, want []float32, views ...backend.Tensor) {
	t.Helper()
	for i := range got {
		in := false
		for _, v := range views {
			k := i - v.Off
			in = in || k >= 0 && k/v.Stride < v.Rows && k%v.Stride < v.N
		}
		if !in && got[i] != want[i] {
			t.Fatalf("%s, word %d: found %g, before %g", name, i, got[i], want[i])
		}
	}
}

// The same ops on the same values give the same bits, run after run.
func TestRepeatable(t *testing.T) {
	b := open(t, Options{})
	const rows, n, out = 19, 513, 70
	x := filled(t, b, "x", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	delta := filled(t, b, "delta", rows, n, func(r, i int) float32 { return noise(2, r, i) })
	norm := filled(t, b, "norm", 1, n, func(_, i int) float32 { return noise(3, 0, i) })
	data := encoded(backend.F16, out, n)
	w := b.LoadWeight("w", backend.F16, out, n, data)
	s, h := b.Alloc("s", rows, n), b.Alloc("h", rows, n)
	y, one := b.Alloc("y", rows, out), b.Alloc("one", 1, out)
	var first []float32
	for run := range 20 {
		b.Copy(s, x)
		b.AddRMSNorm(h, s, delta, norm, 1e-6)
		b.MatMul(y, h, w)
		b.MatMul(one, h.Slice(3, 4), w)
		got := slices.Concat(read(t, b, h), read(t, b, y), read(t, b, one))
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

// A long recording is submitted in parts, keeps its order, and its caches stay bounded.
func TestLongRecording(t *testing.T) {
	b := open(t, Options{})
	x := b.Alloc("x", 1, 1)
	bias := filled(t, b, "bias", 1, 1, func(int, int) float32 { return 1 })
	y, z := b.Alloc("y", 1, 1), filled(t, b, "z", 1, 1, func(int, int) float32 { return 2 })
	const runs = maxCached + maxRecorded/2
	for i := range runs {
		b.AddBias(x, bias)
		b.RMSNorm(y, z, bias, 1+float32(i)/runs) // parameters of its own
		if b.rec.n >= maxRecorded || len(b.params) > maxCached || len(b.groups) > maxCached {
			t.Fatalf("run %d: %d recorded, %d parameter buffers, %d bind groups", i, b.rec.n, len(b.params),
				len(b.groups))
		}
	}
	if got := read(t, b, x)[0]; got != runs {
		t.Errorf("found %g, expected %d", got, runs)
	}
	want := 2 / math.Sqrt(4+1+float64(float32(runs-1)/runs))
	if got := float64(read(t, b, y)[0]); math.Abs(got-want) > 1e-6 {
		t.Errorf("found %g, expected %g", got, want)
	}
}

// Freed buffers leave no bind group behind, and ops on them that are recorded still run.
func TestFreeWhileRecorded(t *testing.T) {
	b := open(t, Options{})
	y := b.Alloc("y", 1, 4)
	for i := range 10 {
		x := filled(t, b, "x", 1, 4, func(int, int) float32 { return float32(i) })
		b.AddBias(y, x)
		b.Free(x)
	}
	if got := read(t, b, y); got[0] != 45 {
		t.Errorf("found %g, expected 45", got[0])
	}
	if len(b.groups) != 0 {
		t.Errorf("%d bind groups over freed buffers", len(b.groups))
	}
}

// broken is a variant of a real kernel that does not compile.
type broken struct{ define string }

func (v broken) Program() shaders.Program {
	p := shaders.RMSNormBatch{}.Program()
	p.Defines = map[string]string{"WG_SIZE": v.define}
	return p
}

// noEntry asks for an entry point that the file does not have.
type noEntry struct{}

func (noEntry) Program() shaders.Program {
	p := shaders.RMSNormBatch{}.Program()
	p.Entry = "no_such_entry"
	return p
}

// A compile error speaks of the template's file and line, and does not take the backend down.
func TestCompileError(t *testing.T) {
	b := open(t, Options{})
	for _, c := range []struct {
		v    shaders.Variant
		want []string
	}{
		{broken{"no_such_name"}, []string{"rmsnorm_batch.wgsl", "no_such_name", ".tmpl:"}},
		{noEntry{}, []string{"no_such_entry"}},
	} {
		_, err := b.pipeline(c.v)
		if err == nil {
			t.Fatalf("%T compiled", c.v)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%T: found %q, expected it to contain %q", c.v, err, want)
			}
		}
	}
	if got := read(t, b, b.Alloc("x", 1, 1)); got[0] != 0 {
		t.Errorf("found %v", got)
	}
}

func TestGridBeyondTheDevice(t *testing.T) {
	b := open(t, Options{})
	x := whole(b.Alloc("x", 1, 4).Buf.(*buffer))
	p := shaders.AddBiasParams{}
	most := uint32(b.limits.Workgroups)
	b.dispatch("AddBias", shaders.AddBias{}, p, shaders.Grid{X: 1, Y: most + 1, Z: 1}, x, x)
	if err := b.Flush(); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("needs %d, the device's maxComputeWorkgroupsPerDimension is %d",
			most+1, most)) {
		t.Errorf("found %v", err)
	}
}
