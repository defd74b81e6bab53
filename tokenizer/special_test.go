package tokenizer

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// ids looks tokens up by their spelling.
func ids(t *testing.T, tok *Tokenizer, tokens ...string) []int32 {
	t.Helper()
	var out []int32
	for _, s := range tokens {
		id, ok := tok.ID(s)
		if !ok {
			t.Fatalf("no token %q", s)
		}
		out = append(out, id)
	}
	return out
}

func TestSpecialTokens(t *testing.T) {
	bytes, pieces, chars := byteBPE("qwen2"), sentencePiece(), charBPE()
	tests := []struct {
		name string
		file metadata
		text string
		o    EncodeOptions
		want []string
	}{
		{"control as text", bytes, "<|im_end|>", EncodeOptions{}, []string{"<", "|", "i", "m", "_", "end", "|", ">"}},
		{"control", bytes, "a<|im_end|>b", EncodeOptions{Parse: ParseAll}, []string{"a", "<|im_end|>", "b"}},
		{"user-defined", bytes, "a<tool>b", EncodeOptions{}, []string{"a", "<tool>", "b"}},
		{"user-defined, all", bytes, "a<tool>b", EncodeOptions{Parse: ParseAll}, []string{"a", "<tool>", "b"}},
		{"none", bytes, "<tool>", EncodeOptions{Parse: ParseNone}, []string{"<", "to", "o", "l", ">"}},
		{"unused as text", bytes, "<unused>", EncodeOptions{Parse: ParseAll},
			[]string{"<", "u", "n", "u", "se", "d", ">"}},
		{"nothing", bytes, "", EncodeOptions{AddSpecial: true}, nil},
		{"BOS by key", bytes.with(metadata{keyAddBOS: true}), "a", EncodeOptions{AddSpecial: true},
			[]string{"<|begin|>", "a"}},
		{"BOS and EOS", bytes.with(metadata{keyAddBOS: true, keyAddEOS: true}), "a", EncodeOptions{AddSpecial: true},
			[]string{"<|begin|>", "a", "<|im_end|>"}},
		{"BOS of nothing", bytes.with(metadata{keyAddBOS: true}), "", EncodeOptions{AddSpecial: true},
			[]string{"<|begin|>"}},
		{"not asked for", bytes.with(metadata{keyAddBOS: true, keyAddEOS: true}), "a", EncodeOptions{}, []string{"a"}},
		{"no second BOS", bytes.with(metadata{keyAddBOS: true}), "<|begin|>a",
			EncodeOptions{AddSpecial: true, Parse: ParseAll}, []string{"<|begin|>", "a"}},
		{"no second EOS", bytes.with(metadata{keyAddEOS: true}), "a<|im_end|>",
			EncodeOptions{AddSpecial: true, Parse: ParseAll}, []string{"a", "<|im_end|>"}},
		{"second BOS and EOS", bytes.with(metadata{keyAddBOS: true, keyAddEOS: true}), "<|begin|>a<|im_end|>",
			EncodeOptions{AddSpecial: true, Parse: ParseAll, DoubleBOS: true},
			[]string{"<|begin|>", "<|begin|>", "a", "<|im_end|>", "<|im_end|>"}},
		{"BOS as text", bytes.with(metadata{keyAddBOS: true}), "<|begin|>", EncodeOptions{AddSpecial: true},
			[]string{"<|begin|>", "<", "|", "be", "gin", "|", ">"}},

		{"only merges", bytes, " quux", EncodeOptions{}, []string{"Ġ", "q", "u", "u", "x"}},
		{"whole pieces", byteBPE("llama3"), " quux", EncodeOptions{}, []string{"Ġquux"}},
		{"the first of equal merges", bytes.with(metadata{keyMerges: []string{"h e", "t h", "h e"}}), "the",
			EncodeOptions{}, []string{"t", "he"}},
		{"merges to what is no token", bytes.with(metadata{keyMerges: []string{"x y", "xy z"}}), "xyz", EncodeOptions{},
			[]string{"x", "y", "z"}},

		{"space prefix", pieces, "the", EncodeOptions{}, []string{"▁the"}},
		{"BOS by default", pieces, "the", EncodeOptions{AddSpecial: true}, []string{"<s>", "▁the"}},
		{"no BOS by key", pieces.with(metadata{keyAddBOS: false}), "the", EncodeOptions{AddSpecial: true},
			[]string{"▁the"}},
		{"prefix after special", pieces, "the<|user|>the", EncodeOptions{}, []string{"▁the", "<|user|>", "▁the"}},
		{"no prefix", pieces.with(metadata{keySpacePrefix: false}), "the<|user|>the the", EncodeOptions{},
			[]string{"t", "he", "<|user|>", "t", "he", "▁the"}},
		{"bytes", pieces, "€\n", EncodeOptions{}, []string{"▁", "<0xE2>", "<0x82>", "<0xAC>", "<0x0A>"}},
		{"bytes that are not UTF-8", pieces, "\xff\xe2\x82", EncodeOptions{},
			[]string{"▁", "<0xFF>", "<0xE2>", "<0x82>"}},
		{"characters", chars, "the the", EncodeOptions{}, []string{"t", "he", "▁the"}},
		{"characters, bytes", chars, "€", EncodeOptions{}, []string{"<0xE2>", "<0x82>", "<0xAC>"}},
		{"characters, line feeds", chars, "\n\n\n the\n", EncodeOptions{}, []string{"\n\n\n", "▁the", "<0x0A>"}},
		{"characters, BOS whatever the key", chars.with(metadata{keyAddBOS: false}), "the",
			EncodeOptions{AddSpecial: true}, []string{"<s>", "t", "he"}},

		{"phi-3 takes white space", pieces.with(metadata{"general.name": "Phi-3-mini"}),
			"<|user|>\n \tthe<|end|> <s> the", EncodeOptions{Parse: ParseAll},
			[]string{"<|user|>", "▁the", "<|end|>", "<s>", "▁▁", "t", "he"}},
		{"others do not", pieces, "<|user|>\nthe", EncodeOptions{}, []string{"<|user|>", "▁", "<0x0A>", "t", "he"}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			tok := c.file.open(t)
			got := tok.Encode(c.text, c.o)
			if want := ids(t, tok, c.want...); !slices.Equal(got, want) {
				var spelled []string
				for _, id := range got {
					spelled = append(spelled, tok.Token(id))
				}
				t.Errorf("got %q, want %q", spelled, c.want)
			}
		})
	}
}

