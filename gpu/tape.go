//go:build cgo

package gpu

import (
	"github.com/cogentcore/webgpu/wgpu"

	"cera/shaders"
)

// tape is what Record keeps: commands whose operands were checked and whose pipelines and bind groups were made.
type tape struct {
	steps []step
	epoch uint64 // of the backend's bind groups when it was made
}

// step is a dispatch, or another command.
type step struct {
	op      string
	variant shaders.Variant
	pipe    *pipeline
	group   *wgpu.BindGroup
	grid    shaders.Grid
	work    float64 // see workOf
	mark    *mark   // nil unless the backend profiles

	// Where pipe is nil:
	what string // "copy" or "clear"
	run  func(enc *wgpu.CommandEncoder) error
}

// Record runs f and returns a function that encodes the same commands again, without checks. It must not be used after
// what its ops work on is freed.
func (b *Backend) Record(f func()) (again func()) {
	var t *tape
	record := func() {
		// From before f: if groups are released while it runs, the tape is stale at once.
		t = &tape{epoch: b.epoch}
		b.tape = t
		f()
		b.tape = nil
	}
	record()
	return func() {
		if !b.ready("Record") {
			return
		}
		if t.epoch != b.epoch {
			record() // bind groups were released since
			return
		}
		for i := range t.steps {
			if err := b.replay(&t.steps[i]); err != nil {
				b.fail("Record", err)
			}
			if b.err != nil {
				return
			}
		}
	}
}

func (b *Backend) replay(s *step) error {
	if s.pipe == nil {
		return b.encodeTransfer(s)
	}
	return b.encode(s)
}

// encodeTransfer adds a command that is no dispatch.
func (b *Backend) encodeTransfer(s *step) error {
	if err := b.endPass(); err != nil {
		return err
	}
	enc, err := b.encoder()
	if err != nil {
		return err
	}
	if b.prof.on {
		err = b.timedTransfer(enc, s)
	} else {
		err = s.run(enc)
	}
	if err != nil {
		return err
	}
	return b.counted()
}

// taped keeps a step where a tape runs.
func (b *Backend) taped(s step) {
	if b.tape != nil {
		b.tape.steps = append(b.tape.steps, s)
	}
}

// encode adds a dispatch to the open pass, after a submit where that is long enough already.
func (b *Backend) encode(s *step) error {
	if b.pace.full(s.work) {
		if err := b.submitRecorded(); err != nil {
			return err
		}
	}
	b.pace.work += s.work
	enc, err := b.encoder()
	if err != nil {
		return err
	}
	if b.prof.on {
		if b.rec.pass, err = b.timedPass(enc, s); err != nil {
			return err
		}
	}
	if b.rec.pass == nil {
		b.rec.pass = enc.BeginComputePass(nil)
	}
	if b.rec.pipe != s.pipe {
		b.rec.pass.SetPipeline(s.pipe.raw)
		b.rec.pipe = s.pipe
	}
	b.rec.pass.SetBindGroup(0, s.group, nil)
	b.rec.pass.DispatchWorkgroups(s.grid.X, s.grid.Y, s.grid.Z)
	if b.prof.on {
		if err := b.endPass(); err != nil {
			return err
		}
	}
	return b.counted()
}
