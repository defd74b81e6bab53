//go:build cgo

package gpu

import (
	"errors"
	"fmt"

	"github.com/cogentcore/webgpu/wgpu"
)

// ErrLost is inside every error of a backend whose device is lost: nothing runs on it any more, and Close is all that
// is left to do.
var ErrLost = errors.New("device lost")

// notice takes up what the library has told by itself: the loss of the device, which stays, or an error of a call that
// returned none. It reports whether the device is there.
func (b *Backend) notice(op string) bool {
	if b.lost == nil {
		if why, lost := b.events.lost(); lost && !b.closed {
			b.lose(why)
		}
	}
	if b.lost != nil {
		b.fail(op, b.lost)
		return false
	}
	if why, failed := b.events.failed(); failed {
		b.fail(op, oneLine(errors.New(why)))
	}
	return true
}

// lose marks the device as lost. What is recorded goes nowhere. The library's own word for it, where there is one, is
// better than why.
func (b *Backend) lose(why string) {
	if told, lost := b.events.lost(); lost && told != "" {
		why = told
	}
	b.stopCompiling()
	b.lost = fmt.Errorf("%w: %w", ErrLost, oneLine(errors.New(why)))
	if b.rec.pass != nil {
		b.rec.pass.Release()
	}
	if b.rec.enc != nil {
		b.rec.enc.Release()
	}
	b.rec = recording{}
}

// poll lets the library free what was dropped and call back, and reports whether the device has done all that was
// submitted. A lost device has nothing left to do, nor has a sketch.
func (b *Backend) poll() bool {
	if b.lost != nil || b.sketching != nil {
		return true
	}
	done, survived := pollNative(b.dev)
	if !survived {
		b.lose("it does not answer any more")
	}
	return done || !survived
}

// submitNow hands cmd, or with nil what was written to buffers, to the device.
func (b *Backend) submitNow(cmd *wgpu.CommandBuffer) {
	b.submits++
	if b.lost == nil && !submitNative(b.dev, b.queue, cmd) {
		b.lose("it takes no more work")
	}
}
