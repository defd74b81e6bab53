//go:build cgo

package gpu

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
)

// Prepare compiles what the same ops then find, and does nothing else.
func TestPrepare(t *testing.T) {
	b := open(t, Options{})
	data := encoded(backend.Q4_0, 64, 64)
	ops := func(be backend.Backend, data []byte) []float32 {
		w := be.LoadWeight("w", backend.Q4_0, 64, 64, data)
		x, dst := be.Alloc("x", 40, 64), be.Alloc("dst", 40, 64)
		be.Upload(x, make([]float32, 40*64))
		be.MatMul(dst, x, w)
		be.MatMul(dst.Slice(0, 1), x.Slice(0, 1), w)
		be.Record(func() { be.Scale(dst, 2) })()
		be.Copy(dst.Slice(1, 2), dst.Slice(3, 4))
		got := make([]float32, 40*64)
		for i := range got {
			got[i] = 7
		}
		if err := be.Read(got, dst); err != nil {
			t.Error(err)
		}
		be.Free(x)
		be.Free(dst)
		be.FreeWeight(w)
		if err := be.Flush(); err != nil {
			t.Error(err)
		}
		return got
	}
	var before Memory
	b.Prepare(func(sketch backend.Backend) {
		before = b.Memory()
		if got := ops(sketch, nil); slices.Max(got) != 0 || slices.Min(got) != 0 {
			t.Error("what was read of a sketch is not zeros")
		}
		sketch.Close()
	})
	if after := b.Memory(); after != before {
		t.Errorf("memory went from %+v to %+v", before, after)
	}
	compiled := b.Compiled()
	if compiled < 5 { // panels of both operands, their product, that of a row, Scale
		t.Errorf("%d kernels were compiled", compiled)
	}
	ops(b, data)
	if got := b.Compiled(); got != compiled {
		t.Errorf("%d kernels more were compiled by the ops that were prepared", got-compiled)
	}
	b.Prepare(func(sketch backend.Backend) { sketch.Scale(backend.Tensor{}, 2) })
	if err := b.Flush(); err != nil {
		t.Errorf("an error of what was prepared stayed: %v", err)
	}
}

// Kernels are compiled while weights are uploaded, and a backend may be closed meanwhile.
func TestPrepareWhileUploading(t *testing.T) {
	const rows, n = 2048, 1024
	data := encoded(backend.Q4_0, rows, n)
	norms := func(be backend.Backend) { // many kernels, one for each width
		for _, width := range []int{64, 65, 512, 513, 2048, 2049, 5000, 9000} {
			x, w := be.Alloc("x", 3, width), be.Alloc("w", 1, width)
			be.RMSNorm(x.Slice(0, 1), x.Slice(1, 2), w, 1e-5)
			be.LayerNorm(x.Slice(0, 1), x.Slice(1, 2), w, w, 1e-5)
		}
	}
	b, plain := open(t, Options{}), open(t, Options{})
	x, dst := filled(t, b, "x", 1, n, func(r, i int) float32 { return noise(5, r, i) }), b.Alloc("dst", 1, rows)
	b.Prepare(norms)
	w := b.LoadWeight("w", backend.Q4_0, rows, n, data)
	b.MatMul(dst, x, w)
	got := read(t, b, dst)
	px, pdst := filled(t, plain, "x", 1, n, func(r, i int) float32 { return noise(5, r, i) }), plain.Alloc("dst", 1, rows)
	plain.MatMul(pdst, px, plain.LoadWeight("w", backend.Q4_0, rows, n, data))
	if !slices.Equal(got, read(t, plain, pdst)) {
		t.Error("a weight that was uploaded while kernels were compiled gives other products")
	}
	early, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		t.Fatal(err)
	}
	early.Prepare(norms)
	early.Close()
}

// A kernel of one's own that does not compile is told of by the op that needs it, and by nothing else.
func TestPrepareOfABadKernel(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scale.wgsl"), []byte("fn scale( {"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{Kernels: dir})
	one := func(int, int) float32 { return 1 }
	x, y := filled(t, b, "x", 3, 5, one), filled(t, b, "y", 3, 5, one)
	b.Prepare(func(sketch backend.Backend) { sketch.Scale(sketch.Alloc("x", 3, 5), 2) })
	b.Add(x, y)
	b.Softcap(x, 30)
	if v := read(t, b, x); v[0] < 1.99 || v[0] > 2 {
		t.Errorf("found %g, expected 30 tanh(2/30)", v[0])
	}
	b.Scale(x, 2)
	if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "scale.wgsl") {
		t.Errorf("found %v, expected an error that names scale.wgsl", err)
	}
}

// A sketch goes on after an error as a backend does: its own Flush tells, and the backend has none.
func TestPrepareOfAMistake(t *testing.T) {
	b := open(t, Options{})
	b.Prepare(func(sketch backend.Backend) {
		sketch.LoadWeight("odd", backend.Q4_0, 1, 33, nil)
		if err := sketch.Flush(); err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("found %v, expected an error that names the weight", err)
		}
	})
	if err := b.Flush(); err != nil {
		t.Error(err)
	}
}
