package tokenizer

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
)

// fuzzVocabulary is a file's vocabulary from what a fuzzer gives: lists are lines, a type or a score is a byte.
func fuzzVocabulary(kind uint8, tokens, types, scores, merges string, special uint32) metadata {
	kinds := []string{"llama", "gpt2", "gemma4"}
	m := metadata{keyModel: kinds[int(kind)%len(kinds)], keyTokens: strings.Split(tokens, "\n")}
	if m[keyModel] == "gpt2" {
		presets := PreTokenizers()
		m[keyPre] = presets[int(kind)/len(kinds)%len(presets)]
	}
	if types != "" {
		list := make([]int32, len(types))
		for i, b := range []byte(types) {
			list[i] = int32(b) - '0'
		}
		m[keyTypes] = list
	}
	if scores != "" {
		list := make([]float32, len(scores))
		for i, b := range []byte(scores) {
			list[i] = -float32(b)
		}
		m[keyScores] = list
	}
	if merges != "" {
		m[keyMerges] = strings.Split(merges, "\n")
	}
	// Eight bits for each of four ids; 255 is no key.
	for i, key := range []string{keyBOS, keyEOS, keyUnknown, "tokenizer.ggml.fim_pad_token_id"} {
		if id := special >> (8 * i) & 255; id != 255 {
			m[key] = id
		}
	}
	return m
}

// Whatever the vocabulary is: it is refused with an error that names a key, or it cuts every text into ids that it has,
// the same ones each time, and any ids give a text.
func FuzzVocabulary(f *testing.F) {
	f.Add(uint8(0), "<unk>\n<s>\n</s>\na\nb\nab\n▁\n▁ab\n<0x0A>", "23311111"+"6", "000543210", "", uint32(0xff000201),
		"ab a\nb", []byte{1, 2, 200})
	f.Add(uint8(1), "a\nb\nab\nabab\nĠ\nĠa\n<|im_end|>", "1111113", "", "a b\nab ab\nĠ a", uint32(0xffffff06),
		"abab ab <|im_end|>", []byte{0, 6})
	f.Add(uint8(2), "<unk>\n<s>\n\n▁\na\naa\n▁a\n<tool>", "23111114", "", "a a\n▁ a", uint32(0xff000101),
		"a aaa<tool>  a", []byte{3})
	f.Add(uint8(4), "", "", "", "a b", ^uint32(0), "x", []byte{})
	f.Add(uint8(7), "a\n\na\n<|endoftext|>", "1111", "", " ", uint32(0), "<|endoftext|>", []byte{255})
	f.Fuzz(func(t *testing.T, kind uint8, tokens, types, scores, merges string, special uint32, text string,
		ids []byte) {
		w := gguf.NewWriter()
		for key, value := range fuzzVocabulary(kind, tokens, types, scores, merges, special) {
			w.Set(key, value)
		}
		var buf bytes.Buffer
		if _, err := w.WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		file, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := New(file, Options{})
		if err != nil {
			if !strings.Contains(err.Error(), `key "tokenizer.ggml.`) {
				t.Fatalf("error %v names no key", err)
			}
			return
		}
		for _, o := range []EncodeOptions{{}, {Parse: ParseAll}, {Parse: ParseNone}, {AddSpecial: true}} {
			got := tok.Encode(text, o)
			for _, id := range got {
				if !tok.valid(id) {
					t.Fatalf("%q gave id %d of %d tokens", text, id, tok.Len())
				}
			}
			if again := tok.Encode(text, o); !slices.Equal(got, again) {
				t.Fatalf("%q gave %v and then %v", text, got, again)
			}
			tok.Decode(got, DecodeOptions{ShowSpecial: true})
		}
		list := make([]int32, len(ids))
		for i, b := range ids {
			list[i] = int32(b) - 2 // some that no vocabulary has
		}
		whole := string(tok.AppendBytes(nil, list, DecodeOptions{}))
		if again := string(tok.AppendBytes(nil, list, DecodeOptions{})); again != whole {
			t.Fatalf("%v gave %q and then %q", list, whole, again)
		}
		d := tok.NewDecoder(DecodeOptions{})
		for _, id := range list {
			d.Next(id)
		}
		d.Flush()
	})
}
