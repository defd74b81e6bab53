package tokenizer

import (
	"strings"
	"testing"

	"cera/gguf"
)

// megabyte repeats a text to about 1 MB.
func megabyte(text string) string { return strings.Repeat(text, 1<<20/len(text)+1)[:1<<20] }

// benchTexts are the texts that encoding must not find hard.
var benchTexts = []struct{ name, text string }{
	{"english", megabyte(prose)},
	{"mixed", megabyte(prose +
		"naïve café №1234567 — 中文文本，日本語。 for (i=0; i<n; ++i) {\r\n\t\tx[i] += 0x1F;\r\n}\n\n\n😀👍🏽 Привет, мир! ")},
	{"random", randomText(1 << 20)},
	{"letter", megabyte("a")},
	{"spaces", megabyte(" ")},
	{"newlines", megabyte("\n")},
	{"digits", megabyte("7")},
	{"dashes", megabyte("-")},
	{"ideograph", megabyte("中")},
}

func BenchmarkNew(b *testing.B) {
	for _, path := range sharedVocabularies(b) {
		f, err := gguf.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(vocabularyName(path), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(f, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := byteBPE("qwen2").open(b)
	text := megabyte(prose)
	ids := tok.Encode(text, EncodeOptions{})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Decode(ids, DecodeOptions{})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, path := range sharedVocabularies(b) {
		tok := openVocabulary(b, path)
		for _, c := range benchTexts {
			b.Run(vocabularyName(path)+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(c.text)))
				for b.Loop() {
					tok.Encode(c.text, EncodeOptions{Parse: ParseAll})
				}
			})
		}
	}
}
