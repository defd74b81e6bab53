//go:build cgo

package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/shaders"
)

// This file knows the two norm kernels only through the text of DESIGN.md: file, entry point, bindings, parameter
// layout. It drives the WebGPU binding itself, as an engine would that the files are lifted into.

// lifted is one of the two files, compiled with a layout written from DESIGN.md.
type lifted struct {
	b      *Backend
	layout *wgpu.BindGroupLayout
	pipe   *wgpu.ComputePipeline
}

func lift(t *testing.T, b *Backend, file, entry string, defines map[string]string,
	types ...wgpu.BufferBindingType) *lifted {
	t.Helper()
	src, err := shaders.Source(shaders.Program{File: file, Entry: entry, Defines: defines})
	if err != nil {
		t.Fatal(err)
	}
	module := must(b.dev.CreateShaderModule(&wgpu.ShaderModuleDescriptor{
		WGSLDescriptor: &wgpu.ShaderModuleWGSLDescriptor{Code: src.WGSL},
	}))(t)
	defer module.Release()
	var entries []wgpu.BindGroupLayoutEntry
	for i, typ := range types {
		entries = append(entries, wgpu.BindGroupLayoutEntry{
			Binding: uint32(i), Visibility: wgpu.ShaderStageCompute, Buffer: wgpu.BufferBindingLayout{Type: typ},
		})
	}
	layout := must(b.dev.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries}))(t)
	pl := must(b.dev.CreatePipelineLayout(
		&wgpu.PipelineLayoutDescriptor{BindGroupLayouts: []*wgpu.BindGroupLayout{layout}}))(t)
	defer pl.Release()
	pipe := must(b.dev.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Layout: pl, Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: entry},
	}))(t)
	t.Cleanup(func() {
		pipe.Release()
		layout.Release()
	})
	return &lifted{b, layout, pipe}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// run binds a new buffer for each of data, dispatches x × y workgroups and returns what is in the buffers then.
func (l *lifted) run(t *testing.T, x, y uint32, usage []wgpu.BufferUsage, data ...[]uint32) [][]uint32 {
	t.Helper()
	var bufs, backs []*wgpu.Buffer
	var entries []wgpu.BindGroupEntry
	for i, d := range data {
		size := uint64(len(d)) * 4
		buf := must(l.b.dev.CreateBuffer(&wgpu.BufferDescriptor{
			Usage: usage[i] | wgpu.BufferUsageCopyDst | wgpu.BufferUsageCopySrc, Size: size,
		}))(t)
		defer buf.Release()
		back := must(l.b.dev.CreateBuffer(&wgpu.BufferDescriptor{
			Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst, Size: size,
		}))(t)
		defer back.Release()
		must(0, l.b.queue.WriteBuffer(buf, 0, wgpu.ToBytes(d)))(t)
		entries = append(entries, wgpu.BindGroupEntry{Binding: uint32(i), Buffer: buf, Size: size})
		bufs, backs = append(bufs, buf), append(backs, back)
	}
	group := must(l.b.dev.CreateBindGroup(&wgpu.BindGroupDescriptor{Layout: l.layout, Entries: entries}))(t)
	defer group.Release()
	enc := must(l.b.dev.CreateCommandEncoder(nil))(t)
	defer enc.Release()
	pass := enc.BeginComputePass(nil)
	pass.SetPipeline(l.pipe)
	pass.SetBindGroup(0, group, nil)
	pass.DispatchWorkgroups(x, y, 1)
	must(0, pass.End())(t)
	pass.Release()
	for i := range bufs {
		must(0, enc.CopyBufferToBuffer(bufs[i], 0, backs[i], 0, uint64(len(data[i]))*4))(t)
	}
	cmd := must(enc.Finish(nil))(t)
	defer cmd.Release()
	l.b.queue.Submit(cmd)
	l.b.idle()
	out := make([][]uint32, len(data))
	for i, back := range backs {
		out[i] = l.b.mapped(t, back, len(data[i]))
	}
	return out
}

// mapped copies n words out of a mappable buffer, with the care that mapStaging describes.
func (b *Backend) mapped(t *testing.T, raw *wgpu.Buffer, n int) []uint32 {
	t.Helper()
	keep := b.staging
	b.staging = raw
	err := b.mapStaging(uint64(n) * 4)
	b.staging = keep
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, n)
	for i, v := range raw.GetMappedRange(0, uint(n)*4) {
		out[i/4] |= uint32(v) << (8 * (i % 4))
	}
	if err := raw.Unmap(); err != nil {
		t.Fatal(err)
	}
	return out
}

// canary fills memory that nobody may touch, and outputs before they are written.
const canary = 0xc0dec0de

