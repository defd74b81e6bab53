package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a grammar's text. Counts in repetitions are counted at run time, and cost nothing.
const (
	maxSource = 2 << 20 // bytes
	maxDepth  = 200     // parentheses within parentheses
	maxRepeat = 1 << 20 // of {m,n}
	maxItems  = 1 << 18 // literals, classes, names, groups and repetitions
)

// A SyntaxError says where a grammar is wrong.
type SyntaxError struct {
	Line, Column int // of a code point, from 1 on
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("grammar: line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

type exprOp uint8

const (
	exprLiteral exprOp = iota // runes, one after the other
	exprClass                 // one code point of set
	exprRule                  // another rule
	exprSeq                   // all of sub
	exprAlt                   // one of sub
	exprRepeat                // sub[0], min to max times
)

// expr is what a rule stands for.
type expr struct {
	op       exprOp
	runes    []rune
	set      []runeRange
	rule     int
	sub      []*expr
	min, max int // max < 0 is no limit
}

// ruleDef is a rule of the text.
type ruleDef struct {
	name string
	at   int // offset of its definition, or of its first use as long as it has none
	body *expr
}

type parser struct {
	src   string
	pos   int
	depth int
	items int
	rules []ruleDef
	index map[string]int // by name
}

// parseRules parses a whole text. Rules are in the order in which they are first named.
func parseRules(src string) (*parser, error) {
	p := &parser{src: src, index: map[string]int{}}
	if len(src) > maxSource {
		return nil, p.errorAt(0, "the grammar has %d bytes, expected at most %d", len(src), maxSource)
	}
	for i, r := range src {
		if r == utf8.RuneError && !strings.HasPrefix(src[i:], "\uFFFD") {
			return nil, p.errorAt(i, "found byte 0x%02x, expected UTF-8", src[i])
		}
		if r == 0 {
			return nil, p.errorAt(i, "found a zero byte, expected text")
		}
	}
	p.space(true)
	for p.pos < len(src) {
		if err := p.definition(); err != nil {
			return nil, err
		}
	}
	for _, r := range p.rules {
		if r.body == nil {
			return nil, p.errorAt(r.at, "there is no rule %q", r.name)
		}
	}
	return p, nil
}

func (p *parser) errorAt(at int, format string, args ...any) error {
	before := p.src[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[line:]) + 1,
		Msg:    fmt.Sprintf(format, args...),
	}
}

// expected returns an error about what stands at the present place.
func (p *parser) expected(what string) error {
	if p.pos >= len(p.src) {
		return p.errorAt(len(p.src), "the text ends, expected %s", what)
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return p.errorAt(p.pos, "found %q, expected %s", r, what)
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// space skips blanks and comments, and line ends as well where the rule goes on.
func (p *parser) space(lines bool) {
	for {
		switch c := p.peek(); {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.pos++
		case c == '#':
			for c := p.peek(); c != 0 && c != '\n' && c != '\r'; c = p.peek() {
				p.pos++
			}
		default:
			return
		}
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// name reads a rule's name and returns its index.
func (p *parser) name() (rule, at int, err error) {
	at = p.pos
	for isNameByte(p.peek()) {
		p.pos++
	}
	if p.pos == at {
		return 0, at, p.expected("the name of a rule")
	}
	name := p.src[at:p.pos]
	rule, ok := p.index[name]
	if !ok {
		rule = len(p.rules)
		p.index[name] = rule
		p.rules = append(p.rules, ruleDef{name: name, at: at})
	}
	return rule, at, nil
}

// definition reads name ::= alternatives, to the end of the line.
func (p *parser) definition() error {
	rule, at, err := p.name()
	if err != nil {
		return err
	}
	if r := p.rules[rule]; r.body != nil {
		return p.errorAt(at, "rule %q is defined twice, first in line %d", r.name,
			p.errorAt(r.at, "").(*SyntaxError).Line)
	}
	p.space(false)
	if !strings.HasPrefix(p.src[p.pos:], "::=") {
		return p.expected("::=")
	}
	p.pos += len("::=")
	p.space(true)
	body, err := p.alternatives(false)
	if err != nil {
		return err
	}
	if c := p.peek(); c != '\n' && c != '\r' && c != 0 {
		return p.expected("an item, | or the end of the line")
	}
	p.rules[rule].at, p.rules[rule].body = at, body
	p.space(true)
	if p.peek() == '|' {
		return p.expected("a rule: one goes on over the end of a line only after ::= or |, and within parentheses")
	}
	return nil
}

// alternatives reads sequences with | between them. Within parentheses a line end is a blank.
func (p *parser) alternatives(nested bool) (*expr, error) {
	alt := &expr{op: exprAlt}
	for {
		seq, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		alt.sub = append(alt.sub, seq)
		if p.peek() != '|' {
			break
		}
		p.pos++
		p.space(true)
	}
	if len(alt.sub) == 1 {
		return alt.sub[0], nil
	}
	return alt, nil
}

// sequence reads items with their repetitions, as far as there are any.
func (p *parser) sequence(nested bool) (*expr, error) {
	seq := &expr{op: exprSeq}
	for {
		at := p.pos
		if p.items++; p.items > maxItems {
			return nil, p.errorAt(at, "the grammar has more than %d items", maxItems)
		}
		var item *expr
		var err error
		switch c := p.peek(); {
		case c == '"':
			item, err = p.literal()
		case c == '[':
			item, err = p.class()
		case c == '.':
			p.pos++
			item = &expr{op: exprClass, set: normalize([]runeRange{{0, utf8.MaxRune}})}
		case c == '(':
			item, err = p.group()
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(seq.sub) == 0 {
				return nil, p.expected("an item before what repeats it")
			}
			last := &seq.sub[len(seq.sub)-1]
			item = &expr{op: exprRepeat, sub: []*expr{*last}}
			if item.min, item.max, err = p.repetition(); err == nil {
				*last = item
			}
			item = nil
		case c == '<' || c == '!':
			return nil, p.errorAt(at, "found %q: tokens cannot be named, only their text", c)
		case isNameByte(c):
			item = &expr{op: exprRule}
			item.rule, _, err = p.name()
		default:
			if len(seq.sub) == 1 {
				return seq.sub[0], nil
			}
			return seq, nil
		}
		if err != nil {
			return nil, err
		}
		if item != nil {
			seq.sub = append(seq.sub, item)
		}
		p.space(nested)
	}
}

func (p *parser) group() (*expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorAt(p.pos, "parentheses are nested more than %d deep", maxDepth)
	}
	p.pos++
	p.space(true)
	body, err := p.alternatives(true)
	if err != nil {
		return nil, err
	}
	if p.peek() != ')' {
		return nil, p.expected("an item, | or )")
	}
	p.pos++
	p.depth--
	return body, nil
}

// repetition reads *, +, ?, {m}, {m,} or {m,n}.
func (p *parser) repetition() (least, most int, err error) {
	c := p.peek()
	p.pos++
	switch c {
	case '*':
		return 0, -1, nil
	case '+':
		return 1, -1, nil
	case '?':
		return 0, 1, nil
	}
	at := p.pos
	p.space(false)
	if least, err = p.count(); err != nil {
		return 0, 0, err
	}
	most = least
	p.space(false)
	if p.peek() == ',' {
		p.pos++
		p.space(false)
		most = -1
		if p.peek() != '}' {
			if most, err = p.count(); err != nil {
				return 0, 0, err
			}
			if most < least {
				return 0, 0, p.errorAt(at, "found {%d,%d}, expected the second number not below the first", least, most)
			}
		}
		p.space(false)
	}
	if p.peek() != '}' {
		return 0, 0, p.expected("}")
	}
	p.pos++
	return least, most, nil
}

func (p *parser) count() (int, error) {
	at, n := p.pos, 0
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		n = min(10*n+int(c-'0'), maxRepeat+1)
		p.pos++
	}
	if p.pos == at {
		return 0, p.expected("a number")
	}
	if n > maxRepeat {
		return 0, p.errorAt(at, "found %s repetitions, expected at most %d", p.src[at:min(p.pos, at+30)], maxRepeat)
	}
	return n, nil
}
