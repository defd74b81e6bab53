package backendtest

import (
	"math"
	"testing"

	"cera/backend"
)

func testMemory(t *testing.T, be backend.Backend) {
	zero := be.Alloc("fresh", 3, 5)
	got := make([]float32, 15)
	if err := be.Read(got, zero); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if math.Float32bits(v) != 0 {
			t.Fatalf("fresh memory, word %d is %g, want 0", i, v)
		}
	}
	be.Free(zero)

	for _, c := range []struct{ rows, n, dstStride, srcStride int }{
		{1, 1, 1, 1}, {1, 7, 9, 7}, {5, 3, 4, 8}, {33, 257, 260, 300}, {1000, 64, 64, 64},
	} {
		src := put(be, c.rows, c.n, c.srcStride, random(1, 1))
		dst := poisoned(be, c.rows, c.n, c.dstStride)
		be.Copy(dst.t, src.t)
		dst.expect(t, "copy", func(r, i int) (float64, float64) { return float64(src.at(r, i)), 0 })
		src.unchanged(t, "source of a copy")
		src.free()
		dst.free()
	}

	// Bits that are no ordinary number survive upload, copy and readback.
	odd := []uint32{0, 1, 0x80000000, 0x007fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xdeadbeef}
	src, dst := ids(be, odd), be.Alloc("bits", 1, len(odd))
	be.Copy(dst, src)
	bits := make([]float32, len(odd))
	if err := be.Read(bits, dst); err != nil {
		t.Fatal(err)
	}
	for i, v := range bits {
		if math.Float32bits(v) != odd[i] {
			t.Errorf("word %#x came back as %#x", odd[i], math.Float32bits(v))
		}
	}
	be.Free(src)
	be.Free(dst)

	// A row range of a tensor, and uploads into it between ops: each op sees what was there when it was called.
	all := poisoned(be, 4, 6, 6)
	part := all.t.Slice(1, 3)
	one, two := poisoned(be, 2, 6, 6), poisoned(be, 2, 6, 6)
	be.Upload(part, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	be.Copy(one.t, part)
	be.Upload(part, []float32{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12})
	be.Copy(two.t, part)
	one.expect(t, "first upload", func(r, i int) (float64, float64) { return float64(r*6 + i + 1), 0 })
	two.expect(t, "second upload", func(r, i int) (float64, float64) { return -float64(r*6 + i + 1), 0 })
	all.expect(t, "around a row range", func(r, i int) (float64, float64) {
		if r == 0 || r == 3 {
			return float64(poison), 0
		}
		return -float64((r-1)*6 + i + 1), 0
	})
	for _, o := range []*operand{all, one, two} {
		o.free()
	}
}
