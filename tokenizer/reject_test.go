package tokenizer

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Metadata that must be refused, and what the error must say.
func TestReject(t *testing.T) {
	bytes, pieces := byteBPE("qwen2"), sentencePiece()
	n := len(bytes[keyTokens].([]string))
	tokens := func(m metadata, change func([]string)) []string {
		list := slices.Clone(m[keyTokens].([]string))
		change(list)
		return list
	}
	types := func(m metadata, change func([]int32)) []int32 {
		list := slices.Clone(m[keyTypes].([]int32))
		change(list)
		return list
	}
	tests := []struct {
		name string
		file metadata
		rows int
		o    Options
		want []string
	}{
		{"no keys", metadata{}, 0, Options{}, []string{keyModel, "is missing", "no vocabulary", `"gpt2"`}},
		{"model type", metadata{keyModel: uint32(1)}, 0, Options{}, []string{keyModel, "uint32 1", "want a string"}},
		{"no vocabulary", metadata{keyModel: "no_vocab"}, 0, Options{},
			[]string{keyModel, `"no_vocab"`, "the file has no vocabulary"}},
		{"none", metadata{keyModel: "none"}, 0, Options{}, []string{"the file has no vocabulary"}},
		{"bert", metadata{keyModel: "bert"}, 0, Options{},
			[]string{`"bert"`, "WordPiece", `expected "llama", "gpt2" or "gemma4"`}},
		{"t5", metadata{keyModel: "t5"}, 0, Options{}, []string{`"t5"`, "Unigram"}},
		{"rwkv", metadata{keyModel: "rwkv"}, 0, Options{}, []string{`"rwkv"`, "RWKV"}},
		{"plamo2", metadata{keyModel: "plamo2"}, 0, Options{}, []string{`"plamo2"`}},
		{"unheard of", metadata{keyModel: "magic"}, 0, Options{}, []string{`"magic"`, "not known"}},

		{"pre missing", bytes.with(metadata{keyPre: nil}), 0, Options{},
			[]string{keyPre, "is missing", "llama-bpe", "qwen2"}},
		{"pre unknown", bytes.with(metadata{keyPre: "magic"}), 0, Options{},
			[]string{keyPre, `"magic"`, "not known", "llama-bpe", "qwen2"}},
		{"pre type", bytes.with(metadata{keyPre: true}), 0, Options{}, []string{keyPre, "bool true", "want a string"}},
		{"pre asked for", bytes, 0, Options{Pre: "magic"}, []string{`"magic"`, "not known"}},
		{"pre of pieces", pieces, 0, Options{Pre: "qwen2"}, []string{keyModel, "no pre-tokenizer", `"qwen2"`}},

		{"no tokens", bytes.with(metadata{keyTokens: nil}), 0, Options{},
			[]string{keyTokens, "is missing", "array of strings"}},
		{"empty list", bytes.with(metadata{keyTokens: []string{}}), 0, Options{}, []string{keyTokens, "has 0 tokens"}},
		{"tokens type", bytes.with(metadata{keyTokens: []int32{1}}), 0, Options{},
			[]string{keyTokens, "want an array of strings"}},
		{"token twice", bytes.with(metadata{keyTokens: tokens(bytes, func(l []string) { l[9] = l[7] })}), 0, Options{},
			[]string{keyTokens, "twice, as 7 and as 9"}},
		{"types short", bytes.with(metadata{keyTypes: []int32{1, 1}}), 0, Options{},
			[]string{keyTypes, "has 2 values, expected", keyTokens}},
		{"types negative", bytes.with(metadata{keyTypes: types(bytes, func(l []int32) { l[3] = -1 })}), 0, Options{},
			[]string{keyTypes, "want an array of non-negative"}},
		{"type unknown", bytes.with(metadata{keyTypes: types(bytes, func(l []int32) { l[3] = 7 })}), 0, Options{},
			[]string{keyTypes, "is 7 for token 3", "0 to 6"}},
		{"byte token", pieces.with(metadata{keyTokens: tokens(pieces, func(l []string) { l[3] = "<0xZZ>" })}), 0,
			Options{}, []string{keyTokens, `"<0xZZ>"`, "byte token 3"}},
		{"rows", bytes, 77, Options{}, []string{keyTokens, "expected 77", "token_embd.weight"}},
		{"vocab_size", bytes.with(metadata{"general.architecture": "llama", "llama.vocab_size": uint32(7)}), 0,
			Options{},
			[]string{keyTokens, "expected 7", `"llama.vocab_size"`}},
		{"vocab_size type", bytes.with(metadata{"general.architecture": "llama", "llama.vocab_size": "7"}), 0,
			Options{}, []string{"llama.vocab_size", `string "7"`}},

		{"no scores", pieces.with(metadata{keyScores: nil}), 0, Options{}, []string{keyScores, "is missing"}},
		{"scores short", pieces.with(metadata{keyScores: []float32{1}}), 0, Options{},
			[]string{keyScores, "has 1 values"}},
		{"scores type", pieces.with(metadata{keyScores: []string{"a"}}), 0, Options{},
			[]string{keyScores, "want an array of float32"}},
		{"score NaN", pieces.with(metadata{keyScores: func() []float32 {
			l := slices.Clone(pieces[keyScores].([]float32))
			l[4] = float32(math.NaN())
			return l
		}()}), 0, Options{}, []string{keyScores, "NaN for token 4"}},

		{"no merges", bytes.with(metadata{keyMerges: nil}), 0, Options{}, []string{keyMerges, "is missing"}},
		{"merges type", bytes.with(metadata{keyMerges: uint32(1)}), 0, Options{},
			[]string{keyMerges, "want an array of strings"}},
		{"merge of one", bytes.with(metadata{keyMerges: []string{"a b", "ab"}}), 0, Options{},
			[]string{keyMerges, `"ab" as merge 1`, "two parts"}},
		{"merge empty", bytes.with(metadata{keyMerges: []string{""}}), 0, Options{}, []string{`"" as merge 0`}},
		{"merge of a space", bytes.with(metadata{keyMerges: []string{" "}}), 0, Options{}, []string{`" " as merge 0`}},
		{"merge without right", bytes.with(metadata{keyMerges: []string{"a "}}), 0, Options{},
			[]string{`"a " as merge 0`}},
		{"merge without left", bytes.with(metadata{keyMerges: []string{" a"}}), 0, Options{},
			[]string{`" a" as merge 0`}},

		{"BOS out of range", bytes.with(metadata{keyBOS: uint32(n)}), 0, Options{},
			[]string{keyBOS, "uint32", "expected an id of the"}},
		{"EOS out of range", bytes.with(metadata{keyEOS: uint64(1 << 40)}), 0, Options{},
			[]string{keyEOS, "uint64 1099511627776"}},
		{"EOT negative", bytes.with(metadata{keyEOT: int32(-2)}), 0, Options{}, []string{keyEOT, "int32 -2"}},
		{"EOM type", bytes.with(metadata{keyEOM: "x"}), 0, Options{}, []string{keyEOM, `string "x"`}},
		{"fill-in out of range", bytes.with(metadata{"tokenizer.ggml.fim_pad_token_id": uint32(99999)}), 0, Options{},
			[]string{"fim_pad_token_id", "99999"}},
		{"add BOS type", bytes.with(metadata{keyAddBOS: uint8(1)}), 0, Options{},
			[]string{keyAddBOS, "uint8 1", "want a bool"}},
		{"add EOS type", bytes.with(metadata{keyAddEOS: "no"}), 0, Options{}, []string{keyAddEOS, "want a bool"}},
		{"space prefix type", pieces.with(metadata{keySpacePrefix: "no"}), 0, Options{},
			[]string{keySpacePrefix, "want a bool"}},
		{"no BOS to add", bytes.with(metadata{keyAddBOS: true, keyBOS: nil}), 0, Options{},
			[]string{keyBOS, "is missing", keyAddBOS}},
		{"no BOS to add by default", byteBPE("llama-bpe").with(metadata{keyBOS: nil}), 0, Options{},
			[]string{keyBOS, "is missing"}},
		{"no EOS to add", bytes.with(metadata{keyAddEOS: true, keyEOS: uint32(math.MaxUint32)}), 0, Options{},
			[]string{keyEOS, keyAddEOS}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			f := c.file.file(t, c.rows)
			f.Path = "some.gguf"
			tok, err := New(f, c.o)
			if err == nil || tok != nil {
				t.Fatal("accepted")
			}
			for _, want := range append(c.want, "some.gguf") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// What is unusual but no fault.
func TestAccept(t *testing.T) {
	bytes, pieces := byteBPE("qwen2"), sentencePiece()
	n := len(bytes[keyTokens].([]string))
	tests := []struct {
		name string
		file metadata
		rows int
		o    Options
		text string
		want string // what the ids decode to
	}{
		{"rows", bytes, n, Options{}, "a b", "a b"},
		{"vocab_size", bytes.with(metadata{"general.architecture": "llama", "llama.vocab_size": uint64(n)}), 0,
			Options{}, "a b", "a b"},
		{"architecture alone", bytes.with(metadata{"general.architecture": "llama"}), 0, Options{}, "a b", "a b"},
		{"pre asked for", bytes.with(metadata{keyPre: "magic"}), 0, Options{Pre: "gpt-2"}, "a b", "a b"},
		{"no types", bytes.with(metadata{keyTypes: nil}), 0, Options{}, "a b<tool>", "a b<tool>"},
		{"types as uint32", bytes.with(metadata{keyTypes: make([]uint32, n)}), 0, Options{}, "a b", ""}, // all undefined: no text
		{"scores as int32", pieces.with(metadata{keyScores: make([]int32, len(pieces[keyTokens].([]string)))}), 0,
			Options{}, "the the", "the the"},
		{"no unknown token", pieces.with(metadata{keyUnknown: uint32(math.MaxUint32)}), 0, Options{}, "€", "€"},
		{"merges of what is no token", bytes.with(metadata{keyMerges: []string{"x yz", "q u", "a b", "ab ab"}}), 0,
			Options{}, "abab qu", "abab qu"},
		{"merge twice", bytes.with(metadata{keyMerges: []string{"t h", "h e", "t h"}}), 0, Options{}, "the", "the"},
		{"no merges", bytes.with(metadata{keyMerges: []string{}}), 0, Options{}, "the", "the"},
		{"empty token", metadata{keyModel: "gpt2", keyPre: "gpt-2", keyTokens: []string{"", "a", ""},
			keyMerges: []string{"a a"}}, 0, Options{}, "aab", "aa"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			tok, err := New(c.file.file(t, c.rows), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Decode(tok.Encode(c.text, EncodeOptions{}), DecodeOptions{}); got != c.want {
				t.Errorf("%q came back as %q, want %q", c.text, got, c.want)
			}
		})
	}
}
