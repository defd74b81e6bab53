//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
)

// wordBytes is the size of a tensor's element.
const wordBytes = 4

// uploadPiece is how many bytes are written through the queue before the device is waited for, and at most in one write. Each
// write is staged in a copy until it has been submitted, so an upload in one piece would need its size twice over.
const uploadPiece = 32 << 20

// storageUsage is what tensors, weights and parameters are used for.
const storageUsage = wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst

// buffer is a block of device memory; it implements backend.Buffer.
type buffer struct {
	owner *Backend
	raw   *wgpu.Buffer
	id    uint64 // never reused, unlike addresses: it keys the bind group cache
	name  string
	words int
	lead  int // guard words before them
	trail int // and after
	kind  bufferKind
	freed bool
}

type bufferKind uint8

const (
	tensorBuffer   bufferKind = iota // from Alloc: Free may release it
	weightBuffer                     // from LoadWeight
	internalBuffer                   // parameters, scratch
)

// Words returns the size in 4-byte words.
func (b *buffer) Words() int { return b.words }

// total returns the size in words, guards included.
func (b *buffer) total() int { return b.lead + b.words + b.trail }

// newBuffer makes a zeroed buffer; words is at least 1.
func (b *Backend) newBuffer(name string, words int, kind bufferKind, usage wgpu.BufferUsage) (*buffer, error) {
	buf := &buffer{owner: b, name: name, words: words, kind: kind}
	if b.guards.on && usage&wgpu.BufferUsageUniform == 0 {
		buf.trail = guardWords
		if kind == tensorBuffer {
			buf.lead = guardWords
		}
	}
	if int64(buf.total()) > b.limits.MaxBuffer/wordBytes {
		return nil, &LimitError{name, limitBuffer, int64(words) * wordBytes, b.limits.MaxBuffer}
	}
	if b.sketching == nil {
		var err error
		buf.raw, err = b.dev.CreateBuffer(&wgpu.BufferDescriptor{Label: name, Usage: usage, Size: uint64(buf.total()) * wordBytes})
		if err != nil {
			return nil, fmt.Errorf("%s, %d bytes: %w", name, words*wordBytes, oneLine(err))
		}
	}
	b.nextID++
	buf.id = b.nextID
	b.buffers[buf] = struct{}{}
	b.account(buf, 1)
	return buf, b.poison(buf)
}

// freeBuffer releases buf. What is recorded goes to the device first, which keeps the memory until it is done.
func (b *Backend) freeBuffer(buf *buffer) {
	if buf.freed {
		return
	}
	b.checkGuards("Free")
	b.submit("Free")
	b.dropGroups(buf)
	b.drop(buf)
	b.poll() // the library frees what was dropped when it is polled
}

// drop releases buf, which nothing refers to any more.
func (b *Backend) drop(buf *buffer) {
	buf.freed = true
	delete(b.buffers, buf)
	b.account(buf, -1)
	if buf.raw != nil {
		buf.raw.Release()
	}
}

// Alloc returns zeroed device memory for rows × n words, both at least 1, stride n. A tensor is at most
// Info().MaxBytes.
func (b *Backend) Alloc(name string, rows, n int) backend.Tensor {
	if !b.ready("Alloc") {
		return backend.Tensor{}
	}
	if rows <= 0 || n <= 0 || rows > math.MaxInt/wordBytes/n {
		b.fail("Alloc", fmt.Errorf("%s: shape [%d, %d] is not possible", name, rows, n))
		return backend.Tensor{}
	}
	if size := int64(rows) * int64(n) * wordBytes; size > b.limits.MaxBinding {
		limit := limitBinding
		if b.limits.MaxBinding == b.limits.MaxBuffer {
			limit = limitBuffer
		}
		b.fail("Alloc", &LimitError{fmt.Sprintf("%s [%d, %d]", name, rows, n), limit, size, b.limits.MaxBinding})
		return backend.Tensor{}
	}
	buf, err := b.newBuffer(name, rows*n, tensorBuffer, storageUsage)
	if err != nil {
		b.fail("Alloc", err)
		return backend.Tensor{}
	}
	return backend.Tensor{Buf: buf, Off: buf.lead, Rows: rows, N: n, Stride: n}
}

