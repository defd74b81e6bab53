package gguf

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkVocabulary opens a file with the metadata of a large tokenizer: 256,000 strings, scores and types.
func BenchmarkVocabulary(b *testing.B) {
	const n = 256_000
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("▁%d", i)
	}
	w := NewWriter()
	w.Set("tokenizer.ggml.tokens", tokens)
	w.Set("tokenizer.ggml.scores", make([]float32, n))
	w.Set("tokenizer.ggml.token_type", make([]int32, n))
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		b.Fatal(err)
	}
	path := write(b, b.TempDir(), "vocab.gguf", file.Bytes())
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
