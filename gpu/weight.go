//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"slices"

	"cera/backend"
	"cera/shaders"
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

// rowUnits returns what kernels count of a packed row: units of 32 elements or, where rows begin with a group, groups; 0 for
// others.
func (w *weight) rowUnits() int {
	switch {
	case w.packing == nil:
		return 0
	case w.packing.rowwise:
		return w.packing.groups(1, w.n)
	}
	return w.n / (w.packing.group / shaders.PackedLanes)
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
	if want := rows * rowBytes; err == nil && b.sketching == nil && len(data) != want {
		err = fmt.Errorf("data: found %d bytes, expected %d for %s [%d, %d]", len(data), want, f, rows, n)
	}
	if err != nil {
		b.fail(op, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	w := &weight{owner: b, name: name, format: f, rows: rows, n: n}
	loaded := false
	defer func() {
		if !loaded { // an error, or a panic where the file has lost the data
			b.freeChunks(w)
		}
	}()
	var most int
	w.packing, most = b.weightLayout(f, rowBytes, n)
	for lo := 0; lo < rows && b.err == nil; lo += most {
		hi := min(lo+most, rows)
		if err := b.newChunk(w, lo, hi); err != nil {
			b.fail(op, err)
			break
		}
		if b.sketching == nil {
			b.uploadPart(op, w, w.chunks[len(w.chunks)-1], data[lo*rowBytes:hi*rowBytes])
		}
	}
	if b.err != nil {
		return nil
	}
	loaded = true
	return w
}

// newChunk adds room for rows lo..hi-1 to w.
func (b *Backend) newChunk(w *weight, lo, hi int) error {
	rows, c := hi-lo, chunk{lo: lo, hi: hi}
	words := (rows*w.format.RowBytes(w.n) + wordBytes - 1) / wordBytes
	if w.packing != nil {
		words = w.packing.groups(rows, w.n) * w.packing.quants
	}
	var err error
	if c.buf, err = b.newBuffer(w.name, words, weightBuffer, storageUsage); err != nil {
		return err
	}
	if w.packing != nil {
		words = w.packing.groups(rows, w.n) * w.packing.scales
		if c.scales, err = b.newBuffer(w.name+" scales", words, weightBuffer, storageUsage); err != nil {
			b.freeBuffer(c.buf)
			return err
		}
	}
	w.chunks = append(w.chunks, c)
	return nil
}

// weightLayout says how rows of n elements are stored: packed or, where that is nil, as they are, and at most how many in a
// part.
func (b *Backend) weightLayout(f backend.Format, rowBytes, n int) (*packing, int) {
	if p, ok := packings[f]; ok && b.pack.takes(p, n) && p.partRows(b.maxWeight, n) > 0 {
		return &p, p.partRows(b.maxWeight, n)
	}
	return nil, partRows(b.maxWeight, rowBytes, n)
}

// partRows returns how many rows of n elements a part of a weight holds at most. Kernels count the elements of a part in 32
// bits, which in a format of less than eight bits may run out before its bytes do.
func partRows(maxBytes int64, rowBytes, n int) int {
	return int(min(maxBytes/int64(rowBytes), math.MaxUint32/int64(n)))
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
