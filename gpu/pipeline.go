//go:build cgo

package gpu

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/shaders"
)

// pipeline is a compiled variant. The bind group layout is explicit: the browser side of the binding cannot derive
// one.
type pipeline struct {
	prog   shaders.Program
	depth  uint32 // workgroups in the grid's third dimension for one, see shaders.Program.Fit
	layout *wgpu.BindGroupLayout
	raw    *wgpu.ComputePipeline
}

func (p *pipeline) release() {
	p.raw.Release()
	p.layout.Release()
}

// pipeline compiles v, or finds it in the cache.
func (b *Backend) pipeline(v shaders.Variant) (*pipeline, error) {
	p, ok := b.pipelines[v]
	if !ok {
		b.awaitCompiled()
		p, ok = b.pipelines[v]
	}
	if ok {
		return p, nil
	}
	p, err := b.makePipeline(v)
	if err == nil {
		b.pipelines[v] = p
	}
	return p, err
}

// makePipeline compiles v. It may run on several goroutines at a time.
func (b *Backend) makePipeline(v shaders.Variant) (*pipeline, error) {
	prog, depth := v.Program().Fit(b.maxThreads)
	src, err := shaders.Source(prog)
	if b.templates != nil {
		src, err = shaders.SourceFS(b.templates, prog)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", prog.File, err)
	}
	if err := b.fits(v, prog, src.WGSL); err != nil {
		return nil, err
	}
	p, err := b.compile(prog, src.WGSL)
	if err != nil {
		return nil, fmt.Errorf("kernel %s, entry point %s: %s", prog.File, prog.Entry, src.Explain(err.Error()))
	}
	p.depth = depth
	return p, nil
}

var workgroupSize = regexp.MustCompile(`@workgroup_size\(([0-9]+)u?\)`)

// fits checks a program against the device's limits, which the library would not name.
func (b *Backend) fits(v shaders.Variant, prog shaders.Program, wgsl string) error {
	buffers := 0
	for _, access := range prog.Bindings {
		if access != shaders.Uniform {
			buffers++
		}
	}
	what := "kernel " + prog.File
	if buffers > b.limits.StorageBuffers {
		return &LimitError{what, limitBuffers, int64(buffers), int64(b.limits.StorageBuffers)}
	}
	// A kernel of one's own may say its size in another way; then it is the library's to check.
	if size := workgroupSize.FindStringSubmatch(wgsl); size != nil {
		if threads, err := strconv.Atoi(size[1]); err == nil && threads > b.maxThreads {
			return &LimitError{what, limitInvocations, int64(threads), int64(b.maxThreads)}
		}
	}
	if s, ok := v.(interface{ Storage() int }); ok && s.Storage() > b.limits.WorkgroupStorage {
		return &LimitError{what, limitStorage, int64(s.Storage()), int64(b.limits.WorkgroupStorage)}
	}
	return nil
}

// compile makes a pipeline from WGSL. Errors are the binding's own, with lines of wgsl.
func (b *Backend) compile(prog shaders.Program, wgsl string) (*pipeline, error) {
	module, err := b.dev.CreateShaderModule(&wgpu.ShaderModuleDescriptor{
		Label:          prog.File,
		WGSLDescriptor: &wgpu.ShaderModuleWGSLDescriptor{Code: wgsl},
	})
	if err != nil {
		return nil, err
	}
	defer module.Release()
	entries := make([]wgpu.BindGroupLayoutEntry, len(prog.Bindings))
	for i, access := range prog.Bindings {
		entries[i] = wgpu.BindGroupLayoutEntry{
			Binding:    uint32(i),
			Visibility: wgpu.ShaderStageCompute,
			Buffer:     wgpu.BufferBindingLayout{Type: bindingType(access)},
		}
	}
	layout, err := b.dev.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Label: prog.File, Entries: entries})
	if err != nil {
		return nil, err
	}
	p := &pipeline{prog: prog, layout: layout}
	if p.raw, err = b.computePipeline(prog, module, layout); err != nil {
		layout.Release()
		return nil, err
	}
	return p, nil
}

func (b *Backend) computePipeline(prog shaders.Program, module *wgpu.ShaderModule,
	layout *wgpu.BindGroupLayout) (*wgpu.ComputePipeline, error) {
	pl, err := b.dev.CreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{
		Label:            prog.File,
		BindGroupLayouts: []*wgpu.BindGroupLayout{layout},
	})
	if err != nil {
		return nil, err
	}
	defer pl.Release()
	return b.dev.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label:   prog.File,
		Layout:  pl,
		Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: prog.Entry},
	})
}

func bindingType(a shaders.Access) wgpu.BufferBindingType {
	switch a {
	case shaders.ReadWrite:
		return wgpu.BufferBindingTypeStorage
	case shaders.Uniform:
		return wgpu.BufferBindingTypeUniform
	default:
		return wgpu.BufferBindingTypeReadOnlyStorage
	}
}
