//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cogentcore/webgpu/wgpu"
)

// A profile times every command: a dispatch gets a pass of its own, at whose begin and end the device writes its clock
// into a query set. Each submit ends by moving what it wrote into a buffer; the buffers are read when Timings is
// called. Kernels, their order and their operands stay the same, and so do results; but passes of their own cost time
// between the dispatches.

const (
	stampsMax    = 2 * maxRecorded // of a submit
	stampBytes   = 8
	resolveAlign = 256 / stampBytes // offsets of what is resolved, in stamps
	stampBuffer  = 1 << 17          // stamps of a buffer
)

// profile is what a backend keeps for one.
type profile struct {
	able bool // the device has timestamp queries
	on   bool

	set     *wgpu.QuerySet // nil before the first profile
	period  float64        // nanoseconds of one tick; 0: not measured
	n       int            // stamps in set of what is recorded
	buffers []*buffer      // resolved stamps
	used    int            // stamps of the last buffer
	timed   []timed        // in the order of the commands
	submit  int
	mark    *mark // of the commands to come
	last    *mark // the one before
	steps   int
}

// timed is a command and where its two stamps are.
type timed struct {
	step   *step
	at     int // in the query set, then from the start of the buffers
	submit int // -1 before it is submitted
}

// mark is what a step of a walk is called. Commands of a recording keep theirs when they are replayed.
type mark struct {
	sites []string
	step  int
	used  bool // a command has it
}

// Commands returns how many dispatches, copies and clears were encoded so far.
func (b *Backend) Commands() uint64 { return b.commands }

// Profile turns profiling on or off: while it is on, every command is timed. It returns ErrNoTimestamps where the
// adapter cannot. Recordings made before are made anew when they are used next, so that their commands are marked.
func (b *Backend) Profile(on bool) error {
	if on && !b.prof.able {
		return fmt.Errorf("gpu: %s: %w", b.info.Adapter, ErrNoTimestamps)
	}
	if !b.ready("Profile") {
		return b.take()
	}
	b.submit("Profile")
	b.prof.on = on
	if b.err == nil && on && b.prof.set == nil {
		set, err := b.dev.CreateQuerySet(&wgpu.QuerySetDescriptor{
			Label: "timestamps", Type: wgpu.QueryTypeTimestamp, Count: stampsMax,
		})
		if err == nil {
			b.prof.set = set
			err = b.measurePeriod()
		}
		if err != nil {
			b.fail("Profile", err)
		}
	}
	b.epoch++
	if b.err != nil {
		b.prof.on = false
	}
	return b.take()
}

// Mark names the commands since the last call, or, where there were none, gives those before it another name.
func (b *Backend) Mark(site string) {
	p := &b.prof
	if !p.on {
		return
	}
	if p.mark != nil && p.mark.used {
		p.last, p.mark = p.mark, nil
	}
	if p.last != nil {
		p.last.sites = append(p.last.sites, site)
	}
}

// MarkEnd ends a walk: what comes after it is no part of its last step, and neither is what was done before another
// begins.
func (b *Backend) MarkEnd() { b.prof.mark, b.prof.last = nil, nil }

// open returns the mark of a command.
func (p *profile) open() *mark {
	if !p.on {
		return nil
	}
	if p.mark == nil {
		p.mark = &mark{step: p.steps}
		p.steps++
	}
	p.mark.used = true
	return p.mark
}

// stamp notes a command whose two stamps come next, and returns the place of the first.
func (p *profile) stamp(s *step) uint32 {
	p.timed = append(p.timed, timed{s, p.n, -1})
	p.n += 2
	return uint32(p.n - 2)
}

// timedPass begins a pass for one dispatch.
func (b *Backend) timedPass(enc *wgpu.CommandEncoder, s *step) (*wgpu.ComputePassEncoder, error) {
	if err := b.endPass(); err != nil {
		return nil, err
	}
	pass := beginTimedPass(enc, b.prof.set, b.prof.stamp(s))
	if pass == nil {
		return nil, errors.New("the library gives no pass with timestamps")
	}
	return pass, nil
}

// timedTransfer encodes a command that is no dispatch.
func (b *Backend) timedTransfer(enc *wgpu.CommandEncoder, s *step) error {
	at := b.prof.stamp(s)
	err := enc.WriteTimestamp(b.prof.set, at)
	if err == nil {
		err = s.run(enc)
	}
	if err == nil {
		err = enc.WriteTimestamp(b.prof.set, at+1)
	}
	return err
}

