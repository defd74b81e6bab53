//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"slices"

	"cera/backend"
)

// weight is a matrix on the device, split by rows where it is larger than the largest binding.
type weight struct {
	owner   *Backend
	name    string
	format  backend.Format
	rows, n int
	chunks  []chunk
	freed   bool
}

// chunk holds rows lo..hi-1 of a weight.
type chunk struct {
	buf    *buffer
	lo, hi int
}

func (w *weight) Name() string           { return w.name }
func (w *weight) Format() backend.Format { return w.format }
func (w *weight) Rows() int              { return w.rows }
func (w *weight) N() int                 { return w.n }

// formats holds the formats that shaders/decode.tmpl decodes.
var formats = backend.Formats()

// Takes accepts the formats that have a decoder in WGSL.
func (b *Backend) Takes(f backend.Format) bool { return slices.Contains(formats, f) }

// LoadWeight uploads a matrix [rows, n] in its GGUF encoding, unchanged. It returns nil after an error.
func (b *Backend) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	const op = "LoadWeight"
	if !b.ready(op) {
		return nil
	}
	rowBytes, err := b.weightRowBytes(f, rows, n, len(data))
	if err == nil && int64(rowBytes) > b.maxWeight {
		err = fmt.Errorf("a row of %d bytes is larger than the device's largest binding, %d", rowBytes, b.maxWeight)
	}
	if err != nil {
		b.fail(op, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	w := &weight{owner: b, name: name, format: f, rows: rows, n: n}
	most := partRows(b.maxWeight, rowBytes, n)
	for lo := 0; lo < rows && b.err == nil; lo += most {
		hi := min(lo+most, rows)
		bytes := (hi - lo) * rowBytes
		buf, err := b.newBuffer(name, (bytes+wordBytes-1)/wordBytes, internalBuffer, storageUsage)
		if err != nil {
			b.fail(op, err)
			break
		}
		w.chunks = append(w.chunks, chunk{buf, lo, hi})
		b.uploadBytes(op, buf, data[lo*rowBytes:hi*rowBytes])
	}
	if b.err != nil {
		b.freeChunks(w)
		return nil
	}
	return w
}

// partRows returns how many rows of n elements a part of a weight holds at most. Kernels count the elements of a part in 32
// bits, which in a format of less than eight bits may run out before its bytes do.
func partRows(maxBytes int64, rowBytes, n int) int {
	return int(min(maxBytes/int64(rowBytes), math.MaxUint32/int64(n)))
}

// uploadBytes writes data to the start of buf and pads it with zeros to a whole word.
func (b *Backend) uploadBytes(op string, buf *buffer, data []byte) {
	whole := len(data) &^ (wordBytes - 1)
	b.writePieces(op, buf, 0, data[:whole])
	if whole < len(data) {
		var last [wordBytes]byte
		copy(last[:], data[whole:])
		b.writePieces(op, buf, uint64(whole), last[:])
	}
}

// weightRowBytes checks the shape and the length of the data.
func (b *Backend) weightRowBytes(f backend.Format, rows, n, bytes int) (int, error) {
	if !b.Takes(f) {
		return 0, fmt.Errorf("format %s has no decoder here, expected one of %v", f, formats)
	}
	if rows <= 0 || n <= 0 {
		return 0, fmt.Errorf("shape [%d, %d] is not possible", rows, n)
	}
	if n%f.Block() != 0 {
		return 0, fmt.Errorf("rows of %d elements are not a multiple of %s's block of %d", n, f, f.Block())
	}
	if n/f.Block() > math.MaxInt/f.BlockBytes() || f.RowBytes(n) > math.MaxInt/rows || rows > math.MaxUint32 || n > math.MaxUint32 {
		return 0, fmt.Errorf("shape [%d, %d] is too large", rows, n)
	}
	if want := rows * f.RowBytes(n); bytes != want {
		return 0, fmt.Errorf("data: found %d bytes, expected %d for %s [%d, %d]", bytes, want, f, rows, n)
	}
	return f.RowBytes(n), nil
}

// FreeWeight releases w. A nil Weight is ignored; a second call is an error.
func (b *Backend) FreeWeight(w backend.Weight) {
	if w == nil || b.closed {
		return
	}
	g, err := b.weight(w)
	if err != nil {
		b.fail("FreeWeight", err)
		return
	}
	b.freeChunks(g)
}

func (b *Backend) freeChunks(w *weight) {
	w.freed = true
	for _, c := range w.chunks {
		b.freeBuffer(c.buf)
	}
}

// weight returns w if it is alive and this backend's.
func (b *Backend) weight(w backend.Weight) (*weight, error) {
	g, ok := w.(*weight)
	switch {
	case w == nil || ok && g == nil:
		return nil, fmt.Errorf("no weight")
	case !ok || g.owner != b:
		return nil, fmt.Errorf("weight %s belongs to another backend", w.Name())
	case g.freed:
		return nil, fmt.Errorf("weight %s is freed", g.name)
	}
	return g, nil
}
