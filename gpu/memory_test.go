//go:build cgo

package gpu

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

func TestAllocIsZeroed(t *testing.T) {
	b := open(t, Options{})
	for range 3 { // later rounds reuse memory that was written
		x := b.Alloc("x", 3, 5)
		for i, v := range read(t, b, x) {
			if math.Float32bits(v) != 0 {
				t.Fatalf("word %d: found %g, expected 0", i, v)
			}
		}
		b.Upload(x, slices.Repeat([]float32{7}, 15))
		b.Free(x)
	}
	none := b.Alloc("some", 2, 5).Slice(1, 1)
	if got := read(t, b, none); len(got) != 0 {
		t.Errorf("found %v in an empty tensor", got)
	}
}

func TestStrides(t *testing.T) {
	b := open(t, Options{})
	for _, s := range []struct{ rows, n, srcStride, dstStride, off int }{
		{1, 1, 1, 1, 0}, {3, 4, 4, 4, 2}, {3, 4, 7, 4, 0}, {3, 4, 4, 9, 1}, {5, 3, 8, 8, 3}, {700, 2, 3, 5, 0},
	} {
		all := filled(t, b, "all", 1, s.off+s.rows*s.srcStride, func(int, int) float32 { return -1 })
		src := backend.Tensor{Buf: all.Buf, Off: s.off, Rows: s.rows, N: s.n, Stride: s.srcStride}
		data := make([]float32, s.rows*s.n)
		for i := range data {
			data[i] = float32(i)
		}
		b.Upload(src, data)
		if got := read(t, b, src); !slices.Equal(got, data) {
			t.Fatalf("%+v: read back %v", s, got)
		}
		checkGaps(t, "upload", read(t, b, all), src, -1)

		out := filled(t, b, "out", 1, s.off+s.rows*s.dstStride, func(int, int) float32 { return -2 })
		dst := backend.Tensor{Buf: out.Buf, Off: s.off, Rows: s.rows, N: s.n, Stride: s.dstStride}
		b.Copy(dst, src)
		if got := read(t, b, dst); !slices.Equal(got, data) {
			t.Fatalf("%+v: copied %v", s, got)
		}
		checkGaps(t, "copy", read(t, b, out), dst, -2)
		b.Free(all)
		b.Free(out)
	}
}

// checkGaps checks that the words of a buffer outside view are still fill.
func checkGaps(t *testing.T, what string, all []float32, view backend.Tensor, fill float32) {
	t.Helper()
	for i, v := range all {
		k := i - view.Off
		in := k >= 0 && k/view.Stride < view.Rows && k%view.Stride < view.N
		if !in && v != fill {
			t.Fatalf("%s: word %d outside the tensor: found %g, expected %g", what, i, v, fill)
		}
	}
}

// Copies carry bits, not numbers, and work within one buffer.
func TestCopyBits(t *testing.T) {
	b := open(t, Options{})
	patterns := []uint32{0x7fc00001, 0xffffffff, 0x80000000, 1, 0x7f800000, 0x00800000, 0xdeadbeef, 0}
	x := b.Alloc("x", 2, 8)
	b.UploadU32(x.Slice(0, 1), patterns)
	b.Copy(x.Slice(1, 2), x.Slice(0, 1))
	for i, v := range read(t, b, x.Slice(1, 2)) {
		if math.Float32bits(v) != patterns[i] {
			t.Errorf("word %d: found %#x, expected %#x", i, math.Float32bits(v), patterns[i])
		}
	}
}

// An upload does not overtake ops that read the old values, though the device gets writes ahead of commands.
func TestUploadKeepsOrder(t *testing.T) {
	b := open(t, Options{})
	x := b.Alloc("x", 1, 4)
	var kept []backend.Tensor
	for i := range 5 {
		b.Upload(x, slices.Repeat([]float32{float32(i)}, 4))
		y := b.Alloc("y", 1, 4)
		b.Copy(y, x)
		kept = append(kept, y)
	}
	for i, y := range kept {
		if got := read(t, b, y); got[3] != float32(i) {
			t.Errorf("copy %d: found %v", i, got)
		}
	}
}

// Reads larger than the staging buffer come in pieces, whether the tensor is dense, strided, or one long row.
func TestLargeRead(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: moves 300 MB")
	}
	b := open(t, Options{})
	const n = stagingMax + 12345
	x := b.Alloc("x", 1, n)
	data := make([]float32, n)
	for i := range data {
		data[i] = math.Float32frombits(uint32(i) * 2654435761 >> 8)
	}
	b.Upload(x, data)
	for _, v := range []backend.Tensor{
		x,
		{Buf: x.Buf, Rows: n / 5000, N: 4999, Stride: 5000},
		{Buf: x.Buf, Rows: 2, N: 10, Stride: n - 10},
	} {
		got := read(t, b, v)
		for i := range got {
			if want := data[i/v.N*v.Stride+i%v.N]; got[i] != want {
				t.Fatalf("[%d, %d] stride %d, value %d: found %g, expected %g", v.Rows, v.N, v.Stride, i, got[i], want)
			}
		}
	}
}

