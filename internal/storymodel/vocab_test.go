package storymodel

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
	"cera/tokenizer"
)

func trained(t *testing.T, stories, size int) (*Vocabulary, *tokenizer.Tokenizer) {
	t.Helper()
	v, err := TrainVocabulary(tellAll(stories, func(i int) uint64 { return uint64(i) }), size)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := v.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return v, tok
}

func TestVocabulary(t *testing.T) {
	const size = 1024
	v, tok := trained(t, 2000, size)
	if len(v.Tokens) != size || len(v.Scores) != size || len(v.Types) != size {
		t.Fatalf("%d tokens, %d scores, %d types, expected %d", len(v.Tokens), len(v.Scores), len(v.Types), size)
	}
	for i, want := range []string{"<unk>", "<s>", "</s>", "<0x00>"} {
		if v.Tokens[i] != want {
			t.Errorf("token %d is %q, expected %q", i, v.Tokens[i], want)
		}
	}
	if v.Tokens[idPieces-1] != "<0xFF>" || v.Types[idPieces-1] != typeByte || v.Types[idPieces] != typeNormal {
		t.Errorf("tokens %d and %d are %q and %q", idPieces-1, idPieces, v.Tokens[idPieces-1], v.Tokens[idPieces])
	}
	seen := map[string]bool{}
	for i, token := range v.Tokens {
		if seen[token] {
			t.Errorf("token %q is there twice", token)
		}
		seen[token] = true
		if i > idPieces && v.Scores[i] >= v.Scores[i-1] {
			t.Errorf("token %d, %q: score %v is not below the %v before it", i, token, v.Scores[i], v.Scores[i-1])
		}
		if i >= idPieces && strings.Contains(token[1:], spaceMarker) {
			t.Errorf("token %q has a space marker inside", token)
		}
	}
	if tok.BOS() != idBOS || tok.EOS() != idEOS || !tok.AddsBOS() || tok.AddsEOS() {
		t.Errorf("BOS %d, EOS %d, adds %v and %v", tok.BOS(), tok.EOS(), tok.AddsBOS(), tok.AddsEOS())
	}
}

// The tokenizer cuts text into the very pieces that training had it in, and gives it back.
func TestVocabularyAgreesWithTokenizer(t *testing.T) {
	v, tok := trained(t, 500, 800)
	for seed := range uint64(300) {
		text := Story(1<<30 + seed)
		got := tok.Encode(text, tokenizer.EncodeOptions{AddSpecial: true})
		if want := append([]int32{idBOS}, segment(v, text)...); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the tokenizer has %v, expected %v, for %s", seed, got, want, text)
		}
		if back := tok.Decode(got, tokenizer.DecodeOptions{}); back != text {
			t.Fatalf("%q comes back as %q", text, back)
		}
		ids := EncodeStory(tok, text)
		if ids[0] != idBOS || ids[len(ids)-1] != idEOS || slices.Contains(ids, idUnknown) {
			t.Fatalf("a story is %v", ids)
		}
	}
	for _, text := range []string{"Zoë has 3 cats", "日本", "a\nb", "x^2"} { // bytes where no piece has the character
		if back := tok.Decode(tok.Encode(text, tokenizer.EncodeOptions{}), tokenizer.DecodeOptions{}); back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
}

// segment merges the words of a text as training did, one merge of the vocabulary after the other.
func segment(v *Vocabulary, text string) (ids []int32) {
	index := map[string]int32{}
	for i, token := range v.Tokens[idPieces:] {
		index[token] = int32(idPieces + i)
	}
	for w := range strings.SplitSeq(text, " ") {
		for _, part := range splitMarks(spaceMarker + w) {
			pieces := strings.Split(part, "")
			for _, token := range v.Tokens[idPieces:] {
				for i := 0; i+1 < len(pieces); i++ {
					if pieces[i]+pieces[i+1] == token {
						pieces = slices.Replace(pieces, i, i+2, token)
					}
				}
			}
			for _, p := range pieces {
				ids = append(ids, index[p])
			}
		}
	}
	return ids
}

func TestTrainVocabularyByHand(t *testing.T) {
	// Pairs: "▁a" 3, "ab" 5 (3 in ▁ab, 2 in ▁bab), "▁b" 2, "ba" 2. So "ab" first, then "▁ab", then "▁bab" by way of
	// "bab".
	v, err := TrainVocabulary([]string{"ab ab ab", "bab bab"}, idPieces+3+4)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ab", "▁ab", "bab", "▁bab", "a", "b", "▁"}
	if got := v.Tokens[idPieces:]; !slices.Equal(got, want) {
		t.Errorf("pieces %q, expected %q", got, want)
	}
	for _, tc := range []struct {
		name string
		size int
		want string
	}{
		{"too small", idPieces + 2, "alone are 262"},
		{"too large", idPieces + 20, "no more than 266 pieces"},
	} {
		if _, err := TrainVocabulary([]string{"ab ab ab", "bab bab"}, tc.size); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, expected one with %q", tc.name, err, tc.want)
		}
	}
}

func TestSplitMarks(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"▁tree", []string{"▁tree"}},
		{"▁tree.", []string{"▁tree", "."}},
		{`▁"Don't!"`, []string{`▁"`, "Don't", `!"`}},
		{`▁"`, []string{`▁"`}},
		{"▁", []string{"▁"}},
	} {
		if got := splitMarks(tc.in); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, expected %q", tc.in, got, tc.want)
		}
	}
}

func TestReadVocabulary(t *testing.T) {
	v, _ := trained(t, 200, 500)
	b, err := v.File()
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadVocabulary(f)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Tokens, v.Tokens) || !slices.Equal(back.Scores, v.Scores) ||
		!slices.Equal(back.Types, v.Types) {
		t.Error("the vocabulary read is not the one written")
	}
}