// vocabularyOf is a byte-level vocabulary with these as control tokens.
func vocabularyOf(tokens ...string) metadata {
	m := byteBPE("qwen2")
	list, types := slices.Clone(m[keyTokens].([]string)), slices.Clone(m[keyTypes].([]int32))
	for _, token := range tokens {
		if !slices.Contains(list, token) {
			list, types = append(list, token), append(types, 3)
		}
	}
	return m.with(metadata{keyTokens: list, keyTypes: types})
}

func TestEndOfGeneration(t *testing.T) {
	index := func(m metadata, token string) uint32 { return uint32(slices.Index(m[keyTokens].([]string), token)) }
	harmony := vocabularyOf("<|end|>", "<|return|>", "<|call|>", "<|channel|>")
	gemma := vocabularyOf("</s>", "<|tool_response>", "<eos>", "<turn|>")
	tests := []struct {
		name      string
		file      metadata
		eos, eot  string
		eog       []string
		notEOG    []string
		isSpecial []string
		isText    []string
	}{
		{"by text", vocabularyOf("<|eot_id|>", "<|eom_id|>", "<|endoftext|>"), "<|im_end|>", "<|eot_id|>",
			[]string{"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>"}, []string{"<|begin|>", "<tool>", "a"},
			[]string{"<|begin|>", "<|eot_id|>"}, []string{"<tool>", "a"}},
		{"by key", byteBPE("qwen2").with(
			metadata{keyEOT: index(byteBPE(""), "[extra]"), keyEOM: index(byteBPE(""), "<tool>")}), "<|im_end|>",
			"[extra]",
			[]string{"[extra]", "<tool>", "<|im_end|>"}, nil, nil, nil},
		{"fill-in", vocabularyOf("<fim_prefix>", "<fim_pad>", "<|file_sep|>", "<reponame>"), "<|im_end|>", "<|im_end|>",
			[]string{"<fim_pad>", "<|file_sep|>", "<reponame>"}, []string{"<fim_prefix>"}, nil, nil},
		{"fill-in of the wrong type", vocabularyOf("<fim_prefix>").with(metadata{keyTypes: nil}), "<|im_end|>",
			"<|im_end|>", nil, []string{"<fim_prefix>"},
			[]string{"<fim_prefix>", "<|im_end|>"}, []string{"<|begin|>"}},
		{"fill-in by key", vocabularyOf("<fim_pad>").with(
			metadata{"tokenizer.ggml.fim_pad_token_id": index(byteBPE(""), "<tool>")}), "<|im_end|>", "<|im_end|>",
			[]string{"<tool>"}, []string{"<fim_pad>"}, nil, nil},
		{"calls", harmony, "<|im_end|>", "<|im_end|>", []string{"<|return|>", "<|call|>"},
			[]string{"<|end|>", "<|channel|>"}, []string{"<|return|>"},
			[]string{"<|end|>", "<|channel|>"}},
		{"tool response", gemma, "<|im_end|>", "<|im_end|>", []string{"<eos>", "<turn|>", "<|tool_response>"},
			[]string{"</s>"}, nil, []string{"</s>"}},
		{"wrong type", byteBPE("qwen2").with(metadata{keyTypes: func() []int32 {
			types := slices.Clone(byteBPE("")[keyTypes].([]int32))
			types[index(byteBPE(""), "<|im_end|>")] = 1
			return types
		}()}), "<|im_end|>", "<|im_end|>", []string{"<|im_end|>"}, nil, []string{"<|im_end|>"}, nil},
		{"none", byteBPE("qwen2").with(metadata{keyEOS: nil, keyBOS: int32(-1)}), "", "<|im_end|>",
			[]string{"<|im_end|>"}, []string{"[extra]"}, nil, nil},
		{"pieces by default", sentencePiece(), "</s>", "<|end|>", []string{"</s>", "<|end|>"}, []string{"<s>", "<unk>"},
			[]string{"<unk>", "<s>"}, nil},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			tok := c.file.open(t)
			if got := tok.Token(tok.EOS()); got != c.eos {
				t.Errorf("EOS is %q, want %q", got, c.eos)
			}
			if got := tok.Token(tok.EOT()); got != c.eot {
				t.Errorf("EOT is %q, want %q", got, c.eot)
			}
			for _, id := range ids(t, tok, c.eog...) {
				if !tok.IsEOG(id) || !slices.Contains(tok.EOG(), id) {
					t.Errorf("%q does not end generation", tok.Token(id))
				}
			}
			for _, id := range append(ids(t, tok, c.notEOG...), None, int32(tok.Len())) {
				if tok.IsEOG(id) {
					t.Errorf("%d %q ends generation", id, tok.Token(id))
				}
			}
			for _, id := range ids(t, tok, c.isSpecial...) {
				if !tok.IsSpecial(id) {
					t.Errorf("%q is not special", tok.Token(id))
				}
			}
			for _, id := range ids(t, tok, c.isText...) {
				if tok.IsSpecial(id) {
					t.Errorf("%q is special", tok.Token(id))
				}
			}
		})
	}
}

