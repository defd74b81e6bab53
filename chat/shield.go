package chat

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Noncharacters of Unicode, which no text has to hold: one of them marks what is shielded.
const firstMark, lastMark = '\uFDD0', '\uFDEF'

// Shield keeps what looks like a control token in a message from becoming one. Templates write control tokens as text,
// and once a conversation is written nothing tells the template's from a user's. So wherever a message holds the text
// of one of specials, a mark goes in after its first character, which no template takes notice of; Unshield takes it
// out again. mark is 0, and the messages are those given, where there is nothing to shield. A token of a single
// character cannot be shielded.
func Shield(messages []Message, specials []string) (shielded []Message, mark rune, err error) {
	m := newFinder(specials)
	var all strings.Builder
	found := false
	for _, message := range messages {
		all.WriteString(message.Content)
		all.WriteString(message.Role)
		found = found || m.find(message.Content) || m.find(message.Role)
	}
	if !found {
		return messages, 0, nil
	}
	for mark = firstMark; strings.ContainsRune(all.String(), mark); mark++ {
		if mark == lastMark {
			return nil, 0, errors.New("the messages hold all 32 noncharacters from U+FDD0 on: one must be free")
		}
	}
	for _, message := range messages {
		shielded = append(shielded, Message{m.insert(message.Role, mark), m.insert(message.Content, mark)})
	}
	return shielded, mark, nil
}

// Piece is a part of a conversation's text.
type Piece struct {
	Text    string
	Special bool // it is the text of a special token that the template wrote
}

// Unshield cuts what a template made of shielded messages into the special tokens and the text between them.
func Unshield(text string, mark rune, specials []string) []Piece {
	m := newFinder(specials)
	var pieces []Piece
	from := 0
	plain := func(to int) {
		if s := strings.ReplaceAll(text[from:to], string(mark), ""); s != "" {
			pieces = append(pieces, Piece{s, false})
		}
	}
	for i := 0; i < len(text); {
		n := m.longest(text[i:], 0)
		if n == 0 {
			i++
			continue
		}
		plain(i)
		pieces = append(pieces, Piece{text[i : i+n], true})
		i += n
		from = i
	}
	plain(len(text))
	return pieces
}

// finder finds texts by the byte that they begin with, the longest first.
type finder [256][]string

func newFinder(texts []string) *finder {
	f := new(finder)
	for _, s := range texts {
		if s != "" {
			f[s[0]] = append(f[s[0]], s)
		}
	}
	for i := range f {
		slices.SortFunc(f[i], func(a, b string) int { return len(b) - len(a) })
	}
	return f
}

// longest returns the length of the longest text of at least so many characters that s begins with, or 0.
func (f *finder) longest(s string, chars int) int {
	for _, text := range f[s[0]] {
		if strings.HasPrefix(s, text) && utf8.RuneCountInString(text) >= chars {
			return len(text)
		}
	}
	return 0
}

func (f *finder) find(s string) bool {
	for i := range len(s) {
		if f.longest(s[i:], 2) > 0 {
			return true
		}
	}
	return false
}

// insert puts the mark after the first character of every text that s holds, also of those within one another.
func (f *finder) insert(s string, mark rune) string {
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if i >= from && f.longest(s[i:], 2) > 0 {
			_, n := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[from : i+n])
			b.WriteRune(mark)
			from = i + n
		}
	}
	b.WriteString(s[from:])
	return b.String()
}
