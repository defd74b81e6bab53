package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cera/gguf"
)

// The texts between the lines, and the ids that llama.cpp gives for them: no BOS, control tokens not parsed.
func TestGolden(t *testing.T) {
	paths := sharedVocabularies(t)
	for _, path := range paths {
		t.Run(vocabularyName(path), func(t *testing.T) {
			tok := openVocabulary(t, path)
			inp, err := os.ReadFile(path + ".inp")
			if err != nil {
				t.Fatal(err)
			}
			out, err := os.ReadFile(path + ".out")
			if err != nil {
				t.Fatal(err)
			}
			const separator = "\n__ggml_vocab_test__\n" // after the last text as well
			texts := strings.Split(strings.TrimSuffix(string(inp), separator), separator)
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(texts) != len(lines) || len(texts) < 40 {
				t.Fatalf("%d texts, %d lines of ids", len(texts), len(lines))
			}
			for i, text := range texts {
				var want []int32
				for _, field := range strings.Fields(lines[i]) {
					id, err := strconv.Atoi(field)
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, int32(id))
				}
				got := tok.Encode(text, EncodeOptions{})
				if !slices.Equal(got, want) {
					t.Errorf("text %d, %q:\n got %v\nwant %v", i, text, got, want)
				}
				if back := tok.Decode(got, DecodeOptions{}); back != text {
					t.Errorf("text %d, %q: decoded to %q", i, text, back)
				}
			}
		})
	}
}

func sharedVocabularies(t testing.TB) []string {
	paths, err := filepath.Glob("../../shared/golden/tokenizer/*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("SKIPPED: ../../shared/golden/tokenizer is not there")
	}
	return paths
}

// vocabularyName is the name in ggml-vocab-NAME.gguf.
func vocabularyName(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "ggml-vocab-"), ".gguf")
}

func openVocabulary(t testing.TB, path string) *Tokenizer {
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := New(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
