package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a pattern does with 's, 't, 're, 've, 'm, 'll and 'd.
type contraction uint8

const (
	contractNone   contraction = iota
	contractLower              // a piece of their own, in lower case
	contractBefore             // a piece of their own, in any case
	contractAfter              // the end of the word before them, in any case
)

// words is the family of patterns that tell words, numbers, punctuation and white space apart. Its fields are where the
// members of the family differ; see the patterns in presets.go.
type words struct {
	contract contraction
	anyLead  bool   // a word takes one character before it that is no letter, number or line end; else a space
	marks    bool   // marks are letters
	cased    bool   // a word ends where an ASCII capital follows a small letter
	digits   int    // how many a piece holds at most; 0: any number, and a space before them
	tail     string // what punctuation takes after it
	newlines bool   // white space up to the last line end in it is a piece
}

func (w words) split(s string, base int, ends []int) []int {
	for i := 0; i < len(s); {
		i = w.next(s, i)
		ends = append(ends, base+i)
	}
	return ends
}

// runeAt returns the rune at s[i:], its classes and its length; 0, 0, 0 at the end.
func runeAt(s string, i int) (rune, class, int) {
	if i >= len(s) {
		return 0, 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return rune(c), classTable[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return r, classOf(r), n
}

// next returns where the piece that begins at i ends.
func (w words) next(s string, i int) int {
	r, c, n := runeAt(s, i)
	if r == '\'' && (w.contract == contractLower || w.contract == contractBefore) {
		if end := contracted(s, i, w.contract == contractLower); end > i {
			return end
		}
	}
	letters := letter
	if w.marks {
		letters |= mark
	}
	c2 := class(0) // of what follows a character that may lead
	if r == ' ' || w.anyLead && c&(letter|number) == 0 && r != '\r' && r != '\n' {
		_, c2, _ = runeAt(s, i+n)
	}
	switch {
	case c&letters != 0:
		return w.word(s, i, letters)
	case c2&letters != 0:
		return w.word(s, i+n, letters)
	case c&number != 0:
		return w.number(s, i)
	case w.digits == 0 && r == ' ' && c2&number != 0:
		return w.number(s, i+1)
	}
	other := letters | number | space
	if r == ' ' && i+n < len(s) && c2&other == 0 {
		return w.punctuation(s, i+n, other)
	}
	if c&space == 0 {
		return w.punctuation(s, i, other)
	}
	return w.spaces(s, i)
}

// word returns the end of the word whose first letter is at i.
func (w words) word(s string, i int, letters class) int {
	if w.cased {
		i = casedWord(s, i)
	} else {
		i = skip(s, i, letters)
	}
	if w.contract == contractAfter && i < len(s) && s[i] == '\'' {
		return contracted(s, i, false)
	}
	return i
}

// skip returns the end of the run of the classes at i.
func skip(s string, i int, c class) int {
	for {
		_, got, n := runeAt(s, i)
		if got&c == 0 {
			return i
		}
		i += n
	}
}

// casedWord returns the end of letters that are not a to z and letters after them that are not A to Z: as many of the
// first as leave one of the second if that is possible, or else the first alone.
func casedWord(s string, i int) int {
	both := -1 // the end of the last letter that counts as either
	for {
		r, c, n := runeAt(s, i)
		if c&letter == 0 {
			break
		}
		if 'a' <= r && r <= 'z' {
			for {
				r, c, n := runeAt(s, i)
				if c&letter == 0 || 'A' <= r && r <= 'Z' {
					return i
				}
				i += n
			}
		}
		i += n
		if r >= utf8.RuneSelf {
			both = i
		}
	}
	if both >= 0 {
		return both
	}
	return i
}

// contracted returns the end of the contraction whose apostrophe is at i, or i if there is none.
func contracted(s string, i int, lowerOnly bool) int {
	fold := byte(0x20)
	if lowerOnly {
		fold = 0
	}
	if i+1 >= len(s) {
		return i
	}
	a := s[i+1] | fold
	switch a {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if i+2 >= len(s) {
		return i
	}
	b := s[i+2] | fold
	if (a == 'r' || a == 'v') && b == 'e' || a == 'l' && b == 'l' {
		return i + 3
	}
	return i
}

func (w words) number(s string, i int) int {
	for k := 0; w.digits == 0 || k < w.digits; k++ {
		_, c, n := runeAt(s, i)
		if c&number == 0 {
			break
		}
		i += n
	}
	return i
}

// punctuation returns the end of the run of what is none of the classes other, with its tail.
func (w words) punctuation(s string, i int, other class) int {
	for i < len(s) {
		_, c, n := runeAt(s, i)
		if c&other != 0 {
			break
		}
		i += n
	}
	for i < len(s) && strings.IndexByte(w.tail, s[i]) >= 0 {
		i++
	}
	return i
}

// spaces returns the end of the piece of white space at i: up to its last line end, or all but its last character if a
// word follows, or all.
func (w words) spaces(s string, i int) int {
	start, last, newline := i, i, 0
	for {
		r, c, n := runeAt(s, i)
		if c&space == 0 {
			break
		}
		last = i
		i += n
		if r == '\r' || r == '\n' {
			newline = i
		}
	}
	if w.newlines && newline > 0 {
		return newline
	}
	if i < len(s) && last > start {
		return last
	}
	return i
}

// runs are pieces of characters of a kind; what lies between them are pieces as well.
type runs struct {
	class class    // the kind: any of these classes
	set   *charSet // or in this set; never white space beyond ASCII
	least int      // characters a piece has at least, 1 if it is 0
	most  int      // and at most, 0 for no limit
	lead  bool     // a piece takes a white space character before it
}

func (p runs) has(r rune, c class) bool {
	if c&p.class != 0 || p.set == nil {
		return c&p.class != 0
	}
	if r < utf8.RuneSelf {
		return p.set.ascii[r]
	}
	return c&space == 0 && unicode.Is(p.set.table, r)
}

func (p runs) split(s string, base int, ends []int) []int {
	gap := 0 // where what matches nothing begins
	for i := 0; i < len(s); {
		start := i
		_, c, n := runeAt(s, i)
		if p.lead && c&space != 0 {
			i += n
		}
		count := 0
		for i < len(s) && (p.most == 0 || count < p.most) {
			r, c, n := runeAt(s, i)
			if !p.has(r, c) {
				break
			}
			i += n
			count++
		}
		if count < max(1, p.least) {
			i = start + n
			continue
		}
		if start > gap {
			ends = append(ends, base+start)
		}
		ends = append(ends, base+i)
		gap = i
	}
	if gap < len(s) {
		ends = append(ends, base+len(s))
	}
	return ends
}

// trailing makes the white space at the end a piece.
type trailing struct{}

func (trailing) split(s string, base int, ends []int) []int {
	i := len(strings.TrimRightFunc(s, unicode.IsSpace))
	if i > 0 {
		ends = append(ends, base+i)
	}
	if i < len(s) {
		ends = append(ends, base+len(s))
	}
	return ends
}

// lines makes runs of line feeds, and what lies between them, pieces.
type lines struct{}

func (lines) split(s string, base int, ends []int) []int {
	for i := 1; i < len(s); i++ {
		if (s[i] == '\n') != (s[i-1] == '\n') {
			ends = append(ends, base+i)
		}
	}
	if len(s) > 0 {
		ends = append(ends, base+len(s))
	}
	return ends
}

// charSet is a set of characters.
type charSet struct {
	ascii [utf8.RuneSelf]bool
	table *unicode.RangeTable
}

// newSet makes a set from characters and ranges of them, "a-z", in ascending order.
func newSet(text string) *charSet {
	var pairs []rune
	r := []rune(text)
	for i := 0; i < len(r); i++ {
		first := r[i]
		if i+2 < len(r) && r[i+1] == '-' {
			i += 2
		}
		pairs = append(pairs, first, r[i])
	}
	s := &charSet{table: newRanges(pairs...)}
	for c := range s.ascii {
		s.ascii[c] = unicode.Is(s.table, rune(c))
	}
	return s
}
