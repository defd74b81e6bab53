package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// DecodeOptions choose how ids are read. The zero value hides special tokens and decodes a text from its beginning.
type DecodeOptions struct {
	ShowSpecial bool // control and unknown tokens as the vocabulary spells them; else they give no text
	Continues   bool // the ids continue a text: a space at their beginning is text, not what Encode puts before one
}

// Decode returns the text of ids, valid UTF-8: each byte that is part of no character becomes U+FFFD, as does an id
// that does not exist. AppendBytes keeps all bytes.
func (t *Tokenizer) Decode(ids []int32, o DecodeOptions) string {
	return string([]rune(string(t.AppendBytes(nil, ids, o))))
}

// AppendBytes appends the bytes that ids stand for to dst.
func (t *Tokenizer) AppendBytes(dst []byte, ids []int32, o DecodeOptions) []byte {
	s := decodeState{t: t, o: o, atStart: !o.Continues}
	for _, id := range ids {
		dst = s.append(dst, id)
	}
	return dst
}

// A Decoder turns a stream of ids into text, in whole characters: bytes of a character that is not complete wait for
// the rest of it. What Next and Flush return, one after the other, is what Decode returns for all ids at once.
type Decoder struct {
	state decodeState
	wait  []byte // at most the beginning of one character
}

// NewDecoder returns a Decoder at the beginning of a stream.
func (t *Tokenizer) NewDecoder(o DecodeOptions) *Decoder {
	return &Decoder{state: decodeState{t: t, o: o, atStart: !o.Continues}}
}

// Next returns the text that id completes, often empty.
func (d *Decoder) Next(id int32) string {
	d.wait = d.state.append(d.wait, id)
	end := 0
	for end < len(d.wait) && utf8.FullRune(d.wait[end:]) {
		_, n := utf8.DecodeRune(d.wait[end:])
		end += n
	}
	text := string([]rune(string(d.wait[:end])))
	d.wait = append(d.wait[:0], d.wait[end:]...)
	return text
}

// Flush ends the stream: each byte that still waits for the rest of its character becomes U+FFFD. The Decoder is then
// at the beginning of a new stream.
func (d *Decoder) Flush() string {
	text := string([]rune(string(d.wait)))
	d.wait = d.wait[:0]
	d.state.atStart = !d.state.o.Continues
	return text
}

// decodeState is how far decoding has come.
type decodeState struct {
	t       *Tokenizer
	o       DecodeOptions
	atStart bool // the next text begins with the space that Encode puts there
}

// append appends the bytes of one token.
func (s *decodeState) append(dst []byte, id int32) []byte {
	t := s.t
	if !t.valid(id) {
		return append(dst, string(utf8.RuneError)...)
	}
	token, a := t.tokens[id], t.attrs[id]
	if a&(control|unknown|userDefined) != 0 {
		s.atStart = true // Encode puts a space before what follows
		if a&(control|unknown) != 0 && !s.o.ShowSpecial {
			return dst
		}
		return append(dst, token...)
	}
	first := s.atStart && t.spacePrefix
	s.atStart = false
	switch {
	case a&byteToken != 0:
		c, _ := parseByteToken(token)
		return append(dst, c)
	case a&normal == 0: // unused and undefined ones
		return dst
	case t.pre == nil || t.pre.chars:
		if first {
			token = strings.TrimPrefix(token, spaceMarker)
		}
		return append(dst, strings.ReplaceAll(token, spaceMarker, " ")...)
	}
	for _, r := range token {
		if c, ok := runeByte(r); ok {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
