package weights

import (
	"path/filepath"
	"testing"

	"cera/gguf"
)

// TestRealFiles decodes files of llama.cpp's quantizer, which mixes types within a file, and compares every tensor with
// the original.
func TestRealFiles(t *testing.T) {
	const dir = "../../shared/models"
	open := func(path string) *gguf.File {
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	paths, err := filepath.Glob(dir + "/quantized/stories260K-*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("SKIPPED: no ../shared/models/quantized")
	}
	original := open(dir + "/trained/stories260K.gguf")
	// The largest NMSE of a tensor in each type, about (step/amax)²/12 over the mean square of a bell curve.
	bound := map[gguf.Type]float64{
		gguf.F32: 0, gguf.F16: 1e-6, gguf.BF16: 1e-5, gguf.Q8_0: 1e-4,
		gguf.Q5_0: 3e-3, gguf.Q5_1: 3e-3, gguf.Q4_0: 1.5e-2, gguf.Q4_1: 1.5e-2,
		gguf.IQ4_NL: 1.5e-2,
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := open(path)
			if len(f.Tensors) != len(original.Tensors) {
				t.Errorf("%d tensors, the original has %d", len(f.Tensors), len(original.Tensors))
			}
			for _, ts := range f.Tensors {
				got, err := DecodeTensor(f, ts.Name)
				if err != nil {
					t.Error(err)
					continue
				}
				max, ok := bound[ts.Type]
				if !ok {
					t.Errorf("%s: no bound for %v", ts.Name, ts.Type)
				}
				want, err := DecodeTensor(original, ts.Name)
				if err != nil {
					t.Fatal(err)
				}
				if e := nmse(got, want); !(e <= max) {
					t.Errorf("%s %v: NMSE %.2g, expected at most %g", ts.Name, ts.Type, e, max)
				}
			}
		})
	}
}

// nmse returns the squared error of got relative to the squares of want, 1 where the lengths differ.
func nmse(got, want []float32) float64 {
	if len(got) != len(want) {
		return 1
	}
	var e, s float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		e += d * d
		s += float64(want[i]) * float64(want[i])
	}
	return e / s
}