// Free releases the buffer behind t; every view of it becomes invalid. It works after an error too. A second Free
// of one buffer is an error, a Free of the zero Tensor is not.
func (b *Backend) Free(t backend.Tensor) {
	if !t.Valid() || b.closed {
		return
	}
	buf, err := b.buffer(t)
	if err == nil && buf.kind != tensorBuffer {
		err = errors.New("the buffer does not come from Alloc")
	}
	if err != nil {
		b.fail("Free", err)
		return
	}
	b.freeBuffer(buf)
}

// Upload writes t.Rows*t.N values, row after row without gaps, into t.
func (b *Backend) Upload(t backend.Tensor, data []float32) {
	b.upload("Upload", t, len(data), wgpu.ToBytes(data))
}

// UploadU32 is Upload for token ids and positions.
func (b *Backend) UploadU32(t backend.Tensor, data []uint32) {
	b.upload("UploadU32", t, len(data), wgpu.ToBytes(data))
}

func (b *Backend) upload(op string, t backend.Tensor, words int, data []byte) {
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	buf := c.tensor("t", t, anySize, anySize)
	if c.err == nil && words != t.Rows*t.N {
		c.fail("data: found %d values, expected %d for %s", words, t.Rows*t.N, describeTensor(t))
	}
	if !c.ok() || words == 0 || b.sketching != nil {
		return
	}
	b.submit(op) // a write goes ahead of everything that is not submitted yet
	if t.Stride == t.N || t.Rows == 1 {
		b.writePieces(op, buf, uint64(t.Off)*wordBytes, data)
		return
	}
	// A write for each row would stage each row in a buffer of its own: stage them together, then copy on the device.
	dense, err := b.temp(words)
	if err != nil {
		b.fail(op, err)
		return
	}
	b.writePieces(op, dense, 0, data)
	b.copyRows(op, t, backend.Tensor{Buf: dense, Rows: t.Rows, N: t.N, Stride: t.N})
}

// writePieces writes data, whose length is a multiple of 4, to buf at byte off.
func (b *Backend) writePieces(op string, buf *buffer, off uint64, data []byte) {
	for len(data) > 0 && b.err == nil {
		piece := data[:min(len(data), uploadPiece)]
		err := b.queue.WriteBuffer(buf.raw, off, piece)
		if err != nil {
			b.fail(op, fmt.Errorf("%s, bytes %d to %d: %w", buf.name, off, off+uint64(len(piece)), oneLine(err)))
			return
		}
		data = data[len(piece):]
		off += uint64(len(piece))
		if b.written += int64(len(piece)); b.written >= uploadPiece {
			b.submitNow(nil)
			b.idle() // lets the staged copies go
			b.written = 0
		}
	}
}

// Copy copies src into dst on the device, bit for bit. The shapes are equal, strides may differ; both may be
// views of one buffer as long as no element is in both.
func (b *Backend) Copy(dst, src backend.Tensor) {
	const op = "Copy"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("src", src, dst.Rows, dst.N)
	c.apart("dst", dst, "src", src)
	if !c.ok() || dst.Span() == 0 {
		return
	}
	if d != s {
		b.copyRows(op, dst, src)
		return
	}
	// A copy within one buffer is not allowed: go through another.
	t, err := b.temp(src.Rows * src.N)
	if err != nil {
		b.fail(op, err)
		return
	}
	dense := backend.Tensor{Buf: t, Rows: src.Rows, N: src.N, Stride: src.N}
	b.copyRows(op, dense, src)
	b.copyRows(op, dst, dense)
}

// copyRows records the copy of src to dst, which are checked and lie in different buffers.
func (b *Backend) copyRows(op string, dst, src backend.Tensor) {
	rows, n := dst.Rows, dst.N
	if dst.Stride == n && src.Stride == n {
		rows, n = 1, rows*n
	}
	d, s := dst.Buf.(*buffer), src.Buf.(*buffer)
	for r := 0; r < rows && b.err == nil; r++ {
		b.copyWords(op, d, dst.Off+r*dst.Stride, s, src.Off+r*src.Stride, n)
	}
}

// temp returns a buffer that lives until what is recorded next has been submitted.
func (b *Backend) temp(words int) (*buffer, error) {
	buf, err := b.newBuffer("scratch", words, internalBuffer, storageUsage)
	if err == nil {
		b.scratch = append(b.scratch, buf)
	}
	return buf, err
}

// oneLine puts the binding's message, which spreads over several lines, into one.
func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }
