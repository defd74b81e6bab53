//go:build cgo

package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
	"cera/shaders"
)

const (
	// maxRecorded bounds the commands in one submit: the device starts to work early, and no submit runs so long
	// that a watchdog takes it for a hang.
	maxRecorded = 512
	// maxCached bounds the parameter buffers and the bind groups that are kept.
	maxCached = 8192
	// maxBindings is the most bindings that a kernel has.
	maxBindings = 8
)

// recording is the command encoder with, over consecutive dispatches, one open compute pass.
type recording struct {
	enc  *wgpu.CommandEncoder
	pass *wgpu.ComputePassEncoder
	pipe *pipeline // set in pass
	n    int       // commands so far
}

// binding is a range of a buffer.
type binding struct {
	buf       *buffer
	off, size uint64 // in bytes
}

// whole binds all of buf.
func whole(buf *buffer) binding { return binding{buf, 0, uint64(buf.total()) * wordBytes} }

// span binds what t takes of buf, from its first element to its last.
func span(buf *buffer, t backend.Tensor) binding {
	return binding{buf, uint64(t.Off) * wordBytes, uint64(t.Span()) * wordBytes}
}

type groupKey struct {
	pipe *pipeline
	b    [maxBindings]boundRange
}

type boundRange struct{ id, off, size uint64 }

// encoder returns the open encoder.
func (b *Backend) encoder() (*wgpu.CommandEncoder, error) {
	if b.rec.enc == nil {
		enc, err := b.dev.CreateCommandEncoder(nil)
		if err != nil {
			return nil, err
		}
		b.rec.enc = enc
	}
	return b.rec.enc, nil
}

// endPass closes the compute pass, as copies ask for.
func (b *Backend) endPass() error {
	if b.rec.pass == nil {
		return nil
	}
	err := b.rec.pass.End()
	b.rec.pass.Release() // before the submit, or the submit fails
	b.rec.pass, b.rec.pipe = nil, nil
	return err
}

// dispatch records one run of v. Operands are checked before: here every mistake is a bug of this package, and
// still an error.
func (b *Backend) dispatch(op string, v shaders.Variant, params any, grid shaders.Grid, binds ...binding) {
	if b.err != nil || grid.X == 0 || grid.Y == 0 || grid.Z == 0 {
		return
	}
	if err := b.record(op, v, params, grid, binds); err != nil {
		b.fail(op, err)
	}
	b.guards.ran(op)
}

func (b *Backend) record(op string, v shaders.Variant, params any, grid shaders.Grid, binds []binding) error {
	if b.sketching != nil {
		b.sketching.add(v)
		return nil
	}
	pipe, err := b.pipeline(v)
	if err != nil {
		return err
	}
	grid.Z *= pipe.depth
	if most := int64(b.limits.Workgroups); int64(max(grid.X, grid.Y, grid.Z)) > most {
		return &LimitError{pipe.prog.File, limitWorkgroups, int64(max(grid.X, grid.Y, grid.Z)), most}
	}
	if err := b.trimCaches(); err != nil {
		return err
	}
	pbuf, err := b.paramsBuffer(params)
	if err != nil {
		return err
	}
	group, err := b.bindGroup(pipe, placeParams(pipe.prog, binds, whole(pbuf)))
	if err != nil {
		return err
	}
	s := step{op: op, variant: v, pipe: pipe, group: group, grid: grid, work: workOf(params, grid), mark: b.prof.open()}
	b.taped(s)
	return b.encode(&s)
}

// rmsNormParamsSlot is where rmsnorm_batch.wgsl has its parameters; in other kernels they come last.
const rmsNormParamsSlot = 3

// placeParams puts the parameters where the kernel has them: last, except where a binding follows them.
func placeParams(prog shaders.Program, binds []binding, params binding) []binding {
	at := len(binds)
	if prog.Bindings[at] != shaders.Uniform {
		at = rmsNormParamsSlot
	}
	all := make([]binding, 0, maxBindings)
	all = append(all, binds[:at]...)
	all = append(all, params)
	return append(all, binds[at:]...)
}

// counted submits when enough is recorded.
func (b *Backend) counted() error {
	b.guards.dirty = true
	b.rec.n++
	b.commands++
	if b.rec.n >= maxRecorded {
		return b.submitRecorded()
	}
	return nil
}

// copyWords records the copy of n words from src to dst, which are different buffers.
func (b *Backend) copyWords(op string, dst *buffer, dstOff int, src *buffer, srcOff, n int) {
	b.transfer(&step{op: op, what: "copy", mark: b.prof.open(), run: func(enc *wgpu.CommandEncoder) error {
		err := enc.CopyBufferToBuffer(src.raw, uint64(srcOff)*wordBytes, dst.raw, uint64(dstOff)*wordBytes,
			uint64(n)*wordBytes)
		if err != nil {
			return fmt.Errorf("copy %s to %s: %w", src.name, dst.name, err)
		}
		return nil
	}})
}

