package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cera/gguf"
)

// TestTokenizeScripts runs testdata/tokenize on two small vocabularies of its own, bytes.gguf and pieces.gguf.
func TestTokenizeScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "tokenize"),
		Setup: func(env *testscript.Env) error {
			bytes := gguf.NewWriter()
			bytes.Set("tokenizer.ggml.model", "gpt2")
			bytes.Set("tokenizer.ggml.pre", "gpt-2")
			bytes.Set("tokenizer.ggml.tokens",
				[]string{"a", "b", "1", "Ġ", "Ċ", "Ã", "©", "ab", "Ġab", "11", "<|im_end|>", "<tool>"})
			bytes.Set("tokenizer.ggml.token_type", []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4})
			bytes.Set("tokenizer.ggml.merges", []string{"a b", "Ġ ab", "1 1"})
			bytes.Set("tokenizer.ggml.bos_token_id", uint32(10))
			pieces := gguf.NewWriter()
			pieces.Set("tokenizer.ggml.model", "llama")
			pieces.Set("tokenizer.ggml.tokens", []string{"<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "b", "▁a", "▁ab"})
			pieces.Set("tokenizer.ggml.token_type", []int32{2, 3, 3, 6, 1, 1, 1, 1, 1})
			pieces.Set("tokenizer.ggml.scores", []float32{0, 0, 0, 0, -9, -9, -9, -1, -2})
			none := gguf.NewWriter()
			none.Set("tokenizer.ggml.model", "no_vocab")
			odd := gguf.NewWriter()
			odd.Set("tokenizer.ggml.model", "gpt2")
			odd.Set("tokenizer.ggml.pre", "oddity")
			odd.Set("tokenizer.ggml.tokens", []string{"a"})
			odd.Set("tokenizer.ggml.merges", []string{})
			for name, w := range map[string]*gguf.Writer{"bytes": bytes, "pieces": pieces, "none": none, "odd": odd} {
				f, err := os.Create(filepath.Join(env.WorkDir, name+".gguf"))
				if err != nil {
					return err
				}
				if _, err := w.WriteTo(f); err != nil {
					return err
				}
				if err := f.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		RequireExplicitExec: true,
	})
}
