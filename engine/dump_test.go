package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cera/check"
	"cera/engine"
	"cera/trace"
)

// TestDiffGolden dumps every supported model with the tokens that llama.cpp ran, and compares the file with
// llama.cpp's.
func TestDiffGolden(t *testing.T) {
	compare := func(t *testing.T, model, npz string) {
		eachDevice(t, func(t *testing.T, device string) {
			want, err := trace.Open(npz)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "ours.npz")
			e := open(t, model, engine.Options{Device: device, UBatch: 5})
			if _, err := e.Dump(ctx, path, "test", want.Tokens, everySite); err != nil {
				t.Fatal(err)
			}
			got, err := trace.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := trace.Diff(got, want, check.DriftBound)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Same() || len(c.OnlyB) != 0 || len(c.Sites) != len(want.Sites()) {
				t.Errorf("first over tolerance %+v; tokens %q; %d of %d sites compared, only in llama.cpp's: %v",
					c.First, c.Tokens, len(c.Sites), len(want.Sites()), c.OnlyB)
			}
		})
	}
	for _, v := range []string{"llama", "llama3-ropefreqs", "llama-obias", "llama-mqa-hd24", "llama-odd"} {
		t.Run("committed/"+v, func(t *testing.T) {
			compare(t, filepath.Join("../testdata/archs", v+".gguf"), filepath.Join("../testdata/golden", v+".npz"))
		})
		t.Run("shared/"+v, func(t *testing.T) {
			compare(t, shared(t, "models/archs/"+v+".gguf"), shared(t, "golden/llamacpp/"+v+".npz"))
		})
	}
	t.Run("stories260K", func(t *testing.T) {
		compare(t, shared(t, "models/trained/stories260K.gguf"), shared(t, "golden/llamacpp/stories260K.npz"))
	})
}

// TestDump holds the file against a capture of the same run, and the manifest against the model's file.
func TestDump(t *testing.T) {
	raw, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	tokens := engine.DefaultTokens(64, 12)
	for _, norms := range []string{"batch", "arena"} {
		n, err := engine.ParseNorms(norms)
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, tiny, engine.Options{Device: "cpu", UBatch: 5, Norms: n})
		path := filepath.Join(t.TempDir(), "a.npz")
		sites, err := e.Dump(ctx, path, "v9", tokens, everySite)
		if err != nil {
			t.Fatal(err)
		}
		got := readTrace(t, path)
		want, err := e.Capture(ctx, tokens, everySite)
		if err != nil {
			t.Fatal(err)
		}
		if worst := sameTrace(t, got, want.Trace, within(0)); worst != 0 {
			t.Errorf("NMSE %g against the capture", worst)
		}
		m := got.Manifest
		if m == nil || m.SHA256 != hex.EncodeToString(sum[:]) || m.Model != tiny || m.Version != "v9" ||
			m.Tokens != 12 || m.Device != "cpu" ||
			m.Norms != norms || !slices.Equal(m.Sites, got.Sites()) || !slices.Equal(sites, got.Sites()) ||
			!slices.Equal(got.Tokens, tokens) {
			t.Errorf("manifest %+v of tokens %v", m, got.Tokens)
		}
	}
}

// TestDumpInterrupted ends the context before the run and in the middle of it.
func TestDumpInterrupted(t *testing.T) {
	e := open(t, tiny, engine.Options{Device: "cpu", UBatch: 2})
	for _, after := range []int{0, 30} {
		dir := t.TempDir()
		stop, cancel := context.WithCancel(ctx)
		seen := 0
		if after == 0 {
			cancel()
		}
		_, err := e.Dump(stop, filepath.Join(dir, "a.npz"), "", engine.DefaultTokens(64, 12), func(string) bool {
			if seen++; seen == after {
				cancel()
			}
			return true
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d sites: %v", after, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("cancelled after %d sites, files were left: %v", after, left)
		}
	}
}
