package engine_test

import (
	"testing"

	"cera/engine"
	"cera/kernelbench"
)

// TestKernelShape: published shapes have names; a file says its own, with its experts.
func TestKernelShape(t *testing.T) {
	for name, want := range map[string]kernelbench.Shape{
		"8B":                                    {Dim: 4096, FF: 14336, Heads: 32, KVHeads: 8, HeadDim: 128, Vocab: 128256},
		"30B-A3B":                               {Dim: 2048, FF: 768, Heads: 32, KVHeads: 4, HeadDim: 128, Vocab: 151936, Experts: 128, ExpertsUsed: 8},
		"../testdata/archs/qwen3moe.gguf":       {Experts: 8},
		"../testdata/archs/does-not-exist.gguf": {},
	} {
		s, err := engine.KernelShape(name)
		switch {
		case want.Dim > 0:
			if want.Name = name; err != nil || s.Name != name || s.Dim != want.Dim || s.FF != want.FF || s.Heads != want.Heads || s.KVHeads != want.KVHeads ||
				s.HeadDim != want.HeadDim || s.Vocab != want.Vocab || s.Experts != want.Experts || s.ExpertsUsed != want.ExpertsUsed {
				t.Errorf("%s: found %+v, %v, expected %+v", name, s, err, want)
			}
		case want.Experts > 0:
			if err != nil || s.Experts != want.Experts || s.ExpertsUsed < 1 || s.ExpertsUsed > s.Experts || s.FF < 1 {
				t.Errorf("%s: found %+v, %v, expected %d experts", name, s, err, want.Experts)
			}
		case err == nil:
			t.Errorf("%s: found %+v, expected an error", name, s)
		}
	}
}
