package engine_test

import (
	"path/filepath"
	"slices"
	"testing"

	"cera/backend"
	"cera/engine"
	"cera/gpu"
)

// hardware is a card that does not say that it is the processor: the engine has its kernels compiled beforehand.
type hardware struct{ *gpu.Backend }

func (h hardware) Info() backend.Info {
	i := h.Backend.Info()
	i.Software = false
	return i
}

// What a model's first prompt and first token run is compiled while its weights are uploaded, and gives what it gives without.
func TestPrepare(t *testing.T) {
	needDevice(t, "gpu")
	for _, arch := range []string{"llama", "gemma2", "gpt-oss", "qwen2moe", "starcoder2"} {
		t.Run(arch, func(t *testing.T) {
			path := filepath.Join("../testdata/archs", arch+".gguf")
			run := func(prepared bool) (ids []int32, before, after int) {
				card, err := gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true})
				if err != nil {
					t.Fatal(err)
				}
				defer card.Close()
				var be backend.Backend = card
				if prepared {
					be = hardware{card}
				}
				e, err := engine.New(openFile(t, path), be, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if e.Pos() != 0 {
					t.Errorf("%d positions are taken", e.Pos())
				}
				before = card.Compiled()
				ids, err = e.Greedy(ctx, engine.DefaultTokens(e.Config().Vocab, 8), 5)
				if err != nil {
					t.Fatal(err)
				}
				return ids, before, card.Compiled()
			}
			want, _, needed := run(false)
			got, before, after := run(true)
			if !slices.Equal(got, want) {
				t.Errorf("found %v, without preparing %v", got, want)
			}
			if before < needed || after != before {
				t.Errorf("%d kernels were compiled while loading, %d after, %d are needed", before, after, needed)
			}
		})
	}
}
