package tokenizer

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	bytes, pieces := byteBPE("qwen2").open(t), sentencePiece().open(t)
	noPrefix := sentencePiece().with(metadata{keySpacePrefix: false}).open(t)
	tests := []struct {
		name   string
		tok    *Tokenizer
		tokens []string
		o      DecodeOptions
		want   string
	}{
		{"nothing", bytes, nil, DecodeOptions{}, ""},
		{"bytes", bytes, []string{"Ġthe", "Ċ", "Ã", "©"}, DecodeOptions{}, " the\né"},
		{"half a character", bytes, []string{"Ã", "a"}, DecodeOptions{}, "\uFFFDa"},
		{"control hidden", bytes, []string{"<|begin|>", "a", "<|im_end|>"}, DecodeOptions{}, "a"},
		{"control shown", bytes, []string{"<|begin|>", "a", "<|im_end|>"}, DecodeOptions{ShowSpecial: true},
			"<|begin|>a<|im_end|>"},
		{"user-defined", bytes, []string{"<tool>", "a"}, DecodeOptions{}, "<tool>a"},
		{"unused", bytes, []string{"<unused>", "a"}, DecodeOptions{ShowSpecial: true}, "a"},
		{"leading space", pieces, []string{"▁the", "▁the"}, DecodeOptions{}, "the the"},
		{"one space alone", pieces, []string{"▁", "▁the"}, DecodeOptions{}, " the"},
		{"after BOS", pieces, []string{"<s>", "▁the"}, DecodeOptions{}, "the"},
		{"after a turn", pieces, []string{"▁the", "<|user|>", "▁the"}, DecodeOptions{}, "the<|user|>the"},
		{"continued", pieces, []string{"▁the", "▁the"}, DecodeOptions{Continues: true}, " the the"},
		{"no prefix", noPrefix, []string{"▁the", "▁the"}, DecodeOptions{}, " the the"},
		{"byte tokens", pieces, []string{"<0xE2>", "<0x82>", "<0xAC>", "▁the"}, DecodeOptions{}, "€ the"},
		{"byte tokens of no character", pieces, []string{"<0xE2>", "<0x82>"}, DecodeOptions{}, "\uFFFD\uFFFD"},
		{"unknown hidden", pieces, []string{"▁the", "<unk>"}, DecodeOptions{}, "the"},
		{"unknown shown", pieces, []string{"▁the", "<unk>"}, DecodeOptions{ShowSpecial: true}, "the<unk>"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			ids := ids(t, c.tok, c.tokens...)
			if got := c.tok.Decode(ids, c.o); got != c.want {
				t.Errorf("decoded to %q, want %q", got, c.want)
			}
			d := c.tok.NewDecoder(c.o)
			for range 2 { // Flush leaves it as new
				var b strings.Builder
				for _, id := range ids {
					b.WriteString(d.Next(id))
				}
				if got := b.String() + d.Flush(); got != c.want {
					t.Errorf("streamed %q, want %q", got, c.want)
				}
			}
		})
	}
	if got := bytes.Decode([]int32{-1, int32(bytes.Len())}, DecodeOptions{}); got != "\uFFFD\uFFFD" {
		t.Errorf("ids that do not exist decode to %q", got)
	}
	if got := string(pieces.AppendBytes([]byte("x"), ids(t, pieces, "<0xE2>", "▁the"),
		DecodeOptions{})); got != "x\xe2 the" {
		t.Errorf("bytes %q", got)
	}
	if bytes.Token(-1) != "" || bytes.Token(int32(bytes.Len())) != "" || bytes.Token(0) != "Ā" {
		t.Error("Token")
	}
}

