package shaders

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// macro is an object-like macro.
type macro struct {
	value  string
	caller bool   // set by the caller: the templates cannot change it
	at     origin // of its #define
	busy   bool   // being expanded: a macro does not expand inside itself
}

// expandLine replaces the macros in a line of text, leaving comments as they are.
func (f *fileState) expandLine(line string) (string, error) {
	var out strings.Builder
	for len(line) > 0 {
		if f.comment > 0 {
			n := f.skipComment(line)
			out.WriteString(line[:n])
			line = line[n:]
			continue
		}
		if strings.HasPrefix(line, "//") {
			out.WriteString(line)
			break
		}
		if strings.HasPrefix(line, "/*") {
			f.comment, f.commentLine = 1, f.line
			out.WriteString("/*")
			line = line[2:]
			continue
		}
		n := tokenLen(line)
		switch line[:n] {
		case "{":
			f.braces++
		case "}":
			f.braces--
		}
		if err := f.expandToken(&out, line[:n]); err != nil {
			return "", err
		}
		line = line[n:]
	}
	return out.String(), nil
}

// skipComment returns how much of line belongs to the open block comment. Block comments nest.
func (f *fileState) skipComment(line string) int {
	for i := 0; i+1 < len(line); i++ {
		switch line[i : i+2] {
		case "/*":
			f.comment++
			i++
		case "*/":
			f.comment--
			i++
			if f.comment == 0 {
				return i + 1
			}
		}
	}
	return len(line)
}

// expandToken writes a token, expanded if it is a macro's name.
func (f *fileState) expandToken(out *strings.Builder, token string) error {
	m := f.pp.macros[token]
	if m == nil || m.busy {
		out.WriteString(token)
	} else {
		m.busy = true
		defer func() { m.busy = false }()
		for rest := m.value; len(rest) > 0; {
			n := tokenLen(rest)
			if err := f.expandToken(out, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	// Checked on the way, since a few macros can double each other's text beyond any memory.
	if out.Len() > maxExpansion {
		return f.errorf("the line expands past %d bytes", maxExpansion)
	}
	return nil
}

// tokenLen returns the length of the first token of s: a name, a number with its suffix, or one other character.
func tokenLen(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case isIdentStart(r):
		for i, r := range s {
			if !isIdentPart(r) {
				return i
			}
		}
		return len(s)
	case '0' <= r && r <= '9':
		for i, r := range s {
			if !isIdentPart(r) && r != '.' {
				return i
			}
		}
		return len(s)
	}
	return size
}

func isIdentStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isIdentPart(r rune) bool { return isIdentStart(r) || unicode.IsDigit(r) }

func isIdent(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isIdentStart(r) && tokenLen(s) == len(s)
}

// stripComments cuts the comments from a directive; one that is not closed ends with the line.
func stripComments(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		if strings.HasPrefix(s, "//") {
			break
		}
		if strings.HasPrefix(s, "/*") {
			c := fileState{comment: 1}
			s = s[2:]
			s = s[c.skipComment(s):]
			out.WriteByte(' ')
			continue
		}
		out.WriteByte(s[0])
		s = s[1:]
	}
	return out.String()
}
