//go:build cgo

package gpu

import (
	"testing"
	"testing/fstest"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/shaders"
)

// BenchmarkNorms compares the ways to run the norms, as BenchNorms says; "chosen" is what the backend picks by itself. A
// tenth of a second a line is enough: -bench Norms -benchtime 100ms.
func BenchmarkNorms(b *testing.B) {
	be, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	defer be.Close()
	be.templates = shaders.Overlay(fstest.MapFS{ceilingFile: {Data: []byte(ceilingWGSL)}})
	o := backendtest.NormBench{
		Variants: []backendtest.NormVariant{{Name: "chosen", Use: func(int) bool {
			be.normVariant = shaders.NormVariant{}
			return true
		}}},
		Ceiling: be.ceiling,
	}
	for _, v := range shaders.NormVariants() {
		o.Variants = append(o.Variants, backendtest.NormVariant{Name: v.String(), Use: func(n int) bool {
			be.normVariant = v
			return worthATry(v, n, be.maxThreads)
		}})
	}
	backendtest.BenchNorms(b, be, o)
}

// worthATry leaves out variants that cannot run rows of n, and those that nobody expects to be fast: those that read single
// floats where there are fours, or read rows twice, other than with 256 threads, and those that leave threads idle.
func worthATry(v shaders.NormVariant, n, maxThreads int) bool {
	if _, ok := v.Form(shaders.NormShape{N: n, Aligned: true}, maxThreads); !ok {
		return false
	}
	if !v.Held {
		return v.Threads == 256
	}
	return v.Vec4 == (n%4 == 0) && n > 3*v.Threads
}

const ceilingFile = "norm_ceiling.wgsl"

// ceilingWGSL moves what add_rmsnorm_batch moves, each thread four floats of each tensor.
const ceilingWGSL = `
@group(0) @binding(0) var<storage, read_write> src: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: vec4<u32>; // number of fours

@compute @workgroup_size(256)
fn ceiling(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = (wg.y * num.x + wg.x) * 256u + lid;
    if (i < params.x) {
        let v = src[i] + residual[i];
        src[i] = v;
        dst[i] = v * 0.5;
    }
}
`

type ceilingKernel struct{}

func (ceilingKernel) Program() shaders.Program {
	return shaders.Program{
		File: ceilingFile, Entry: "ceiling",
		Bindings: []shaders.Access{shaders.ReadWrite, shaders.ReadWrite, shaders.Read, shaders.Uniform},
	}
}

type ceilingParams struct{ Fours, Pad0, Pad1, Pad2 uint32 }

// ceiling is an elementwise pass over three buffers. A few floats at the end that make no four are left out.
func (b *Backend) ceiling(dst, src, residual backend.Tensor) {
	fours := src.Rows * src.N / 4
	buf := func(t backend.Tensor) binding { return whole(t.Buf.(*buffer)) }
	grid := shaders.Fold((fours + 255) / 256)
	b.dispatch("ceiling", ceilingKernel{}, ceilingParams{Fours: u32(fours)}, grid, buf(src), buf(dst), buf(residual))
}

// The ceiling does all of its work: a ceiling that left some out would be none.
func TestNormCeiling(t *testing.T) {
	b := open(t, Options{})
	b.templates = shaders.Overlay(fstest.MapFS{ceilingFile: {Data: []byte(ceilingWGSL)}})
	const rows, n = 300, 1028
	src := filled(t, b, "src", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	residual := filled(t, b, "residual", rows, n, func(r, i int) float32 { return noise(2, r, i) })
	dst := b.Alloc("dst", rows, n)
	b.ceiling(dst, src, residual)
	sum, half := read(t, b, src), read(t, b, dst)
	for i := range sum {
		if want := noise(1, i/n, i%n) + noise(2, i/n, i%n); sum[i] != want || half[i] != want/2 {
			t.Fatalf("word %d: found %g and %g, expected %g and half of it", i, sum[i], half[i], want)
		}
	}
}
