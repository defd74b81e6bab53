package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEOF       tokenKind = iota
	tokenData                // text between tags
	tokenOutput              // {{
	tokenStatement           // {%
	tokenEnd                 // }} or %}
	tokenName
	tokenString // text is what the string stands for
	tokenInt
	tokenFloat
	tokenOp
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lexer cuts a template into tokens. White space around tags is dealt with here.
type lexer struct {
	src       string
	pos       int
	line      int
	lineStart bool // what came before pos ended with a line end, as far as lstrip_blocks goes
	tokens    []token
}

func lex(src string) []token {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(src, "\n"), line: 1, lineStart: true}
	l.tokens = make([]token, 0, min(len(l.src)/4+2, maxTokens)) // few are shorter
	for l.pos < len(l.src) {
		l.next()
	}
	l.emit(tokenEOF, "end of the template")
	return l.tokens
}

func (l *lexer) fail(format string, args ...any) {
	panic(failure{l.line, fmt.Sprintf(format, args...)})
}

// maxTokens bounds the names, numbers, signs and texts of a template, and with them memory: a token takes more of it
// than its one or two bytes in the file. Templates that people write have about one in six bytes.
const maxTokens = 1 << 16

func (l *lexer) emit(k tokenKind, text string) {
	if len(l.tokens) == maxTokens {
		l.fail("more than %d names, numbers, signs and texts", maxTokens)
	}
	l.tokens = append(l.tokens, token{k, text, l.line})
}

// skip goes on by n bytes.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.src[l.pos:], prefix) }

// next reads text and the tag after it.
func (l *lexer) next() {
	start, at := l.pos, l.pos
	for ; at+1 < len(l.src); at++ {
		if l.src[at] == '{' && strings.IndexByte("{%#", l.src[at+1]) >= 0 {
			break
		}
	}
	if at+1 >= len(l.src) {
		l.emit(tokenData, l.src[start:])
		l.skip(len(l.src) - start)
		return
	}
	kind := l.src[at+1]
	sign := l.sign(at + 2)
	if text := l.trimmed(start, at, sign, kind != '{'); text != "" {
		l.emit(tokenData, text)
	}
	l.skip(at + 2 - start)
	if sign != 0 {
		l.skip(1)
	}
	switch kind {
	case '#':
		l.comment()
	case '{':
		l.emit(tokenOutput, "{{")
		l.expression("}}", false)
	default:
		if !l.raw() {
			l.emit(tokenStatement, "{%")
			l.expression("%}", true)
		}
	}
}

// sign returns the - or + at a place, or 0.
func (l *lexer) sign(at int) byte {
	if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
		return l.src[at]
	}
	return 0
}

// trimmed returns the text between two places as the tag after it wants it.
func (l *lexer) trimmed(start, end int, sign byte, block bool) string {
	text := l.src[start:end]
	switch {
	case sign == '-':
		return strings.TrimRightFunc(text, unicode.IsSpace)
	case sign == 0 && block:
		// lstrip_blocks: a tag that only white space stands before on its line takes it away.
		nl := strings.LastIndexByte(text, '\n') + 1
		if (nl > 0 || l.lineStart) && strings.TrimSpace(text[nl:]) == "" {
			return text[:nl]
		}
	}
	return text
}

