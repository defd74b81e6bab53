package engine_test

import (
	"slices"
	"testing"

	"cera/engine"
)

// Prepare leaves an engine as it was: no position is taken, and what follows is what it is without.
func TestPrepare(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		var want []int32
		for _, prepared := range []bool{false, true} {
			e := open(t, "../testdata/archs/llama.gguf", engine.Options{Device: device})
			if prepared {
				e.Prepare(ctx)
			}
			if e.Pos() != 0 {
				t.Errorf("%d positions are taken", e.Pos())
			}
			ids, err := e.Greedy(ctx, engine.DefaultTokens(e.Config().Vocab, 11), 9)
			if err != nil {
				t.Fatal(err)
			}
			if prepared && !slices.Equal(ids, want) {
				t.Errorf("found %v, without preparing %v", ids, want)
			}
			want = ids
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