// clearWords records n zero words at word off of buf.
func (b *Backend) clearWords(op string, buf *buffer, off, n int) {
	b.transfer(&step{op: op, what: "clear", mark: b.prof.open(), run: func(enc *wgpu.CommandEncoder) error {
		if err := enc.ClearBuffer(buf.raw, uint64(off)*wordBytes, uint64(n)*wordBytes); err != nil {
			return fmt.Errorf("clear %s: %w", buf.name, err)
		}
		return nil
	}})
}

// transfer records a command that is no dispatch.
func (b *Backend) transfer(s *step) {
	if b.sketching != nil {
		return
	}
	b.taped(*s)
	if err := b.encodeTransfer(s); err != nil {
		b.fail(s.op, err)
	}
}

// submit hands what is recorded to the device, without waiting.
func (b *Backend) submit(op string) {
	if err := b.submitRecorded(); err != nil {
		b.fail(op, err)
	}
	scratch := b.scratch
	b.scratch = nil
	for _, buf := range scratch {
		b.freeBuffer(buf)
	}
}

// submitRecorded leaves scratch buffers alone: their op may still be recording.
func (b *Backend) submitRecorded() error {
	if b.rec.enc == nil {
		return nil
	}
	if !b.notice("submit") {
		return b.lost
	}
	err := b.endPass()
	enc := b.rec.enc
	b.rec = recording{}
	defer enc.Release()
	if err == nil {
		err = b.resolveStamps(enc)
	}
	if err != nil {
		return err
	}
	cmd, err := enc.Finish(nil)
	if err != nil {
		return err
	}
	staged, err := b.unmapStaged()
	if err == nil {
		b.submitNow(cmd)
		b.remapStaged(staged)
	}
	cmd.Release()
	if err != nil {
		return err
	}
	if b.lost == nil && b.pace.submitted() {
		b.idle()
		b.pace.measured++
	}
	return b.lost
}

// paramsBuffer returns a buffer that holds params, a comparable struct of u32. Its content never changes, so that
// any number of recorded dispatches may share it.
func (b *Backend) paramsBuffer(params any) (*buffer, error) {
	if buf, ok := b.params[params]; ok {
		return buf, nil
	}
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, params); err != nil {
		return nil, fmt.Errorf("parameters %T: %w", params, err)
	}
	buf, err := b.newBuffer("params", data.Len()/wordBytes, internalBuffer, storageUsage|wgpu.BufferUsageUniform)
	if err != nil {
		return nil, err
	}
	if err := b.queue.WriteBuffer(buf.raw, 0, data.Bytes()); err != nil {
		return nil, fmt.Errorf("parameters: %w", oneLine(err))
	}
	b.params[params] = buf
	return buf, nil
}

// bindGroup returns the bind group of pipe over binds, from the cache where it can.
func (b *Backend) bindGroup(pipe *pipeline, binds []binding) (*wgpu.BindGroup, error) {
	if len(binds) != len(pipe.prog.Bindings) {
		return nil, fmt.Errorf("kernel %s: found %d bindings, expected %d", pipe.prog.File, len(binds),
			len(pipe.prog.Bindings))
	}
	key := groupKey{pipe: pipe}
	for i, x := range binds {
		key.b[i] = boundRange{x.buf.id, x.off, x.size}
	}
	if g, ok := b.groups[key]; ok {
		return g, nil
	}
	entries := make([]wgpu.BindGroupEntry, len(binds))
	for i, x := range binds {
		if x.off%uint64(b.limits.OffsetAlign) != 0 || x.off+x.size > uint64(x.buf.total())*wordBytes ||
			x.size > uint64(b.limits.MaxBinding) {
			return nil, fmt.Errorf("kernel %s, binding %d: bytes %d to %d of %s (%d bytes) cannot be bound",
				pipe.prog.File, i, x.off, x.off+x.size, x.buf.name, x.buf.total()*wordBytes)
		}
		entries[i] = wgpu.BindGroupEntry{Binding: uint32(i), Buffer: x.buf.raw, Offset: x.off, Size: x.size}
	}
	g, err := b.dev.CreateBindGroup(&wgpu.BindGroupDescriptor{Label: pipe.prog.File, Layout: pipe.layout,
		Entries: entries})
	if err != nil {
		return nil, err
	}
	b.groups[key] = g
	return g, nil
}

// dropGroups releases the bind groups over buf, or all of them. Nothing may be recorded.
func (b *Backend) dropGroups(buf *buffer) {
	b.epoch++ // tapes hold bind groups
	for key, g := range b.groups {
		drop := buf == nil
		for _, x := range key.b {
			drop = drop || x.id == buf.id
		}
		if drop {
			g.Release()
			delete(b.groups, key)
		}
	}
}

// trimCaches empties the caches when they are full. An open pass refers to what is in them, so it goes first.
func (b *Backend) trimCaches() error {
	if len(b.params) < maxCached && len(b.groups) < maxCached {
		return nil
	}
	if err := b.submitRecorded(); err != nil {
		return err
	}
	b.dropGroups(nil)
	for key, buf := range b.params {
		b.drop(buf)
		delete(b.params, key)
	}
	b.poll()
	return nil
}