// closed is called after a tag's end: a - takes all white space after it, and a block one line end, for trim_blocks.
func (l *lexer) closed(sign byte, block bool) {
	from := l.pos
	if sign == '-' {
		rest := l.src[l.pos:]
		l.skip(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
	} else if block && sign != '+' && l.has("\n") {
		l.skip(1)
	}
	l.lineStart = l.pos > from && l.src[l.pos-1] == '\n'
}

func (l *lexer) comment() {
	end := strings.Index(l.src[l.pos:], "#}")
	if end < 0 {
		l.fail("a comment has no end")
	}
	var sign byte
	if end > 0 {
		sign = l.sign(l.pos + end - 1)
	}
	l.skip(end + 2)
	l.closed(sign, true)
}

// raw reads {% raw %} with its text and its end, if it stands here.
func (l *lexer) raw() bool {
	sign, n, ok := tagNamed(l.src[l.pos:], "raw")
	if !ok {
		return false
	}
	l.skip(n)
	if sign == '-' {
		l.closed(sign, true)
	}
	for at := l.pos; ; {
		next := strings.Index(l.src[at:], "{%")
		if next < 0 {
			l.fail("raw has no endraw")
		}
		at += next
		open := l.sign(at + 2)
		from := at + 2
		if open != 0 {
			from++
		}
		if sign, n, ok := tagNamed(l.src[from:], "endraw"); ok {
			l.lineStart = false
			if text := l.trimmed(l.pos, at, open, true); text != "" {
				l.emit(tokenData, text)
			}
			l.skip(from + n - l.pos)
			l.closed(sign, true)
			return true
		}
		at += 2
	}
}

// tagNamed tells whether a tag with nothing but a name goes on here, its sign at the end and its length.
func tagNamed(s, name string) (sign byte, n int, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(s, unicode.IsSpace), name)
	if !ok {
		return 0, 0, false
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[0], rest[1:]
	}
	rest, ok = strings.CutPrefix(rest, "%}")
	return sign, len(s) - len(rest), ok
}

var twoByteOps = []string{"**", "//", "==", "!=", "<=", ">="}

// expression reads what stands in a tag up to its end.
func (l *lexer) expression(end string, block bool) {
	opened := l.line
	var open []byte // the brackets that are open
	for {
		rest := l.src[l.pos:]
		l.skip(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
		if l.pos == len(l.src) {
			l.line = opened
			l.fail("a tag has no end, expected %q", end)
		}
		if len(open) == 0 {
			sign := l.sign(l.pos)
			if sign == '+' && !block || sign != 0 && !strings.HasPrefix(l.src[l.pos+1:], end) {
				sign = 0
			}
			if sign != 0 || l.has(end) {
				l.emit(tokenEnd, end)
				l.skip(len(end))
				if sign != 0 {
					l.skip(1)
				}
				l.closed(sign, block)
				return
			}
		}
		open = l.symbol(open)
	}
}

// symbol reads one token of an expression.
func (l *lexer) symbol(open []byte) []byte {
	rest := l.src[l.pos:]
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c == '\'' || c == '"':
		l.quoted(byte(c))
		return open
	case c == '_' || unicode.IsLetter(c):
		n := strings.IndexFunc(rest, func(c rune) bool {
			return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		})
		if n < 0 {
			n = len(rest)
		}
		l.emit(tokenName, rest[:n])
		l.skip(n)
		return open
	case '0' <= c && c <= '9':
		l.number()
		return open
	}
	for _, op := range twoByteOps {
		if strings.HasPrefix(rest, op) {
			l.emit(tokenOp, op)
			l.skip(2)
			return open
		}
	}
	switch c {
	case '(':
		open = append(open, ')')
	case '[':
		open = append(open, ']')
	case '{':
		open = append(open, '}')
	case ')', ']', '}':
		if len(open) == 0 || open[len(open)-1] != byte(c) {
			l.fail("%q closes nothing", c)
		}
		open = open[:len(open)-1]
	case '+', '-', '*', '/', '%', '~', '<', '>', '=', '.', ':', ',', '|':
	default:
		l.fail("unexpected character %q", c)
	}
	l.emit(tokenOp, rest[:size])
	l.skip(size)
	return open
}

// number reads an integer or, unless it comes after a dot, a float.
func (l *lexer) number() {
	rest := l.src[l.pos:]
	digits := func(from int) int {
		for from < len(rest) && (rest[from] == '_' || '0' <= rest[from] && rest[from] <= '9') {
			from++
		}
		return from
	}
	n, kind := digits(0), tokenInt
	if last := l.tokens[len(l.tokens)-1]; last.kind != tokenOp || last.text != "." {
		if m := digits(n + 1); n < len(rest) && rest[n] == '.' && m > n+1 {
			n, kind = m, tokenFloat
		}
		if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
			from := n + 1
			if from < len(rest) && (rest[from] == '-' || rest[from] == '+') {
				from++
			}
			if m := digits(from); m > from {
				n, kind = m, tokenFloat
			}
		}
	}
	l.emit(kind, strings.ReplaceAll(rest[:n], "_", ""))
	l.skip(n)
}
