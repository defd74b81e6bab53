//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/cogentcore/webgpu/wgpu"
)

// ring is the memory that weights pass through on their way to the device: a few buffers that stay mapped while they are
// filled, and that the device copies from while the next is filled. A write through the queue makes staging memory of its own
// each time, which takes longer than the copy. The ring is made by the first weight and given back by Flush.
//
// Mapped memory may be write-combined: it is written once, in order, and never read.
type ring struct {
	size  int // bytes of a buffer, a multiple of 8
	most  int // buffers
	least int // bytes of an upload that takes this way

	slots []*slot
	open  *slot // where the next bytes go, or nil
}

const (
	ringSize  = 16 << 20
	ringSlots = 4
	ringLeast = 256 << 10
)

// slot is a buffer of the ring.
type slot struct {
	raw    *wgpu.Buffer
	mem    []byte // nil until the device has done with it
	used   int    // bytes of mem that are filled
	copies bool   // some are recorded and not submitted
	answer mapAnswer
}

// room is how many bytes of s are free.
func (s *slot) room() int { return len(s.mem) - s.used }

func (r *ring) init(l Limits) {
	r.size, r.most, r.least = int(min(ringSize, l.MaxBuffer&^7)), ringSlots, ringLeast
}

// takes tells whether an upload of so many bytes goes through the ring.
func (r *ring) takes(bytes int64) bool { return bytes >= int64(r.least) && canMapWrite() }

// bytes is what the ring takes now.
func (r *ring) bytes() int64 { return int64(len(r.slots)) * int64(r.size) }

// stagingRoom returns a buffer of the ring with at least n bytes to spare, n at most the ring's size. It waits for the device
// only where all of them are on their way.
func (b *Backend) stagingRoom(n int) (*slot, error) {
	r := &b.ring
	if r.open != nil && r.open.room() < n {
		if err := b.submitRecorded(); err != nil {
			return nil, err
		}
		if r.open != nil { // nothing of it was recorded, after an error
			r.open.used = 0
		}
	}
	if r.open != nil {
		return r.open, nil
	}
	var err error
	r.open, err = b.nextSlot()
	return r.open, err
}

// nextSlot returns a mapped buffer of the ring: one that the device has done with, a new one, or the first to come back.
func (b *Backend) nextSlot() (*slot, error) {
	r, idle := &b.ring, time.Time{} // since when the device has nothing left to do
	for most := r.most; ; {
		done := b.poll()
		if b.notice("LoadWeight"); b.err != nil {
			return nil, b.err
		}
		for _, s := range r.slots {
			if ok, err := s.ready(r.size); ok || err != nil {
				return s, err
			}
		}
		if len(r.slots) < most {
			s, err := b.newSlot()
			if err == nil || len(r.slots) == 0 {
				return s, err
			}
			most = 0 // those that there are have to do
		}
		switch {
		case !done:
			idle = time.Time{}
		case idle.IsZero():
			idle = time.Now()
		case time.Since(idle) > mapTimeout:
			return nil, errors.New("the device does not answer")
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// newSlot adds a mapped buffer to the ring.
func (b *Backend) newSlot() (*slot, error) {
	raw, err := b.dev.CreateBuffer(&wgpu.BufferDescriptor{
		Label: "staging", Usage: wgpu.BufferUsageMapWrite | wgpu.BufferUsageCopySrc, Size: uint64(b.ring.size), MappedAtCreation: true,
	})
	if err != nil {
		return nil, fmt.Errorf("staging memory, %d bytes: %w", b.ring.size, oneLine(err))
	}
	s := &slot{raw: raw, mem: raw.GetMappedRange(0, uint(b.ring.size)), answer: newMapAnswer()}
	b.ring.slots = append(b.ring.slots, s)
	return s, nil
}

// ready tells whether s may be written to.
func (s *slot) ready(size int) (bool, error) {
	if s.mem != nil {
		return true, nil
	}
	status, ok := s.answer.status()
	if !ok {
		return false, nil
	}
	if status != wgpu.BufferMapAsyncStatusSuccess {
		return false, fmt.Errorf("staging memory cannot be mapped: status %s", status)
	}
	s.mem, s.used = s.raw.GetMappedRange(0, uint(size)), 0
	return true, nil
}

// copyStaged records the copy of n bytes at off of s, which is the open one, to byte at of dst. It never submits: copies of one
// piece belong together.
func (b *Backend) copyStaged(s *slot, off int, dst *buffer, at, n int) error {
	err := b.endPass()
	if err != nil {
		return err
	}
	enc, err := b.encoder()
	if err != nil {
		return err
	}
	if err := enc.CopyBufferToBuffer(s.raw, uint64(off), dst.raw, uint64(at), uint64(n)); err != nil {
		return fmt.Errorf("copy to %s, bytes %d to %d: %w", dst.name, at, at+n, oneLine(err))
	}
	s.copies, b.guards.dirty = true, true
	b.rec.n++
	b.commands++
	return nil
}

// unmapStaged unmaps the open buffer of the ring where copies of it are about to be submitted, and returns it.
func (b *Backend) unmapStaged() (*slot, error) {
	s := b.ring.open
	if s == nil || !s.copies {
		return nil, nil
	}
	b.ring.open, s.mem, s.copies = nil, nil, false
	s.answer.forget()
	return s, s.raw.Unmap()
}

// remapStaged asks for s, which was submitted, to be mapped again; nil is nothing.
func (b *Backend) remapStaged(s *slot) {
	if s != nil && b.lost == nil {
		mapWrite(s.raw, b.ring.size, s.answer)
	}
}

// freeRing gives back the memory of the ring, once the device has done with it.
func (b *Backend) freeRing(op string) {
	r := &b.ring
	if len(r.slots) == 0 {
		return
	}
	b.submit(op)
	b.idle() // answers come with it
	for _, s := range r.slots {
		_, answered := s.answer.status()
		mapped := s.mem != nil || answered
		if mapped && b.lost == nil {
			if err := s.raw.Unmap(); err != nil {
				b.fail(op, oneLine(err))
			}
		}
		s.raw.Release()
		if mapped { // else there may still come an answer
			s.answer.free()
		}
	}
	r.slots, r.open = nil, nil
	b.poll()
}
