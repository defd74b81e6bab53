package grammar

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// runeRange is the code points lo to hi.
type runeRange struct{ lo, hi rune }

const (
	firstSurrogate = 0xD800 // these are in no UTF-8
	lastSurrogate  = 0xDFFF
)

// normalize returns the same code points in ascending ranges that neither touch nor have surrogates.
func normalize(set []runeRange) []runeRange {
	list := make([]runeRange, 0, len(set))
	for _, r := range set {
		if r.lo < firstSurrogate && r.hi > lastSurrogate {
			list = append(list, runeRange{r.lo, firstSurrogate - 1}, runeRange{lastSurrogate + 1, r.hi})
			continue
		}
		if r.lo >= firstSurrogate && r.lo <= lastSurrogate {
			r.lo = lastSurrogate + 1
		}
		if r.hi >= firstSurrogate && r.hi <= lastSurrogate {
			r.hi = firstSurrogate - 1
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b runeRange) int { return cmp.Compare(a.lo, b.lo) })
	out := list[:0]
	for _, r := range list {
		switch last := len(out) - 1; {
		case r.lo > r.hi:
		case last >= 0 && r.lo <= out[last].hi+1:
			out[last].hi = max(out[last].hi, r.hi)
		default:
			out = append(out, r)
		}
	}
	return out
}

// negate returns the code points that are not in a normalized set.
func negate(set []runeRange) []runeRange {
	out := make([]runeRange, 0, len(set)+1)
	next := rune(0)
	for _, r := range set {
		out = append(out, runeRange{next, r.lo - 1})
		next = r.hi + 1
	}
	return normalize(append(out, runeRange{next, utf8.MaxRune}))
}

// literal reads a string in quotes.
func (p *parser) literal() (*expr, error) {
	e := &expr{op: exprLiteral}
	for p.pos++; p.peek() != '"'; {
		at := p.pos
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		if r >= firstSurrogate && r <= lastSurrogate {
			return nil, p.errorAt(at, "found the surrogate U+%04X, expected a character", r)
		}
		e.runes = append(e.runes, r)
	}
	p.pos++
	return e, nil
}

// class reads a class of code points in brackets.
func (p *parser) class() (*expr, error) {
	at := p.pos
	p.pos++
	not := p.peek() == '^'
	if not {
		p.pos++
	}
	var set []runeRange
	for p.peek() != ']' {
		start := p.pos
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if rest := p.src[p.pos:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.pos++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
			if hi < lo {
				return nil, p.errorAt(start, "the range %q to %q runs backwards", lo, hi)
			}
		}
		set = append(set, runeRange{lo, hi})
	}
	p.pos++
	if len(set) == 0 {
		return nil, p.errorAt(at, "the class has no characters")
	}
	set = normalize(set)
	if not {
		set = negate(set)
	}
	if len(set) == 0 {
		return nil, p.errorAt(at, "no character is in this class")
	}
	return &expr{op: exprClass, set: set}, nil
}

// escapes are the characters that \ may stand before to mean another, or themselves.
var escapes = map[byte]rune{
	'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '"': '"', '[': '[', ']': ']', '-': '-',
}

// char reads one character of a literal or a class.
func (p *parser) char() (rune, error) {
	if p.pos >= len(p.src) {
		return 0, p.expected("a character")
	}
	if p.src[p.pos] != '\\' {
		r, size := utf8.DecodeRuneInString(p.src[p.pos:])
		p.pos += size
		return r, nil
	}
	at := p.pos
	p.pos++
	c := p.peek()
	if r, ok := escapes[c]; ok {
		p.pos++
		return r, nil
	}
	kind := strings.IndexByte("xuU", c) // \xHH, \uHHHH, \UHHHHHHHH
	if kind < 0 {
		return 0, p.expected(`one of n t r \ " [ ] - x u U after \`)
	}
	p.pos++
	r := int64(0)
	for range 2 << kind {
		d := strings.IndexByte("0123456789abcdef", p.peek()|0x20)
		if p.peek() == 0 || d < 0 || p.peek() < '0' {
			return 0, p.expected("a hexadecimal digit")
		}
		r = 16*r + int64(d)
		p.pos++
	}
	if r > utf8.MaxRune {
		return 0, p.errorAt(at, "found %s, expected at most U+10FFFF", p.src[at:p.pos])
	}
	return rune(r), nil
}
