//go:build cgo

package gpu

import (
	"testing"

	"cera/backend/backendtest"
	"cera/shaders"
)

// BenchmarkNorms compares the ways to run the norms, as BenchNorms says; "chosen" is what the backend picks by itself.
// A tenth of a second a line is enough: -bench Norms -benchtime 100ms.
func BenchmarkNorms(b *testing.B) {
	be, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	defer be.Close()
	variants := []backendtest.NormVariant{{Name: "chosen", Use: func(int) bool {
		be.normVariant = shaders.NormVariant{}
		return true
	}}}
	for _, v := range shaders.NormVariants() {
		variants = append(variants, backendtest.NormVariant{Name: v.String(), Use: func(n int) bool {
			be.normVariant = v
			return worthATry(v, n, be.maxThreads)
		}})
	}
	backendtest.BenchNorms(b, be, variants)
}

// worthATry leaves out variants that cannot run rows of n, and those that nobody expects to be fast: those that read
// single floats where there are fours, or read rows twice, other than with 256 threads, and those that leave threads
// idle.
func worthATry(v shaders.NormVariant, n, maxThreads int) bool {
	if _, ok := v.Form(shaders.NormShape{N: n, Aligned: true}, maxThreads); !ok {
		return false
	}
	if !v.Held {
		return v.Threads == 256
	}
	return v.Vec4 == (n%4 == 0) && n > 3*v.Threads
}
