package chat

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoted reads a string, with the escapes that Python has but \N. A backslash before anything else stays.
func (l *lexer) quoted(quote byte) {
	line := l.line
	var b strings.Builder
	s := l.src[l.pos:]
	i := 1
	for ; ; i++ {
		if i >= len(s) {
			l.fail("a string has no end")
		}
		if s[i] == quote {
			break
		}
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i += l.escape(&b, s[i+1:])
	}
	l.skip(i + 1)
	l.tokens = append(l.tokens, token{tokenString, b.String(), line})
}

var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\\': `\`, '\'': "'", '"': `"`,
	'\n': "",
}

// escape writes what the escape after a backslash stands for, and returns how many bytes it has.
func (l *lexer) escape(b *strings.Builder, s string) int {
	if text, ok := escapes[s[0]]; ok {
		b.WriteString(text)
		return 1
	}
	digits, base := 0, 16
	switch c := s[0]; {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case '0' <= c && c <= '7':
		n := 1
		for n < 3 && n < len(s) && '0' <= s[n] && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[:n], 8, 32)
		b.WriteRune(rune(v))
		return n
	default:
		b.WriteByte('\\')
		return 0
	}
	if len(s) <= digits {
		l.fail("the escape \\%c needs %d digits", s[0], digits)
	}
	v, err := strconv.ParseUint(s[1:1+digits], base, 32)
	if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		l.fail("\\%s is no character", s[:1+digits])
	}
	b.WriteRune(rune(v))
	return 1 + digits
}