// resolveStamps adds to a submit what moves its stamps to where they can be read.
func (b *Backend) resolveStamps(enc *wgpu.CommandEncoder) error {
	p := &b.prof
	if p.n == 0 {
		return nil
	}
	if len(p.buffers) == 0 || p.used+p.n > stampBuffer {
		const usage = wgpu.BufferUsageQueryResolve | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst
		buf, err := b.newBuffer("timestamps", stampBuffer*stampBytes/wordBytes, internalBuffer, usage)
		if err != nil {
			return err
		}
		p.buffers, p.used = append(p.buffers, buf), 0
	}
	buf := len(p.buffers) - 1
	if err := enc.ResolveQuerySet(p.set, 0, uint32(p.n), p.buffers[buf].raw, uint64(p.used)*stampBytes); err != nil {
		return err
	}
	for i := len(p.timed) - 1; i >= 0 && p.timed[i].submit < 0; i-- {
		p.timed[i].submit = p.submit
		p.timed[i].at += buf*stampBuffer + p.used
	}
	p.used += (p.n + resolveAlign - 1) / resolveAlign * resolveAlign
	p.n = 0
	p.submit++
	return nil
}

// Timings waits for the device and returns the commands that were timed since the last call, in order.
func (b *Backend) Timings() ([]Timing, error) {
	if !b.ready("Timings") {
		return nil, b.take()
	}
	b.wait("Timings")
	p := &b.prof
	stamps := b.readStamps()
	all := make([]Timing, len(p.timed))
	for i, t := range p.timed {
		all[i] = Timing{Op: t.step.op, Kernel: t.step.kernel(), Submit: t.submit}
		if g := t.step.grid; t.step.pipe != nil {
			all[i].Grid = [3]uint32{g.X, g.Y, g.Z}
		}
		if m := t.step.mark; m != nil {
			all[i].Sites, all[i].Step = m.sites, m.step
		}
		if b.err == nil {
			begin, end := stamps[t.at], stamps[t.at+1]
			all[i].Begin = float64(begin) * p.period
			all[i].End = float64(max(begin, end)) * p.period
		}
	}
	for _, buf := range p.buffers {
		b.freeBuffer(buf)
	}
	p.buffers, p.used, p.timed, p.submit = nil, 0, nil, 0
	return all, b.take()
}

// readStamps reads the buffers, one after the other.
func (b *Backend) readStamps() []uint64 {
	stamps := make([]uint64, len(b.prof.buffers)*stampBuffer)
	for i, buf := range b.prof.buffers {
		n := stampBuffer
		if i == len(b.prof.buffers)-1 {
			n = b.prof.used
		}
		words := n * stampBytes / wordBytes
		b.readSpan("Timings", wgpu.ToBytes(stamps[i*stampBuffer:i*stampBuffer+n]), buf, 0, 1, words, words)
	}
	return stamps
}

// periodSpan lies between two stamps by which the device's clock is compared with the host's.
const periodSpan = 100 * time.Millisecond

// measurePeriod finds out how long a tick of the device's clock takes: the library does not say.
func (b *Backend) measurePeriod() error {
	first, tick0, err := b.moment()
	if err != nil {
		return err
	}
	time.Sleep(periodSpan)
	second, tick1, err := b.moment()
	if err != nil {
		return err
	}
	if tick1 <= tick0 {
		return fmt.Errorf("timestamps: found %d ticks and then %d, expected a clock that runs", tick0, tick1)
	}
	b.prof.period = float64(second.Sub(first)) / float64(tick1-tick0)
	if math.Abs(b.prof.period-1) < 0.02 { // what most devices have, and closer than this measures
		b.prof.period = 1
	}
	return nil
}

// moment returns what the device's clock shows at a moment of the host's: the best of a few tries, the one that took
// least.
func (b *Backend) moment() (at time.Time, tick uint64, err error) {
	least := time.Duration(math.MaxInt64)
	for range 8 {
		enc, err := b.encoder()
		if err != nil {
			return at, 0, err
		}
		if err := enc.WriteTimestamp(b.prof.set, 0); err != nil {
			return at, 0, err
		}
		b.prof.n = 1
		before := time.Now()
		if err := b.submitRecorded(); err != nil {
			return at, 0, err
		}
		b.idle()
		took := time.Since(before)
		stamp := b.readStamps()[:1]
		if b.err != nil {
			return at, 0, b.take()
		}
		b.prof.used = 0
		if took < least {
			least, at, tick = took, before.Add(took/2), stamp[0]
		}
	}
	return at, tick, nil
}

// release gives back what the device holds for profiles but for the buffers, which are the backend's.
func (p *profile) release() {
	if p.set != nil {
		p.set.Release()
		p.set = nil
	}
}
