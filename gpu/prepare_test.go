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

// Prepare compiles what the same ops then find, does nothing else, and leaves errors to them.
func TestPrepare(t *testing.T) {
	b := open(t, Options{})
	w := b.LoadWeight("w", backend.Q4_0, 64, 64, encoded(backend.Q4_0, 64, 64))
	x := filled(t, b, "x", 40, 64, func(r, i int) float32 { return noise(3, r, i) })
	dst := filled(t, b, "dst", 40, 64, func(int, int) float32 { return 7 })
	var again func()
	var got []float32
	ops := func() {
		b.Upload(x.Slice(0, 1), make([]float32, 64))
		b.MatMul(dst, x, w)
		b.MatMul(dst.Slice(0, 1), x.Slice(0, 1), w)
		again = b.Record(func() { b.Scale(dst, 2) })
		got = make([]float32, 40*64)
		if err := b.Read(got, dst); err != nil {
			t.Error(err)
		}
	}
	b.Prepare(ops)
	if slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Error("what was read while preparing is not zeros")
	}
	compiled := len(b.pipelines)
	if compiled < 5 { // panels of both operands, their product, that of a row, Scale
		t.Errorf("%d kernels were compiled", compiled)
	}
	for _, v := range read(t, b, dst) {
		if v != 7 {
			t.Fatalf("found %g, an op ran while preparing", v)
		}
	}
	if first := read(t, b, x.Slice(0, 1)); slices.Max(first) == 0 {
		t.Error("an upload ran while preparing")
	}
	again() // recorded while preparing: it is recorded anew
	for _, v := range read(t, b, dst) {
		if v != 14 {
			t.Fatalf("found %g of a recording, expected 14", v)
		}
	}
	ops()
	if len(b.pipelines) != compiled {
		t.Errorf("%d kernels more were compiled by the ops that were prepared", len(b.pipelines)-compiled)
	}
	b.Prepare(func() { b.Scale(backend.Tensor{}, 2) })
	if err := b.Flush(); err != nil {
		t.Errorf("an error of what was prepared stayed: %v", err)
	}
}

// A kernel that does not compile is told of by the op that needs it, and the others of its batch are compiled by theirs.
func TestPrepareOfABadKernel(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scale.wgsl"), []byte("fn scale( {"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{Kernels: dir})
	one := func(int, int) float32 { return 1 }
	x, y := filled(t, b, "x", 3, 5, one), filled(t, b, "y", 3, 5, one)
	b.Prepare(func() {
		b.Add(x, y)
		b.Scale(x, 2)
		b.Softcap(x, 30)
	})
	if err := b.Flush(); err != nil {
		t.Fatalf("preparing: %v", err)
	}
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
