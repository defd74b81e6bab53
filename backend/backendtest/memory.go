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

// testErrors misuses every op: each must leave an error, write nothing, and leave the backend usable.
func testErrors(t *testing.T, be backend.Backend) {
	x, y, small := be.Alloc("x", 4, 8), be.Alloc("y", 4, 8), be.Alloc("small", 1, 3)
	w8 := be.Alloc("w", 1, 8)
	weight := be.LoadWeight("weight", backend.F32, 8, 8, make([]byte, 8*8*4))
	pos := ids(be, []uint32{0, 1, 2, 3})
	freed := be.Alloc("freed", 4, 8)
	be.Free(freed)
	outside := x
	outside.Rows = 5
	narrow := x
	narrow.Stride = 7
	var none backend.Tensor
	rope := backend.RoPE{HeadDim: 8, RotDim: 8}
	if err := be.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"alloc of no rows", func() { be.Alloc("none", 0, 8) }},
		{"alloc of negative width", func() { be.Alloc("negative", 1, -1) }},
		{"alloc larger than any device", func() { be.Alloc("huge", math.MaxInt32, math.MaxInt32) }},
		{"upload of too few values", func() { be.Upload(x, make([]float32, 31)) }},
		{"upload of too many values", func() { be.UploadU32(pos, make([]uint32, 5)) }},
		{"upload to nothing", func() { be.Upload(none, nil) }},
		{"copy of another shape", func() { be.Copy(x, small) }},
		{"copy from freed memory", func() { be.Copy(x, freed) }},
		{"copy past the end", func() { be.Copy(outside, outside) }},
		{"copy with a stride below the width", func() { be.Copy(y, narrow) }},
		{"weight of half a block", func() { be.LoadWeight("odd", backend.Q4_0, 1, 33, make([]byte, 18)) }},
		{"weight with missing bytes", func() { be.LoadWeight("short", backend.F16, 2, 8, make([]byte, 31)) }},
		{"norm of another width", func() { be.RMSNorm(x, small, w8, 0) }},
		{"norm with a short weight", func() { be.RMSNorm(x, y, small, 0) }},
		{"norm without a weight", func() { be.RMSNorm(x, y, none, 0) }},
		{"norm with a short residual", func() { be.AddRMSNorm(x, y, small, w8, 0) }},
		{"arena norm over two buffers", func() {
			be.FusedResidualRMSNorm(backend.FusedNorm{Out: x, In: y, Residual: x, Gamma: w8, Beta: w8})
		}},
		{"embed of another width", func() { be.Embed(small, weight, pos) }},
		{"embed without ids", func() { be.Embed(x, weight, none) }},
		{"matmul of another width", func() { be.MatMul(x, small, weight) }},
		{"matmul without a weight", func() { be.MatMul(x, y, nil) }},
		{"bias of another width", func() { be.AddBias(x, small) }},
		{"rope with an odd part", func() { be.RoPE(x, pos, y, backend.RoPE{HeadDim: 8, RotDim: 7}) }},
		{"rope with heads that do not divide", func() { be.RoPE(x, pos, y, backend.RoPE{HeadDim: 3, RotDim: 2}) }},
		{"rope with a short table", func() { be.RoPE(x, pos, small, rope) }},
		{"store of another width", func() { be.StoreKV(backend.KV{K: small, V: small}, x, y, pos) }},
		{"attention with heads that do not group", func() {
			be.Attention(x, y, backend.KV{K: x, V: y}, pos, backend.Attention{NHead: 4, NKV: 3, HeadDim: 2})
		}},
		{"attention of another width", func() {
			be.Attention(x, y, backend.KV{K: x, V: y}, pos, backend.Attention{NHead: 4, NKV: 4, HeadDim: 4})
		}},
		{"gate of another width", func() { be.GatedAct(x, y, small, backend.SiLU) }},
	} {
		c.run()
		be.Copy(y, x) // does nothing after an error, and must not hide it
		if err := be.Flush(); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if err := be.Flush(); err != nil {
			t.Errorf("%s: the error came twice: %v", c.name, err)
		}
	}
	if err := be.Read(make([]float32, 3), x); err == nil {
		t.Error("read into too short a slice: no error")
	}
	be.Copy(y, x)
	if err := be.Flush(); err != nil {
		t.Errorf("the backend is not usable after errors: %v", err)
	}
	be.FreeWeight(weight)
	for _, b := range []backend.Tensor{x, y, small, w8, pos} {
		be.Free(b)
	}
}
