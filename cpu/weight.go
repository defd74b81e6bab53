package cpu

import (
	"bytes"

	"cera/backend"
	"cera/weights"
)

type weight struct {
	name    string
	format  backend.Format
	rows, n int
	data    []byte // as in the file, or nil
	matrix  Matrix // as the kernels keep it, or nil
	own     *Backend
}

func (w *weight) Name() string           { return w.name }
func (w *weight) Format() backend.Format { return w.format }
func (w *weight) Rows() int              { return w.rows }
func (w *weight) N() int                 { return w.n }

// decodeRow decodes row r into dst. The row's length was checked when the weight was loaded, so that Decode
// cannot fail.
func (w *weight) decodeRow(dst []float32, r int) error {
	size := w.format.RowBytes(w.n)
	if w.matrix != nil {
		row := make([]byte, size)
		w.matrix.Row(row, r)
		return weights.Decode(dst, w.format, row)
	}
	return weights.Decode(dst, w.format, w.data[r*size:(r+1)*size])
}

// Takes accepts every format that package weights decodes.
func (b *Backend) Takes(f backend.Format) bool { return f.Known() }

func (b *Backend) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	if b.err != nil {
		return nil
	}
	if !b.Takes(f) {
		b.fail("load "+name, "unknown format %s", f)
		return nil
	}
	if rows <= 0 || n <= 0 || n%f.Block() != 0 {
		b.fail("load "+name, "[%d, %d] is not a whole number of %s blocks of %d", rows, n, f, f.Block())
		return nil
	}
	if want := rows * f.RowBytes(n); len(data) != want {
		b.fail("load "+name, "%d bytes for [%d, %d] in %s, expected %d", len(data), rows, n, f, want)
		return nil
	}
	w := &weight{name: name, format: f, rows: rows, n: n, own: b}
	if b.kernels.Pack != nil {
		w.matrix = b.kernels.Pack(f, rows, n, data)
	} else {
		w.data = bytes.Clone(data)
	}
	return w
}

func (b *Backend) FreeWeight(w backend.Weight) {
	if w, ok := w.(*weight); ok && w != nil {
		w.data, w.matrix, w.own = nil, nil, nil
	}
}

func (b *Backend) weight(op string, w backend.Weight) (*weight, bool) {
	if b.err != nil {
		return nil, false
	}
	cw, ok := w.(*weight)
	if !ok || cw == nil || cw.own != b {
		b.fail(op, "the weight is not a live one of this backend")
		return nil, false
	}
	return cw, true
}

func (b *Backend) Embed(dst backend.Tensor, table backend.Weight, tokens backend.Tensor) {
	const op = "embed"
	w, ok := b.weight(op, table)
	d, ok1 := b.mat(op, "dst", dst)
	ids, ok2 := b.mat(op, "tokens", tokens)
	if !ok || !ok1 || !ok2 || !b.same(op, "tokens", tokens, 1, dst.Rows) || !b.same(op, "dst", dst, dst.Rows, w.n) {
		return
	}
	for r, id := range ids.urow(0) {
		if int64(id) >= int64(w.rows) {
			clear(d.row(r))
			continue
		}
		if err := w.decodeRow(d.row(r), int(id)); err != nil {
			b.fail(op, "%s: %v", w.name, err)
		}
	}
}

func (b *Backend) MatMul(dst, x backend.Tensor, wt backend.Weight) {
	const op = "matmul"
	if b.kernels.MatMul != nil {
		if list, ok := b.products(op, []backend.Tensor{dst}, x, []backend.Weight{wt}); ok {
			b.kernels.MatMul(list)
		}
		return
	}
	w, d, xm, ok := b.matmul(op, dst, x, wt)
	if !ok {
		return
	}
	// A weight row is decoded once and meets every row of x.
	parallel(w.rows, 1+(1<<14)/(w.n*x.Rows), func(lo, hi int) {
		row := make([]float32, w.n)
		for o := lo; o < hi; o++ {
			if w.decodeRow(row, o) != nil {
				clear(row)
			}
			for r := range x.Rows {
				d.f[r*d.stride+o] = float32(dot(xm.row(r), row))
			}
		}
	})
}

// matmul checks the operands of a MatMul.
func (b *Backend) matmul(op string, dst, x backend.Tensor, wt backend.Weight) (w *weight, d, xm mat, ok bool) {
	w, ok = b.weight(op, wt)
	d, ok1 := b.mat(op, "dst", dst)
	xm, ok2 := b.mat(op, "x", x)
	ok = ok && ok1 && ok2 && b.same(op, w.name+": dst", dst, x.Rows, w.rows) &&
		b.same(op, w.name+": x", x, dst.Rows, w.n)
	return w, d, xm, ok
}

// dot returns the inner product of a and b in float64. Four sums run side by side so that additions need not wait
// for each other; their order is fixed, and so is the result.
func dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i]) * float64(b[i])
		s1 += float64(a[i+1]) * float64(b[i+1])
		s2 += float64(a[i+2]) * float64(b[i+2])
		s3 += float64(a[i+3]) * float64(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i]) * float64(b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