// matrix holds rows of n random values at word off, stride words apart, among canaries; after words follow.
func matrix(seed, off, rows, n, stride, after int) []uint32 {
	m := make([]uint32, off+rows*stride+after)
	for i := range m {
		m[i] = canary
	}
	for r := range rows {
		scale := float32(math.Pow(10, float64(r%5-2))) // rows of all sizes, each against its own mean square
		for i := range n {
			m[off+r*stride+i] = math.Float32bits(noise(seed, r, i) * scale)
		}
	}
	return m
}

func float(bits uint32) float64 { return float64(math.Float32frombits(bits)) }

// invRMS is DESIGN.md's inv_rms(v) in float64.
func invRMS(v []float64, eps float32) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return 1 / math.Sqrt(sum/float64(len(v))+float64(eps))
}

// near checks a result against float64 within DESIGN.md's bound for a norm of n elements.
func near(got uint32, want float64, n int) bool {
	bound := (float64(n)/256 + 16) * 0x1p-24 * math.Abs(want)
	return math.Abs(float(got)-want) <= max(bound, 0x1p-126)
}

type liftedShape struct{ rows, n int }

// liftedShapes crosses the widths with one, two and 513 rows, and takes 70,000 rows, past one grid dimension, where
// rows are short. Not at full length, 513 rows are short ones too.
func liftedShapes() []liftedShape {
	var shapes []liftedShape
	for _, n := range []int{1, 3, 31, 64, 255, 256, 257, 1025, 4096, 5120, 7168, 8193} {
		for _, rows := range []int{1, 2, 513} {
			if rows <= 2 || n <= 1025 || full() {
				shapes = append(shapes, liftedShape{rows, n})
			}
		}
		if n <= 64 {
			shapes = append(shapes, liftedShape{70000, n})
		}
	}
	return shapes
}

// fold spreads rows over two dimensions as DESIGN.md says.
func fold(rows int) (x, y uint32) {
	if rows <= 65535 {
		return uint32(rows), 1
	}
	return uint32(rows+1) / 2, 2
}

// liftedForm is a set of the defines that held_row.tmpl describes.
type liftedForm struct {
	name    string
	defines map[string]string
	unit    int // row lengths, offsets and strides are multiples of it
	min     int // shortest row
	max     int // longest row
}

func liftedForms() []liftedForm {
	const long = 1 << 20
	return []liftedForm{
		{"as it is", nil, 1, 1, long},
		{"fours", map[string]string{"VEC4": "1"}, 4, 4, long},
		{"fewer threads", map[string]string{"WG_SIZE": "32u"}, 1, 1, 8 * 32},
		{"held", map[string]string{"HELD": "33u"}, 1, 1, 33 * 256},
		{"held, most of it full", map[string]string{"HELD": "5u", "FULL": "3u", "WG_SIZE": "64u"}, 1, 3 * 64, 5 * 64},
		{"held by more threads", map[string]string{"HELD": "9u", "WG_SIZE": "1024u"}, 1, 1, 9 * 1024},
		{"held fours", map[string]string{"HELD": "7u", "VEC4": "1"}, 4, 4, 4 * 7 * 256},
		{"held fours, many threads", map[string]string{"HELD": "2u", "VEC4": "1", "WG_SIZE": "1024u"}, 4, 4,
			4 * 2 * 1024},
		{"held, whole rows", map[string]string{"HELD": "4u", "FULL": "4u", "WG_SIZE": "64u"}, 1, 256, 256},
		{"held fours, whole rows", map[string]string{"HELD": "2u", "VEC4": "1", "FULL": "2u", "WG_SIZE": "512u"}, 4,
			4096, 4096},
	}
}

// takes tells whether a form runs a shape, and whether this test has it run it: all shapes in the form without defines,
// and few rows in the others, or short ones; 70,000 of these are slow where threads go through registers that are
// empty.
func (f liftedForm) takes(s liftedShape) bool {
	if s.rows == 70000 && !full() && (f.defines == nil) != (s.n == 31) {
		return false
	}
	short := s.n == 64 && (s.rows == 513 || f.defines["HELD"] == "")
	return s.n%f.unit == 0 && s.n >= f.min && s.n <= f.max && (f.defines == nil || s.rows <= 2 || short)
}

// with returns the form's defines and one more.
func (f liftedForm) with(name, value string) map[string]string {
	d := map[string]string{name: value}
	for k, v := range f.defines {
		d[k] = v
	}
	return d
}

func TestLiftedRMSNormBatch(t *testing.T) {
	b := open(t, Options{})
	for _, f := range liftedForms() {
		t.Run(f.name, func(t *testing.T) { liftedBatch(t, b, f) })
	}
}