// Each token in turn, the longest first, is looked for in what text is left: the definition, and slow.
func TestMatcherAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 300 {
		tok := &Tokenizer{}
		seen := map[string]bool{}
		for range 1 + r.IntN(12) {
			var b strings.Builder
			for range 1 + r.IntN(5) {
				b.WriteByte("ab \n"[r.IntN(4)])
			}
			if s := b.String(); !seen[s] {
				seen[s] = true
				tok.tokens = append(tok.tokens, s)
				tok.attrs = append(tok.attrs, []attr{control, control | stripRight, normal}[r.IntN(3)])
			}
		}
		m := newMatcher(tok, func(a attr) bool { return a&control != 0 })
		var order []int32
		for id, a := range tok.attrs {
			if a&control != 0 {
				order = append(order, int32(id))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(len(tok.tokens[b]), len(tok.tokens[a]))
		})
		for range 30 {
			text := strings.Map(func(c rune) rune { return rune("aab b\n"[c%6]) }, strings.Repeat("x", r.IntN(40)))
			b := []byte(text)
			for i := range b {
				b[i] = "aabb \n"[r.IntN(6)]
			}
			text = string(b)
			var want []part
			if text != "" {
				want = []part{{0, len(text), None}}
			}
			for _, id := range order {
				token := tok.tokens[id]
				for i := 0; i < len(want); i++ {
					p := want[i]
					k := strings.Index(text[p.start:p.end], token)
					if p.id != None || k < 0 {
						continue
					}
					at := p.start + k
					after := at + len(token)
					for tok.attrs[id]&stripRight != 0 && after < p.end && isSpace(text[after]) {
						after++
					}
					split := []part{{p.start, at, None}, {at, after, id}, {after, p.end, None}}
					split = slices.DeleteFunc(split, func(p part) bool { return p.start == p.end })
					want = slices.Replace(want, i, i+1, split...)
				}
			}
			if got := m.split(text); !slices.Equal(got, want) {
				t.Fatalf("tokens %q, text %q:\n got %v\nwant %v", tok.tokens, text, got, want)
			}
		}
	}
}
