//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"time"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
	"cera/internal/cores"
)

// stagingMax bounds the buffer through which data comes back, in words; larger reads take several rounds.
const stagingMax = 16 << 20

// mapTimeout is how long the answer to a map request may take after the device has finished.
const mapTimeout = 30 * time.Second

// Read waits for all ops so far and copies t, row after row without gaps, into dst (len t.Rows*t.N). It returns
// the first error of any op since the last Flush or Read that returned one.
func (b *Backend) Read(dst []float32, t backend.Tensor) error {
	const op = "Read"
	if !b.ready(op) {
		return b.take()
	}
	c := b.check(op)
	buf := c.tensor("t", t, anySize, anySize)
	if c.err == nil && len(dst) != t.Rows*t.N {
		c.fail("dst: found room for %d values, expected %d for %s", len(dst), t.Rows*t.N, describeTensor(t))
	}
	if !c.ok() {
		return b.take()
	}
	if len(dst) == 0 {
		b.wait(op)
	} else {
		b.readRows(op, wgpu.ToBytes(dst), buf, t)
	}
	return b.take()
}

// readRows copies t into dst: whole spans where a few rows fit the staging buffer, gaps and all, and parts of rows
// where not even one does.
func (b *Backend) readRows(op string, dst []byte, buf *buffer, t backend.Tensor) {
	rows, n, stride := t.Rows, t.N, t.Stride
	if stride == n {
		rows, n, stride = 1, rows*n, rows*n
	}
	most := b.stagingMax()
	if n > most {
		for r := range rows {
			for lo := 0; lo < n; lo += most {
				part := min(most, n-lo)
				b.readSpan(op, dst[(r*n+lo)*wordBytes:], buf, t.Off+r*stride+lo, 1, part, part)
			}
		}
		return
	}
	block := 1 // rows a round
	if stride <= most {
		block = max(1, (most-n)/stride+1)
	}
	for r := 0; r < rows; r += block {
		b.readSpan(op, dst[r*n*wordBytes:], buf, t.Off+r*stride, min(block, rows-r), n, stride)
	}
}

// readSpan copies rows of n words that start stride words apart, all of which fit the staging buffer.
func (b *Backend) readSpan(op string, dst []byte, buf *buffer, off, rows, n, stride int) {
	if b.sketching != nil {
		clear(dst[:rows*n*wordBytes])
		return
	}
	if b.err != nil {
		return
	}
	if b.checkGuards(op); b.err != nil { // now, for it reads through the same buffer
		return
	}
	span := (rows-1)*stride + n
	if err := b.ensureStaging(span); err != nil {
		b.fail(op, err)
		return
	}
	err := b.endPass()
	if err == nil {
		var enc *wgpu.CommandEncoder
		if enc, err = b.encoder(); err == nil {
			err = enc.CopyBufferToBuffer(buf.raw, uint64(off)*wordBytes, b.staging, 0, uint64(span)*wordBytes)
		}
	}
	if err != nil {
		b.fail(op, fmt.Errorf("copy from %s: %w", buf.name, err))
		return
	}
	if b.wait(op); b.err != nil {
		return
	}
	if err := b.mapStaging(uint64(span) * wordBytes); err != nil {
		b.fail(op, fmt.Errorf("map %s: %w", buf.name, err))
		return
	}
	mapped := b.staging.GetMappedRange(0, uint(span)*wordBytes)
	for r := range rows {
		cores.Copy(dst[r*n*wordBytes:(r+1)*n*wordBytes], mapped[r*stride*wordBytes:], copyGrain)
	}
	if err := b.staging.Unmap(); err != nil {
		b.fail(op, err)
	}
}

// copyGrain is about how many bytes of what is read a core copies at a time; of less, one core is as fast as all. Memory that
// was never written before comes in pages, each of which takes the system a while.
const copyGrain = 1 << 20

// stagingMax returns how many words the staging buffer has at most: a power of two, within the device's largest buffer.
func (b *Backend) stagingMax() int {
	return min(stagingMax, 1<<(bits.Len64(uint64(b.limits.MaxBuffer/wordBytes))-1))
}

// ensureStaging makes the staging buffer at least words long, rounded up to a power of two so that it seldom grows.
func (b *Backend) ensureStaging(words int) error {
	size := uint64(words) * wordBytes
	if b.stagingN >= size {
		return nil
	}
	if b.staging != nil {
		b.staging.Release()
		b.staging, b.stagingN = nil, 0
	}
	size = uint64(1) << bits.Len64(max(size, 4096)-1)
	raw, err := b.dev.CreateBuffer(&wgpu.BufferDescriptor{
		Label: "readback",
		Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst,
		Size:  size,
	})
	if err != nil {
		return fmt.Errorf("readback buffer of %d bytes: %w", size, oneLine(err))
	}
	b.staging, b.stagingN = raw, size
	return nil
}

// mapStaging maps the first size bytes of the staging buffer; the device is idle.
//
// The binding gives C the address of a Go variable that nothing else refers to, to be read when the callback runs,
// so a collection in between could reuse it. The collector stays off for the few microseconds that this takes;
// turning it off also waits for a collection under way.
func (b *Backend) mapStaging(size uint64) error {
	done := make(chan wgpu.BufferMapAsyncStatus, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	err := b.staging.MapAsync(wgpu.MapModeRead, 0, size, func(s wgpu.BufferMapAsyncStatus) { done <- s })
	if err != nil {
		return err
	}
	b.idle()
	select {
	case s := <-done:
		if s != wgpu.BufferMapAsyncStatusSuccess {
			return fmt.Errorf("status %s", s)
		}
		return nil
	case <-time.After(mapTimeout):
		return errors.New("the device does not answer")
	}
}
