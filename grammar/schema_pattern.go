package grammar

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

// maxPatternDepth is how deep a pattern may be nested: its parentheses become those of the grammar.
const maxPatternDepth = maxDepth / 2

// pattern returns an expression of the strings in which a regular expression matches somewhere, as JSON schema has it.
func (c *converter) pattern(v *value) (string, error) {
	re, err := syntax.Parse(javaScriptEscapes(v.text), syntax.Perl)
	if err != nil {
		return "", schemaError(v.ptr, "%v", err)
	}
	p := patternWriter{c: c, v: v}
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	alts := []*syntax.Regexp{re}
	if re.Op == syntax.OpAlternate {
		alts = re.Sub
	}
	var list []string
	for _, alt := range alts {
		expr, err := p.whole(alt)
		if err != nil {
			return "", err
		}
		list = append(list, expr)
	}
	return `"\"" ` + "(" + strings.Join(list, " | ") + `) "\""`, nil
}

// javaScriptEscapes rewrites \uHHHH, which Go spells \x{HHHH}.
func javaScriptEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if s[i+1] == 'u' && i+6 <= len(s) && strings.Trim(s[i+2:i+6], "0123456789abcdefABCDEF") == "" {
			b.WriteString(`\x{` + s[i+2:i+6] + `}`)
			i += 5
			continue
		}
		b.WriteString(s[i : i+2])
		i++
	}
	return b.String()
}

type patternWriter struct {
	c *converter
	v *value // the pattern, for errors
}

// whole writes an alternative of the pattern that may begin with ^ and end with $. Where it does not, anything may
// stand before or after it.
func (p *patternWriter) whole(re *syntax.Regexp) (string, error) {
	subs := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	before := p.c.shared("char") + "* "
	if len(subs) > 0 && subs[0].Op == syntax.OpBeginText {
		before, subs = "", subs[1:]
	}
	body, err := p.toEnd(subs, 0)
	return before + body, err
}

// toEnd writes what the pattern ends with. The parser of regular expressions moves a common beginning of alternatives
// in front of them, so that $ is found at the end of the last item's alternatives as well.
func (p *patternWriter) toEnd(subs []*syntax.Regexp, depth int) (string, error) {
	n := len(subs) - 1
	if n >= 0 && subs[n].Op == syntax.OpEndText {
		return p.sequence(subs[:n], depth)
	}
	if n < 0 || subs[n].Op != syntax.OpAlternate && subs[n].Op != syntax.OpCapture || depth > maxPatternDepth {
		body, err := p.sequence(subs, depth)
		return body + " " + p.c.shared("char") + "*", err
	}
	body, err := p.sequence(subs[:n], depth)
	if err != nil {
		return "", err
	}
	alts := make([]string, len(subs[n].Sub))
	for i, alt := range subs[n].Sub {
		items := []*syntax.Regexp{alt}
		if alt.Op == syntax.OpConcat {
			items = alt.Sub
		}
		if alts[i], err = p.toEnd(items, depth+1); err != nil {
			return "", err
		}
	}
	return body + " (" + strings.Join(alts, " | ") + ")", nil
}

func (p *patternWriter) sequence(subs []*syntax.Regexp, depth int) (string, error) {
	parts := make([]string, len(subs))
	for i, sub := range subs {
		var err error
		if parts[i], err = p.expr(sub, depth); err != nil {
			return "", err
		}
	}
	if len(parts) == 0 {
		return `""`, nil
	}
	return strings.Join(parts, " "), nil
}

func (p *patternWriter) expr(re *syntax.Regexp, depth int) (string, error) {
	if depth > maxPatternDepth {
		return "", schemaError(p.v.ptr, "the pattern is nested more than %d deep", maxPatternDepth)
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return `""`, nil
	case syntax.OpLiteral:
		parts := make([]string, len(re.Rune))
		for i, r := range re.Rune {
			set := []runeRange{{r, r}}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					set = append(set, runeRange{f, f})
				}
			}
			parts[i] = p.set(normalize(set))
		}
		return strings.Join(parts, " "), nil
	case syntax.OpCharClass:
		var set []runeRange
		for i := 0; i < len(re.Rune); i += 2 {
			set = append(set, runeRange{re.Rune[i], re.Rune[i+1]})
		}
		if set = normalize(set); len(set) == 0 {
			return "", schemaError(p.v.ptr, "no character is in the class %s", re)
		}
		return p.set(set), nil
	case syntax.OpAnyChar:
		return p.set(normalize([]runeRange{{0, unicode.MaxRune}})), nil
	case syntax.OpAnyCharNotNL:
		return p.set(negate([]runeRange{{'\n', '\n'}})), nil
	case syntax.OpCapture:
		return p.expr(re.Sub[0], depth)
	case syntax.OpConcat:
		return p.sequence(re.Sub, depth)
	case syntax.OpAlternate:
		alts := make([]string, len(re.Sub))
		for i, sub := range re.Sub {
			var err error
			if alts[i], err = p.expr(sub, depth+1); err != nil {
				return "", err
			}
		}
		return "(" + strings.Join(alts, " | ") + ")", nil
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		body, err := p.expr(re.Sub[0], depth+1)
		if err != nil {
			return "", err
		}
		least, most := re.Min, ""
		switch re.Op {
		case syntax.OpStar:
			least = 0
		case syntax.OpPlus:
			least = 1
		case syntax.OpQuest:
			least, most = 0, "1"
		default:
			if re.Max >= 0 {
				most = strconv.Itoa(re.Max)
			}
		}
		return fmt.Sprintf("(%s){%d,%s}", body, least, most), nil
	}
	return "", schemaError(p.v.ptr,
		"%s is not supported there: only ^ at the beginning and $ at the end of the pattern or its alternatives", re)
}

// set writes one character of a normalized set, as it is spelled within a JSON string.
func (p *patternWriter) set(set []runeRange) string {
	var alts []string
	var plain strings.Builder
	for _, r := range set {
		for lo := r.lo; lo <= r.hi; {
			hi := lo
			if special(lo) {
				alts = append(alts, quoteGBNF(escapeJSON(lo)))
			} else {
				for hi < r.hi && !special(hi+1) {
					if hi < '\\' && r.hi > '\\' || hi < 0x80 {
						hi++
						continue
					}
					hi = r.hi
				}
				plain.WriteString(escapeGBNF(lo))
				if hi > lo {
					plain.WriteString("-" + escapeGBNF(hi))
				}
			}
			lo = hi + 1
		}
	}
	if plain.Len() > 0 {
		alts = append(alts, "["+plain.String()+"]")
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return "(" + strings.Join(alts, " | ") + ")"
}

// special reports whether a character is not written as it is within a JSON string.
func special(r rune) bool { return r < 0x20 || r == '"' || r == '\\' }
