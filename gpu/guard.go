//go:build cgo

package gpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cogentcore/webgpu/wgpu"
)

// Guards are poisoned words before and after what a buffer holds, inside the range that kernels bind: WebGPU itself
// keeps a kernel from what lies outside a binding, and so hides a wrong index unless there is something inside to hit.
// Tensors from Alloc begin guardWords into their buffers; weights, whose kernels have no offset, and scratch have
// guards at their ends alone. What is bound by its exact span (the operands of rmsnorm_batch.wgsl) has no guards in
// reach, and needs none.
//
// A kernel that writes past its tensor leaves its mark, which names tensor and ops at the next Flush, Read or Free. One
// that reads there gets NaNs, which show in its results: they are what the suite compares.
const (
	guardWords = 256
	guardBits  = 0x7fc0dead // a NaN
)

// guards is what a backend with Options.Guard keeps of them.
type guards struct {
	on     bool
	dirty  bool     // something ran since they were looked at
	ops    []string // that ran since
	bytes  []byte   // poison
	places uint64   // looked at so far, for tests
}

// enable turns guards on; nothing may have been allocated.
func (g *guards) enable() {
	words := slices.Repeat([]uint32{guardBits}, guardWords)
	g.on, g.bytes = true, wgpu.ToBytes(words)
}

// ran notes an op that may have written somewhere.
func (g *guards) ran(op string) {
	if g.on && !slices.Contains(g.ops, op) {
		g.ops = append(g.ops, op)
	}
}

// poison fills the guards of a new buffer.
func (b *Backend) poison(buf *buffer) error {
	for _, at := range buf.guardPlaces() {
		if err := b.queue.WriteBuffer(buf.raw, uint64(at)*wordBytes, b.guards.bytes); err != nil {
			return err
		}
	}
	return nil
}

// guardPlaces returns where guards begin, in words.
func (buf *buffer) guardPlaces() []int {
	var at []int
	if buf.lead > 0 {
		at = append(at, 0)
	}
	if buf.trail > 0 {
		at = append(at, buf.lead+buf.words)
	}
	return at
}

// checkGuards submits what is recorded and looks at all guards. What they tell becomes the backend's error.
func (b *Backend) checkGuards(op string) {
	if !b.guards.on || !b.guards.dirty || b.err != nil {
		return
	}
	if err := b.readGuards(); err != nil {
		b.fail(op, fmt.Errorf("guards: %w", err))
	}
	b.guards.dirty, b.guards.ops = false, nil
}

func (b *Backend) readGuards() error {
	type place struct {
		buf *buffer
		at  int
	}
	var places []place
	for buf := range b.buffers {
		for _, at := range buf.guardPlaces() {
			places = append(places, place{buf, at})
		}
	}
	const size = guardWords * wordBytes
	for len(places) > 0 {
		part := places[:min(len(places), stagingMax*wordBytes/size)]
		places = places[len(part):]
		if err := b.ensureStaging(len(part) * guardWords); err != nil {
			return err
		}
		if err := b.endPass(); err != nil {
			return err
		}
		enc, err := b.encoder()
		if err != nil {
			return err
		}
		for i, p := range part {
			if err := enc.CopyBufferToBuffer(p.buf.raw, uint64(p.at)*wordBytes, b.staging, uint64(i)*size,
				size); err != nil {
				return err
			}
		}
		if err := b.submitRecorded(); err != nil {
			return err
		}
		b.idle()
		total := uint64(len(part)) * size
		if err := b.mapStaging(total); err != nil {
			return err
		}
		words := wgpu.FromBytes[uint32](b.staging.GetMappedRange(0, uint(total)))
		for i, p := range part {
			for k, w := range words[i*guardWords : (i+1)*guardWords] {
				if w != guardBits && err == nil {
					err = b.hit(p.buf, p.at+k, w)
				}
			}
		}
		b.guards.places += uint64(len(part))
		if uerr := b.staging.Unmap(); err == nil {
			err = uerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hit describes a guard that was written to.
func (b *Backend) hit(buf *buffer, word int, found uint32) error {
	where := fmt.Sprintf("%d words before %s", buf.lead-word, buf.name)
	if word >= buf.lead {
		where = fmt.Sprintf("%d words after the end of %s", word-buf.lead-buf.words, buf.name)
	}
	return fmt.Errorf("%#08x was written %s by one of: %s", found, where, strings.Join(b.guards.ops, ", "))
}
