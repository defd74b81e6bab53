//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"slices"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
)

// weight is a matrix on the device, split by rows where it is larger than the largest binding.
type weight struct {
	owner   *Backend
	name    string
	format  backend.Format
	rows, n int
	packing *packing // nil: the rows lie as in the file
	chunks  []chunk
	joint   *joint // what it is stored in with others, or nil
	freed   bool
}

// chunk holds rows lo..hi-1 of a weight.
type chunk struct {
	buf    *buffer
	scales *buffer // of a packed weight
	lo, hi int
	row0   int // row of the buffers at which row lo stands
}

func (w *weight) Name() string           { return w.name }
func (w *weight) Format() backend.Format { return w.format }
func (w *weight) Rows() int              { return w.rows }
func (w *weight) N() int                 { return w.n }

// groups returns how many groups a packed row has, 0 for others.
func (w *weight) groups() int {
	if w.packing == nil {
		return 0
	}
	return w.packing.groups(w.n)
}

// bindings returns what a kernel reads of a part.
func (w *weight) bindings(c chunk) []binding {
	if w.packing == nil {
		return []binding{whole(c.buf)}
	}
	return []binding{whole(c.buf), whole(c.scales)}
}

// formats holds the formats that shaders/decode.tmpl decodes.
var formats = backend.Formats()

// Takes accepts the formats that have a decoder in WGSL.
func (b *Backend) Takes(f backend.Format) bool { return slices.Contains(formats, f) }

// LoadWeight uploads a matrix [rows, n] in its GGUF encoding, packed where that wastes little (see packing) and as it is
// elsewhere. It returns nil after an error.
func (b *Backend) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	const op = "LoadWeight"
	if !b.ready(op) {
		return nil
	}
	rowBytes, err := b.weightShape(f, rows, n)
	if want := rows * rowBytes; err == nil && len(data) != want {
		err = fmt.Errorf("data: found %d bytes, expected %d for %s [%d, %d]", len(data), want, f, rows, n)
	}
	if err != nil {
		b.fail(op, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	w := &weight{owner: b, name: name, format: f, rows: rows, n: n}
	var most int
	w.packing, most = b.weightLayout(f, rowBytes, n)
	for lo := 0; lo < rows && b.err == nil; lo += most {
		hi := min(lo+most, rows)
		part := data[lo*rowBytes : hi*rowBytes]
		if w.packing != nil {
			b.uploadPacked(op, w, lo, hi, part)
			continue
		}
		buf, err := b.newBuffer(name, (len(part)+wordBytes-1)/wordBytes, weightBuffer, storageUsage)
		if err != nil {
			b.fail(op, err)
			break
		}
		w.chunks = append(w.chunks, chunk{buf: buf, lo: lo, hi: hi})
		b.uploadBytes(op, buf, part)
	}
	if b.err != nil {
		b.freeChunks(w)
		return nil
	}
	return w
}

// weightLayout says how rows of n elements are stored: packed or, where that is nil, as they are, and at most how many in a
// part.
func (b *Backend) weightLayout(f backend.Format, rowBytes, n int) (*packing, int) {
	if p, ok := packings[f]; ok && b.pack.takes(p, n) && p.partRows(b.maxWeight, n) > 0 {
		return &p, p.partRows(b.maxWeight, n)
	}
	return nil, partRows(b.maxWeight, rowBytes, n)
}

// uploadPacked packs rows lo..hi-1 and uploads them as a part of w.
func (b *Backend) uploadPacked(op string, w *weight, lo, hi int, data []byte) {
	p, rowBytes := w.packing, len(data)/(hi-lo)
	q, s := w.groups()*p.quants, w.groups()*p.scales
	c := chunk{lo: lo, hi: hi}
	var err error
	if c.buf, err = b.newBuffer(w.name, (hi-lo)*q, weightBuffer, storageUsage); err != nil {
		b.fail(op, err)
		return
	}
	w.chunks = append(w.chunks, c)
	last := &w.chunks[len(w.chunks)-1]
	if last.scales, err = b.newBuffer(w.name+" scales", (hi-lo)*s, weightBuffer, storageUsage); err != nil {
		b.fail(op, err)
		return
	}
	// A few rows at a time, so that no second copy of the weight is held.
	step := max(1, packBytes/(q*wordBytes))
	quants, scales := make([]uint32, min(step, hi-lo)*q), make([]uint32, min(step, hi-lo)*s)
	for at := 0; at < hi-lo && b.err == nil; at += step {
		n := min(step, hi-lo-at)
		p.rows(quants[:n*q], scales[:n*s], data[at*rowBytes:(at+n)*rowBytes], w.n, rowBytes)
		b.writePieces(op, last.buf, uint64(at*q)*wordBytes, wgpu.ToBytes(quants[:n*q]))
		b.writePieces(op, last.scales, uint64(at*s)*wordBytes, wgpu.ToBytes(scales[:n*s]))
	}
}

// packBytes is how much is packed before it is uploaded.
const packBytes = 32 << 20

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

// weightShape checks the shape and returns the bytes of a row.
func (b *Backend) weightShape(f backend.Format, rows, n int) (int, error) {
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
	if row := int64(f.RowBytes(n)); row > b.maxWeight {
		return 0, &LimitError{"a row", limitBinding, row, b.maxWeight}
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
	if w.joint != nil {
		if w.joint.alive--; w.joint.alive > 0 {
			return // the others are still in the buffers
		}
	}
	for _, c := range w.chunks {
		b.freeBuffer(c.buf)
		if c.scales != nil {
			b.freeBuffer(c.scales)
		}
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
