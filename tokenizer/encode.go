package tokenizer

import "strings"

// Parse says which tokens are recognised where their text stands in the input.
type Parse uint8

const (
	// ParseUserDefined recognises user-defined tokens; what looks like a control token is ordinary text.
	ParseUserDefined Parse = iota
	// ParseAll recognises control tokens as well, as chat templates need it. Not for text that is not trusted.
	ParseAll
	// ParseNone recognises none: all is ordinary text.
	ParseNone
)

// EncodeOptions choose how text is read. The zero value adds nothing and recognises user-defined tokens.
type EncodeOptions struct {
	Parse      Parse
	AddSpecial bool // put BOS before and EOS after the text, where the model wants it
	DoubleBOS  bool // with AddSpecial: even if the text has them already
}

// wordEncoder cuts text that holds no special token.
type wordEncoder interface {
	pairer
	// encode appends the ids of text to s.out.
	encode(s *scratch, text string)
	// encodeWord appends the ids of one piece to s.out.
	encodeWord(s *scratch, word string)
}

// scratch is what one call of Encode works with.
type scratch struct {
	out        []int32
	merger     merger
	ends, from []int  // where pieces end, after this stage and the one before
	spelled    []byte // a piece in the vocabulary's spelling

	// What earlier pieces became: places in ids.
	known map[string]idRange
	ids   []int32
}

type idRange struct{ start, end int32 }

// Pieces of at most rememberedLen bytes are remembered, rememberedMost of them at a time.
const (
	rememberedLen  = 32
	rememberedMost = 1 << 15
)

// maxPiece is the longest piece that merges as a whole; symbols have 32-bit numbers.
const maxPiece = 1 << 30

// Encode returns the ids of the tokens of text, which may be any bytes.
func (t *Tokenizer) Encode(text string, o EncodeOptions) []int32 {
	s := t.scratch.Get().(*scratch)
	defer t.scratch.Put(s)
	s.out = nil
	if o.AddSpecial && t.addBOS {
		s.out = append(s.out, t.bos)
	}
	var m *matcher
	if o.Parse != ParseNone {
		m = t.matchers[min(o.Parse, ParseAll)]
	}
	prefix := t.spacePrefix
	for _, part := range m.split(text) {
		if part.id != None {
			s.out = append(s.out, part.id)
			prefix = t.spacePrefix
			continue
		}
		plain := text[part.start:part.end]
		if prefix {
			plain = " " + plain
			prefix = false
		}
		t.words.encode(s, plain)
	}
	out := s.out
	s.out, s.merger.text = nil, "" // scratch memory must not hold on to the text
	if o.AddSpecial && t.addBOS && !o.DoubleBOS && len(out) > 1 && out[1] == t.bos {
		out = out[1:]
	}
	if o.AddSpecial && t.addEOS && (o.DoubleBOS || len(out) == 0 || out[len(out)-1] != t.eos) {
		out = append(out, t.eos)
	}
	return out
}

// word appends the ids of a piece, remembered or new.
func (s *scratch) word(e wordEncoder, word string) {
	if len(word) > rememberedLen {
		for len(word) > maxPiece {
			e.encodeWord(s, word[:maxPiece])
			word = word[maxPiece:]
		}
		e.encodeWord(s, word)
		return
	}
	if r, ok := s.known[word]; ok {
		s.out = append(s.out, s.ids[r.start:r.end]...)
		return
	}
	start := len(s.out)
	e.encodeWord(s, word)
	if s.known == nil || len(s.known) >= rememberedMost {
		s.known = map[string]idRange{}
		s.ids = s.ids[:0]
	}
	at := int32(len(s.ids))
	s.ids = append(s.ids, s.out[start:]...)
	s.known[strings.Clone(word)] = idRange{at, int32(len(s.ids))}
}

// bytes appends the byte tokens of text that is in no token, and the unknown token for bytes that have none.
func (s *scratch) bytes(t *Tokenizer, text string) {
	for _, c := range []byte(text) {
		id := t.byteID[c]
		if id == None {
			id = t.unk
		}
		if id != None {
			s.out = append(s.out, id)
		}
	}
}