// A weight split over many bindings gives the values of one that is not split, bit for bit, in every format.
func TestSplitWeights(t *testing.T) {
	b := open(t, Options{})
	const rows, n, batch = 37, 1280, 11 // groups of packed weights begin inside of rows
	for _, f := range backend.Formats() {
		t.Run(f.String(), func(t *testing.T) {
			data := encoded(f, rows, n)
			rowBytes := f.RowBytes(n)
			for _, rowsPer := range []int{2, 5, 36, 37} {
				limit := int64(rowsPer*rowBytes+3) &^ 3
				for _, matVec := range []int{-1, batch} {
					b.matVecRows, b.maxWeight = matVec, b.limits.MaxBinding
					want, _ := products(t, b, f, rows, n, batch, data)
					b.maxWeight = limit
					got, w := products(t, b, f, rows, n, batch, data)
					if !slices.Equal(got, want) {
						t.Fatalf("%d rows a binding, matVecRows %d: results differ", rowsPer, matVec)
					}
					checkChunks(t, w, limit, rowBytes)
				}
			}
		})
	}
}

// checkChunks checks that the parts cover all rows in order, none larger than limit.
func checkChunks(t *testing.T, w *weight, limit int64, rowBytes int) {
	t.Helper()
	next := 0
	for _, c := range w.chunks {
		if c.lo != next || c.hi <= c.lo {
			t.Fatalf("part of rows %d to %d follows row %d", c.lo, c.hi, next)
		}
		size := int64(c.buf.words) * wordBytes
		all := size
		if c.scales != nil {
			all += int64(c.scales.words) * wordBytes
		}
		if size > limit || all < int64((c.hi-c.lo)*rowBytes) {
			t.Fatalf("part of %d rows has %d bytes, %d with scales, limit %d", c.hi-c.lo, size, all, limit)
		}
		next = c.hi
	}
	if next != w.rows {
		t.Fatalf("parts end at row %d of %d", next, w.rows)
	}
}

// products runs an embedding of every row, of one token outside, and a MatMul over a weight.
func products(t *testing.T, b backend.Backend, f backend.Format, rows, n, batch int, data []byte) ([]float32, *weight) {
	t.Helper()
	w := b.LoadWeight("w", f, rows, n, data)
	x := b.Alloc("x", batch, n)
	y := b.Alloc("y", batch, rows)
	e := b.Alloc("e", rows+1, n)
	ids := b.Alloc("ids", 1, rows+1)
	values := make([]float32, batch*n)
	for i := range values {
		values[i] = noise(5, 0, i)
	}
	tokens := make([]uint32, rows+1)
	for i := range tokens {
		tokens[i] = uint32((i * 7) % rows)
	}
	tokens[rows] = uint32(rows)
	b.Upload(x, values)
	b.Upload(e, slices.Repeat([]float32{99}, (rows+1)*n))
	b.UploadU32(ids, tokens)
	b.MatMul(y, x, w)
	b.Embed(e, w, ids)
	out := make([]float32, batch*rows+(rows+1)*n)
	if err := b.Read(out[:batch*rows], y); err != nil {
		t.Fatal(err)
	}
	if err := b.Read(out[batch*rows:], e); err != nil {
		t.Fatal(err)
	}
	for i, v := range out[batch*rows+rows*n:] {
		if v != 0 {
			t.Fatalf("element %d of the row of a token outside the table: found %g, expected 0", i, v)
		}
	}
	if slices.Max(out[batch*rows:]) == 0 || out[0] == 0 {
		t.Fatal("the results are zero")
	}
	for _, x := range []backend.Tensor{x, y, e, ids} {
		b.Free(x)
	}
	g := w.(*weight)
	b.FreeWeight(w)
	return out, g
}

// encoded is a weight of any format with finite values.
func encoded(f backend.Format, rows, n int) []byte { return backendtest.RandomBlocks(f, rows, n, 11) }

func TestWeightRowBeyondBinding(t *testing.T) {
	b := open(t, Options{MaxBinding: 64})
	if w := b.LoadWeight("wide", backend.F32, 2, 17, make([]byte, 2*17*4)); w != nil {
		t.Error("a row larger than a binding was taken")
	}
	if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "wide") || !strings.Contains(err.Error(), "68 bytes") {
		t.Errorf("found %v", err)
	}
	w := b.LoadWeight("fits", backend.F32, 5, 16, make([]byte, 5*16*4))
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := len(w.(*weight).chunks); got != 5 {
		t.Errorf("found %d parts, expected 5", got)
	}
}
