package engine_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/engine"
)

// TestHalfKV checks every norm and every op of every architecture with a KV cache of halves, in batches and token by
// token; what a probe sees of the cache are halves, and not all of them what they would be in a cache of f32.
func TestHalfKV(t *testing.T) {
	files, err := filepath.Glob("../testdata/archs/*.gguf")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models in testdata: %v", len(files), err)
	}
	eachDevice(t, func(t *testing.T, device string) {
		for i, file := range files {
			if device == "gpu" && !full() && i%3 != 0 {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(file), ".gguf")
			t.Run(name, func(t *testing.T) {
				e := open(t, file, engine.Options{Device: device, UBatch: 5, KV: backend.F16})
				tokens := engine.DefaultTokens(e.Config().Vocab, 12)
				r, err := e.CheckOps(ctx, tokens, engine.DriftOn, engine.OpFilter{})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != check.Pass {
					t.Errorf("%v, first fault %+v", r.Verdict, r.First)
				}
				got, err := e.Capture(ctx, tokens, func(site string) bool { return strings.HasPrefix(site, "cache_") })
				if err != nil {
					t.Fatal(err)
				}
				full := open(t, file, engine.Options{Device: device, UBatch: 5})
				want, err := full.Capture(ctx, tokens,
					func(site string) bool { return strings.HasPrefix(site, "cache_") })
				if err != nil {
					t.Fatal(err)
				}
				for _, site := range []string{"cache_k-0", "cache_v-0"} {
					halves, rows, n, ok := got.Trace.Data(site)
					floats, wantRows, wantN, _ := want.Trace.Data(site)
					if !ok || rows != wantRows || n != wantN {
						t.Fatalf("%s: [%d, %d], want [%d, %d]", site, rows, n, wantRows, wantN)
					}
					if slices.Equal(halves, floats) {
						t.Errorf("%s is not rounded", site)
					}
					for i, v := range halves {
						if math.Float32bits(v)&0x1fff != 0 && math.Abs(float64(v)) >= 0x1p-14 {
							t.Fatalf("%s, value %d: %g is no half", site, i, v)
						}
						if d := math.Abs(float64(v - floats[i])); d > math.Max(0x1p-11*math.Abs(float64(floats[i])),
							0x1p-25) {
							t.Fatalf("%s, value %d: %g, %g in a cache of f32", site, i, v, floats[i])
						}
					}
				}
			})
		}
	})
}

// TestHalfKVDecodes generates with a cache of halves on the device, step by step and in steps recorded once: the same
// tokens.
func TestHalfKVDecodes(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		e := open(t, "../testdata/archs/llama.gguf", engine.Options{Device: device, KV: backend.F16})
		prompt := engine.DefaultTokens(e.Config().Vocab, 11)
		ids, err := e.Greedy(ctx, prompt, 20)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.NewSession(0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		next := prompt
		for i, want := range ids {
			logits, err := s.Eval(ctx, next)
			if err != nil {
				t.Fatal(err)
			}
			best := int32(0)
			for j, v := range logits {
				if v > logits[best] {
					best = int32(j)
				}
			}
			if best != want {
				t.Fatalf("token %d is %d in recorded steps, %d alone", i, want, best)
			}
			next = []int32{best}
		}
	})
}

// TestKVOptions: only f32 and f16 are types of a cache.
func TestKVOptions(t *testing.T) {
	for text, want := range map[string]backend.Format{"f32": backend.F32, "f16": backend.F16} {
		if got, err := engine.ParseKV(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "F16", "q8_0", "bf16"} {
		if _, err := engine.ParseKV(text); err == nil || !strings.Contains(err.Error(), "f32, f16") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := engine.Open("../testdata/archs/llama.gguf", engine.Options{Device: "cpu", KV: backend.BF16})
	if err == nil || !strings.Contains(err.Error(), "BF16") {
		t.Errorf("a cache of BF16: %v", err)
	}
}
