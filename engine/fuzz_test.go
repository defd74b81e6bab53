package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"cera/engine"
	"cera/gguf"
	"cera/tinymodel"
)

// Whatever a file says: it resolves, or it is refused with an error that names what is wrong, and a look at its
// elements ends.
func FuzzResolve(f *testing.F) {
	for _, arch := range []string{"llama", "gemma2", "qwen3moe", "gpt-oss", "phi3", "stablelm"} {
		o := tinymodel.For(arch)
		o.Layers, o.Dim, o.FF, o.Vocab, o.Format = 1, 32, 32, 8, gguf.F16
		o.HeadDim, o.Heads, o.KVHeads, o.RotDim = 8, 4, 2, 0
		if o.Experts > 0 {
			o.Experts, o.ExpertsUsed, o.ExpertFF = 2, 1, 32
		}
		var buf bytes.Buffer
		if _, err := tinymodel.Write(&buf, o); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := gguf.NewFile(bytes.NewReader(in), int64(len(in)))
		if err != nil {
			return
		}
		r, err := engine.Resolve(file)
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without text")
		}
		if r != nil {
			for _, p := range r.Config.Properties() {
				if p.Name == "" {
					t.Fatalf("a property without a name: %v", p)
				}
			}
			_ = fmt.Sprint(r.GPUNotes())
		}
		v, err := engine.Validate(context.Background(), file)
		if err != nil {
			t.Fatal(err)
		}
		if v.Tensors+len(v.Unchecked) != len(file.Tensors) {
			t.Fatalf("looked at %d tensors and not at %d, of %d", v.Tensors, len(v.Unchecked), len(file.Tensors))
		}
	})
}
