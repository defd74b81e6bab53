//go:build cgo

package gpu

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/check"
	"cera/shaders"
)

// TestConformanceNorms runs the norms in every variant, or, not at full length, in those of two sizes: the whole norm
// part of the suite with the fewest, the usual and the most threads, and grids past one dimension with the fewest,
// whose rows are the fastest here.
func TestConformanceNorms(t *testing.T) {
	for _, v := range shaders.NormVariants() {
		if !full() && v.Threads != 32 && v.Threads != 256 {
			continue // make test-all runs these too
		}
		parts := []string{"AddRMSNorm", "NormsAgree"}
		switch v.Threads {
		case 32:
			parts = append(parts, "RMSNorm", "FusedResidualRMSNorm")
			if v.Held == v.Vec4 || full() {
				parts = append(parts, "NormRows")
			}
		case 256, 1024:
			parts = append(parts, "RMSNorm", "FusedResidualRMSNorm")
		}
		t.Run(v.String(), func(t *testing.T) {
			b := open(t, Options{NormVariant: v.String()})
			if v.Threads > b.maxThreads {
				t.Skipf("SKIPPED: the device has %d threads a workgroup at most", b.maxThreads)
			}
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, parts...)
			if !b.ran(v, func(k any) (shaders.NormForm, bool) {
				x, ok := k.(shaders.RMSNormBatch)
				return x.Form, ok
			}) {
				t.Error("rmsnorm_batch did not run in this variant")
			}
			if !b.ran(v, func(k any) (shaders.NormForm, bool) {
				x, ok := k.(shaders.FusedResidualRMSNorm)
				return x.Form, ok
			}) {
				t.Error("fused_residual_rms_norm did not run in this variant")
			}
		})
	}
}

// ran tells whether a kernel was compiled in a form of v.
func (b *Backend) ran(v shaders.NormVariant, form func(any) (shaders.NormForm, bool)) bool {
	for k := range b.pipelines {
		f, ok := form(k)
		if ok && f.Threads == v.Threads && f.Vec4 == v.Vec4 && (f.Held > 0) == v.Held {
			return true
		}
	}
	return false
}

// All variants give the same stream to the bit, and each gives the same norm to the bit whenever it runs, however many
// rows there are.
func TestNormVariantsAgree(t *testing.T) {
	for _, n := range []int{37, 128, 1024, 4096} {
		var stream []float32
		for _, v := range shaders.NormVariants() {
			b := open(t, Options{NormVariant: v.String()})
			const rows = 5
			x := filled(t, b, "x", rows, n, func(r, i int) float32 { return noise(1, r, i) })
			delta := filled(t, b, "delta", rows, n, func(r, i int) float32 { return noise(2, r, i) * 1e-3 })
			w := filled(t, b, "w", 1, n, func(_, i int) float32 { return noise(3, 0, i) })
			run := func(lo, hi int) (sum, normed []float32) {
				s, h := b.Alloc("s", rows, n), b.Alloc("h", rows, n)
				b.Copy(s, x)
				b.AddRMSNorm(h.Slice(lo, hi), s.Slice(lo, hi), delta.Slice(lo, hi), w, 1e-6)
				return read(t, b, s.Slice(lo, hi)), read(t, b, h.Slice(lo, hi))
			}
			sum, normed := run(0, rows)
			if stream == nil {
				stream = sum
			}
			sameBits(t, v.String()+": stream", sum, stream)
			again, normedAgain := run(0, rows)
			sameBits(t, v.String()+": stream again", again, stream)
			sameBits(t, v.String()+": norm again", normedAgain, normed)
			one, normedOne := run(3, 4) // where n is odd, through copies
			sameBits(t, v.String()+": stream of one row", one, stream[3*n:4*n])
			sameBits(t, v.String()+": norm of one row", normedOne, normed[3*n:4*n])
			b.Close()
		}
	}
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Fatalf("%s: found other bits", what)
	}
}

// In no form that runs, chosen or forced, can the error pass the bound of a norm: docs/numerics.md adds it up.
func TestNormFormsWithinBound(t *testing.T) {
	widths := append([]int{2, 5, 96, 128, 384, 385, 512, 1000, 1024, 2048, 16384, 32768, 32772, 100000},
		backendtest.Widths...)
	for _, n := range widths {
		for _, aligned := range []bool{false, true} {
			s := shaders.NormShape{N: n, Aligned: aligned}
			forms := []shaders.NormForm{shaders.ChooseRMSNorm(s, 256), shaders.ChooseRMSNorm(s, 1024)}
			for _, v := range shaders.NormVariants() {
				if f, ok := v.Form(s, 1024); ok {
					forms = append(forms, f)
				}
			}
			for _, f := range forms {
				lanes, laneSums := 1, 0.0
				if f.Vec4 {
					lanes, laneSums = 4, 2
				}
				own := math.Ceil(float64(n)/float64(lanes*f.Threads)) - 1
				mean := 1 + own + laneSums + math.Log2(float64(f.Threads)) + 5 + 1 // square, sums, division, eps
				result := mean/2 + 4 + 2                                           // root, inverseSqrt, two products
				if allowed := check.NormBound(n, 1, 0) * (1 << 24); result > allowed {
					t.Errorf("rows of %d, %+v: up to %g units, the bound is %g", n, f, result, allowed)
				}
			}
		}
	}
}

// A variant is taken from the options, or from the environment; what is no variant is an error that names it.
func TestNormVariantOption(t *testing.T) {
	t.Setenv("CERA_NORM_VARIANT", "vec4-twice-64")
	if b := open(t, Options{}); b.normVariant != (shaders.NormVariant{Vec4: true, Threads: 64}) {
		t.Errorf("from the environment: found %v", b.normVariant)
	}
	b := open(t, Options{NormVariant: "scalar-held-512"})
	if want := (shaders.NormVariant{Held: true, Threads: 512}); b.normVariant != want {
		t.Errorf("from the options: found %v, expected %v", b.normVariant, want)
	}
	// Where the variant cannot run a shape, the choice is the usual one.
	if got, want := b.normForm(shaders.NormShape{N: 20000}),
		shaders.ChooseRMSNorm(shaders.NormShape{N: 20000}, b.maxThreads); got != want {
		t.Errorf("rows of 20000: found %+v, expected %+v", got, want)
	}
	if got := b.normForm(shaders.NormShape{N: 16384, Aligned: true}); got != (shaders.NormForm{Threads: 512, Held: 32, Full: 32}) {
		t.Errorf("rows of 16384: found %+v", got)
	}
	for _, name := range []string{"vec4", "vec4-held-96", "vec4-held-2048", "vec4-held-256 ", "Vec4-held-256"} {
		_, err := Open(Options{Adapter: -1, AllowSoftware: true, NormVariant: name})
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "vec4-held-256") {
			t.Errorf("%q: found %v", name, err)
		}
	}
	os.Unsetenv("CERA_NORM_VARIANT") // t.Setenv restores it
	if b := open(t, Options{}); b.normVariant != (shaders.NormVariant{}) {
		t.Errorf("without either: found %v", b.normVariant)
	}
}