// A Decoder gives out whole characters only, as soon as they are complete.
func TestDecoderHoldsBack(t *testing.T) {
	tok := byteBPE("qwen2").open(t)
	d := tok.NewDecoder(DecodeOptions{})
	for _, step := range []struct {
		c    byte
		want string
	}{{'a', "a"}, {0xF0, ""}, {0x9F, ""}, {0x98, ""}, {0x80, "😀"}, {0xE2, ""}, {0x82, ""}, {'b', "\uFFFD\uFFFDb"},
		{0x80, "\uFFFD"}, {0xC3, ""}} {
		if got := d.Next(tok.byteID[step.c]); got != step.want {
			t.Errorf("byte %#x: %q, want %q", step.c, got, step.want)
		}
	}
	if got := d.Flush(); got != "\uFFFD" {
		t.Errorf("flushed %q", got)
	}
	if got := d.Flush(); got != "" {
		t.Errorf("flushed %q again", got)
	}
}

// Any ids, streamed and at once.
func TestDecoderAgainstDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for name, v := range vocabularies() {
		tok := v.open(t)
		for i := range 300 {
			var ids []int32
			for range r.IntN(30) {
				ids = append(ids, int32(r.IntN(tok.Len()+2)-1))
			}
			o := DecodeOptions{ShowSpecial: i%2 == 0, Continues: i%3 == 0}
			want := tok.Decode(ids, o)
			if !utf8.ValidString(want) {
				t.Fatalf("%s: %v decodes to %q", name, ids, want)
			}
			d, got := tok.NewDecoder(o), ""
			for _, id := range ids {
				next := d.Next(id)
				if !utf8.ValidString(next) || len(d.wait) >= utf8.UTFMax {
					t.Fatalf("%s: %v: %q, %d bytes wait", name, ids, next, len(d.wait))
				}
				got += next
			}
			if got += d.Flush(); got != want {
				t.Fatalf("%s: %v:\n got %q\nwant %q", name, ids, got, want)
			}
		}
	}
}

// roundTrip encodes and decodes. Where a vocabulary has all bytes, the text comes back, but for what encoding cannot
// tell apart.
func roundTrip(t *testing.T, name string, tok *Tokenizer, text string) {
	t.Helper()
	want := text
	if tok.pre != nil {
		want = string([]rune(text)) // bytes that are not UTF-8
	}
	if tok.pre == nil || tok.pre.chars {
		want = strings.ReplaceAll(want, spaceMarker, " ")
	}
	for _, o := range []EncodeOptions{{}, {Parse: ParseAll}, {Parse: ParseNone}, {AddSpecial: true}} {
		ids := tok.Encode(text, o)
		for _, id := range ids {
			if !tok.valid(id) {
				t.Fatalf("%s: %q gave id %d", name, text, id)
			}
		}
		// Special tokens in the text come back only if they are shown; those that are added are hidden.
		got := string(tok.AppendBytes(nil, ids, DecodeOptions{ShowSpecial: o.Parse == ParseAll}))
		if got != want {
			t.Fatalf("%s, %+v: %q came back as %q by %v", name, o, text, got, ids)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for name, v := range vocabularies() {
		tok := v.open(t)
		for range 300 {
			text := randomFragments(r, 20)
			roundTrip(t, name, tok, text)
			b := []byte(text)
			b[r.IntN(len(b))] = byte(r.IntN(256))
			roundTrip(t, name, tok, string(b))
			roundTrip(t, name, tok, text[r.IntN(len(text)):])
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range fragments {
		f.Add("a " + s + s)
	}
	for _, s := range []string{"\xff", "a\xe2\x96", "\xe2\x96\x81", "\xf0\xe2\x96\x81a", "<|user|> <tool><|im_end|>",
		"\xed\xa0\x80", "\xc0\x80"} {
		f.Add(s)
	}
	toks := map[string]*Tokenizer{}
	for name, v := range vocabularies() {
		toks[name] = v.open(f)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, tok := range toks {
			roundTrip(t, name, tok, text)
		}
	})
}

// Several goroutines use one Tokenizer.
func TestConcurrent(t *testing.T) {
	tok := byteBPE("qwen2").open(t)
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			text := randomText(20_000)[k*100:]
			for range 5 {
				if got := tok.Decode(tok.Encode(text, EncodeOptions{}), DecodeOptions{}); got != text {
					t.Error("the text does not come back")
				}
			}
		})
	}
	wg.Wait()
}
