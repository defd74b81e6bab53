//go:build cgo

package gpu

import (
	"fmt"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/shaders"
)

// pipeline is a compiled variant. The bind group layout is explicit: the browser side of the binding cannot derive
// one.
type pipeline struct {
	prog   shaders.Program
	layout *wgpu.BindGroupLayout
	raw    *wgpu.ComputePipeline
}

func (p *pipeline) release() {
	p.raw.Release()
	p.layout.Release()
}

// pipeline compiles v, or finds it in the cache.
func (b *Backend) pipeline(v shaders.Variant) (*pipeline, error) {
	if p, ok := b.pipelines[v]; ok {
		return p, nil
	}
	prog := v.Program()
	src, err := shaders.Source(prog)
	if b.templates != nil {
		src, err = shaders.SourceFS(b.templates, prog)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", prog.File, err)
	}
	p, err := b.compile(prog, src.WGSL)
	if err != nil {
		return nil, fmt.Errorf("kernel %s, entry point %s: %s", prog.File, prog.Entry, src.Explain(err.Error()))
	}
	b.pipelines[v] = p
	return p, nil
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

func (b *Backend) computePipeline(prog shaders.Program, module *wgpu.ShaderModule, layout *wgpu.BindGroupLayout) (*wgpu.ComputePipeline, error) {
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