func liftedBatch(t *testing.T, b *Backend, f liftedForm) {
	const rw, ro = wgpu.BufferBindingTypeStorage, wgpu.BufferBindingTypeReadOnlyStorage
	plain := lift(t, b, "rmsnorm_batch.wgsl", "rmsnorm_batch", f.defines, rw, rw, ro, ro)
	add := lift(t, b, "rmsnorm_batch.wgsl", "add_rmsnorm_batch", f.defines, rw, rw, ro, ro, ro)
	usage := []wgpu.BufferUsage{wgpu.BufferUsageStorage, wgpu.BufferUsageStorage, wgpu.BufferUsageStorage,
		wgpu.BufferUsageStorage, wgpu.BufferUsageStorage}
	const eps = 1e-5
	for i, s := range liftedShapes() {
		if !f.takes(s) {
			continue
		}
		srcStride, dstStride := s.n+i%3*f.unit, s.n+i%4*f.unit
		// Buffers end with the last row's last element, so that folding's overshoot finds no further row.
		src := matrix(1, 0, s.rows, s.n, srcStride, s.n-srcStride)
		dst := matrix(2, 0, s.rows, 0, dstStride, s.n-dstStride)
		w := matrix(3, 0, 1, s.n, s.n, 0)
		residual := matrix(4, 0, s.rows, s.n, srcStride, s.n-srcStride)
		params := []uint32{uint32(s.n), math.Float32bits(eps), uint32(srcStride), uint32(dstStride)}
		x, y := fold(s.rows)
		t.Run(fmt.Sprintf("plain/%dx%d", s.rows, s.n), func(t *testing.T) {
			out := plain.run(t, x, y, usage, src, dst, w, params)
			same(t, "src", out[0], src, 0, 0, 0, 0)
			checkNorm(t, out, src, dst, w, s, srcStride, dstStride, eps)
		})
		t.Run(fmt.Sprintf("add/%dx%d", s.rows, s.n), func(t *testing.T) {
			out := add.run(t, x, y, usage, src, dst, w, params, residual)
			same(t, "residual", out[4], residual, 0, 0, 0, 0)
			sum := append([]uint32(nil), src...)
			for r := range s.rows {
				for c := range s.n {
					k := r*srcStride + c
					sum[k] = math.Float32bits(math.Float32frombits(src[k]) + math.Float32frombits(residual[k]))
				}
			}
			same(t, "src", out[0], sum, 0, 0, 0, 0)
			checkNorm(t, out, sum, dst, w, s, srcStride, dstStride, eps)
		})
	}
}

// checkNorm checks dst, out[1], against the norm of src, and that its gaps are as they were before.
func checkNorm(t *testing.T, out [][]uint32, src, dst, w []uint32, s liftedShape, srcStride, dstStride int,
	eps float32) {
	t.Helper()
	v := make([]float64, s.n)
	for r := range s.rows {
		for i := range v {
			v[i] = float(src[r*srcStride+i])
		}
		inv := invRMS(v, eps)
		for i := range v {
			want := v[i] * inv * float(w[i])
			if got := out[1][r*dstStride+i]; !near(got, want, s.n) {
				t.Fatalf("dst[%d, %d]: found %g, expected %g", r, i, float(got), want)
			}
		}
	}
	same(t, "dst", out[1], dst, 0, s.rows, s.n, dstStride)
	same(t, "w", out[2], w, 0, 0, 0, 0)
}

// same checks that got equals want bit for bit outside the rows of n words from word off on.
func same(t *testing.T, name string, got, want []uint32, off, rows, n, stride int) {
	t.Helper()
	for i := range want {
		if k := i - off; k >= 0 && rows > 0 && k/stride < rows && k%stride < n {
			continue
		}
		if got[i] != want[i] {
			t.Fatalf("%s: word %d: found %#x (%g), expected %#x (%g)", name, i, got[i], float(got[i]), want[i],
				float(want[i]))
		}
	}
}

// The parameter bytes of DESIGN.md and those of the Go structs agree.
func TestParamsMatchDesign(t *testing.T) {
	bytes := must(binary.Append(nil, binary.LittleEndian, shaders.FusedResidualRMSNormParams{
		Outer: 1, Inner: 2, InOff: 3, ResidualOff: 4, BiasOff: 5, GammaOff: 6, BetaOff: 7, OutOff: 8, EpsBits: 9,
		HasBias: 10, SumOff: 11, Pad: 12,
	}))(t)
	if len(bytes) != 48 {
		t.Fatalf("found %d bytes, expected 48", len(bytes))
	}
	for i := range 12 {
		if got := binary.LittleEndian.Uint32(bytes[i*4:]); got != uint32(i+1) {
			t.Errorf("word %d: found %d, expected %d", i, got, i+1)
		}
	}
}
