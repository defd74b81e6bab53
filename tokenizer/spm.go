package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cera/gguf"
)

// spaceMarker is how SentencePiece spells a space: U+2581.
const spaceMarker = "▁"

// spm is SentencePiece's BPE: any two neighbours merge that make a token, the highest score first.
type spm struct {
	t     *Tokenizer
	rank  []int32 // by id: the place of the token's score among all, the highest first
	most  int     // bytes of the longest token
	glued glue
}

func newSPM(f *gguf.File, t *Tokenizer) (*spm, error) {
	scores, err := readScores(f, len(t.tokens))
	if err != nil {
		return nil, err
	}
	order := slices.Clone(scores)
	slices.SortFunc(order, func(a, b float32) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	order = slices.Compact(order)
	s := &spm{t: t, rank: make([]int32, len(scores))}
	for id, x := range scores {
		place, _ := slices.BinarySearchFunc(order, x, func(have, want float32) int {
			switch {
			case have > want:
				return -1
			case have < want:
				return 1
			}
			return 0
		})
		s.rank[id] = int32(place)
	}
	for _, token := range t.tokens {
		s.most = max(s.most, len(token))
		s.glued.learn(token)
	}
	for c := range 256 {
		t.byteID[c] = byteTokenID(t, byte(c))
		if id, ok := t.vocab[string([]byte{byte(c)})]; ok && t.byteID[c] == None {
			t.byteID[c] = id
		}
	}
	return s, nil
}

// byteTokenID returns the id of <0xNN>, or None.
func byteTokenID(t *Tokenizer, c byte) int32 {
	const hex = "0123456789ABCDEF"
	if id, ok := t.vocab["<0x"+string([]byte{hex[c>>4], hex[c&15]})+">"]; ok {
		return id
	}
	return None
}

func (s *spm) pair(_, _ int32, text string) (rank, merged int32) {
	if len(text) > s.most {
		return noMerge, 0
	}
	id, ok := s.t.vocab[text]
	if !ok {
		return noMerge, 0
	}
	return s.rank[id], id
}

func (s *spm) encode(x *scratch, text string) {
	s.glued.each(strings.ReplaceAll(text, " ", spaceMarker), func(word string) { x.word(s, word) })
}

func (s *spm) encodeWord(x *scratch, word string) {
	m := &x.merger
	m.reset(s, word)
	for i := range word { // a byte that is not UTF-8 is a symbol of its own
		m.add(i, None)
	}
	m.run()
	for i, id := range m.id {
		text := word[m.pos[i]:m.pos[i+1]]
		if id == None { // a character that has not merged
			if token, ok := s.t.vocab[text]; ok {
				id = token
			}
		}
		if id != None {
			x.out = append(x.out, id)
		} else {
			x.bytes(s.t, text)
		}
	}
}

// glue knows before which space markers text can be cut without changing how it merges: those after a character that no
// token has before a space marker.
type glue map[rune]struct{}

// learn takes in a token.
func (g *glue) learn(token string) {
	for i := 1; i < len(token); i++ {
		if strings.HasPrefix(token[i:], spaceMarker) {
			if *g == nil {
				*g = glue{}
			}
			r, _ := utf8.DecodeLastRuneInString(token[:i])
			(*g)[r] = struct{}{}
		}
	}
}

// each calls word for each part of text.
func (g glue) each(text string, word func(string)) {
	start := 0
	for i := 0; ; {
		k := strings.Index(text[i:], spaceMarker)
		if k < 0 {
			break
		}
		i += k
		if i > start {
			if r, _ := utf8.DecodeLastRuneInString(text[:i]); !g.has(r) {
				word(text[start:i])
				start = i
			}
		}
		i += len(spaceMarker)
	}
	if start < len(text) {
		word(text[start:])
	}
}

func (g glue) has(r rune) bool {
	_, ok := g[r]
	return ok
}
