package engine_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cera/engine"
)

var tiny = filepath.Join("../testdata/archs", "llama-mqa-hd24.gguf")

// TestChunks runs the same tokens in one batch, in chunks of 7, and token by token.
func TestChunks(t *testing.T) {
	tokens := engine.DefaultTokens(64, 40)
	eachDevice(t, func(t *testing.T, device string) {
		for _, norms := range []string{"batch", "arena"} {
			n, _ := engine.ParseNorms(norms)
			whole, err := open(t, tiny, engine.Options{Device: device, Norms: n}).Capture(ctx, tokens, everySite)
			if err != nil {
				t.Fatal(err)
			}
			for _, ubatch := range []int{7, 1} {
				e := open(t, tiny, engine.Options{Device: device, Norms: n, UBatch: ubatch})
				got, err := e.Capture(ctx, tokens, everySite)
				if err != nil {
					t.Fatal(err)
				}
				worst := sameTrace(t, got.Trace, whole.Trace, 1e-12)
				t.Logf("%s norms, chunks of %d: largest NMSE %.2g", norms, ubatch, worst)
				if device == "cpu" && worst != 0 {
					t.Errorf("%s norms, chunks of %d: the cpu's sums do not depend on the batch, yet NMSE is %g", norms, ubatch, worst)
				}
			}
		}
	})
}

// TestProbes holds the promise that a probe changes nothing, and that a run can be repeated bit for bit.
func TestProbes(t *testing.T) {
	tokens := engine.DefaultTokens(64, 33)
	eachDevice(t, func(t *testing.T, device string) {
		for _, norms := range []string{"batch", "arena"} {
			n, _ := engine.ParseNorms(norms)
			e := open(t, tiny, engine.Options{Device: device, Norms: n})
			plain, err := e.Logits(ctx, tokens)
			if err != nil {
				t.Fatal(err)
			}
			for run := range 3 {
				got, err := e.Capture(ctx, tokens, everySite)
				if err != nil {
					t.Fatal(err)
				}
				probed, _, _, _ := got.Trace.Data("logits")
				e.Reset()
				again, err := e.Logits(ctx, tokens)
				if err != nil {
					t.Fatal(err)
				}
				for i := range plain {
					if math.Float32bits(plain[i]) != math.Float32bits(probed[i]) || math.Float32bits(plain[i]) != math.Float32bits(again[i]) {
						t.Fatalf("%s norms, run %d, logit %d: %g without probes, %g with, %g again", norms, run, i, plain[i], probed[i], again[i])
					}
				}
			}
		}
	})
}

// TestSequence continues a sequence with Eval and finds the limits of the context.
func TestSequence(t *testing.T) {
	tokens := engine.DefaultTokens(64, 12)
	e := open(t, tiny, engine.Options{Device: "cpu", Ctx: 12})
	all, err := e.Logits(ctx, tokens)
	if err != nil {
		t.Fatal(err)
	}
	e.Reset()
	if _, err := e.Eval(ctx, tokens[:5]); err != nil {
		t.Fatal(err)
	}
	last, err := e.Eval(ctx, tokens[5:])
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range last {
		if v != all[11*len(last)+i] {
			t.Fatalf("logit %d after a continued sequence is %g, want %g", i, v, all[11*len(last)+i])
		}
	}
	for _, c := range []struct {
		name   string
		tokens []int32
		reset  bool
		want   string
	}{
		{"full", []int32{1}, false, "context of 12"},
		{"too long", make([]int32, 13), true, "context of 12"},
		{"no tokens", nil, true, "no tokens"},
		{"id too large", []int32{64}, true, "vocabulary of 64"},
		{"negative id", []int32{-1}, true, "vocabulary of 64"},
	} {
		if c.reset {
			e.Reset()
		}
		if _, err := e.Eval(ctx, c.tokens); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Eval(cancelled, tokens); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}
