package chat

import (
	"fmt"
	"slices"
)

// maxNesting bounds brackets and blocks within one another, and with them the stack.
const maxNesting = 200

// parser turns tokens into statements.
type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int // for statements that are open
}

func (p *parser) fail(format string, args ...any) {
	panic(failure{p.peek().line, fmt.Sprintf(format, args...)})
}

// enter counts nesting; call the result to leave.
func (p *parser) enter() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail("more than %d brackets or blocks within one another", maxNesting)
	}
	return func() { p.depth-- }
}

func (p *parser) peek() token { return p.at(0) }

// at returns a token ahead, the last one beyond the end.
func (p *parser) at(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.peek()
	p.pos++
	return t
}

func (p *parser) isOp(op string) bool {
	t := p.peek()
	return t.kind == tokenOp && t.text == op
}

func (p *parser) isName(name string) bool {
	t := p.peek()
	return t.kind == tokenName && t.text == name
}

func (p *parser) op(op string) bool {
	if p.isOp(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) name(name string) bool {
	if p.isName(name) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) wantOp(op string) {
	if !p.op(op) {
		p.fail("found %q, expected %q", p.peek().text, op)
	}
}

// commas reads items with commas between them, and maybe one after the last, up to the operator that ends them.
func (p *parser) commas(end string, item func()) {
	for !p.op(end) {
		item()
		if !p.isOp(end) {
			p.wantOp(",")
		}
	}
}

func (p *parser) wantName(name string) {
	if !p.name(name) {
		p.fail("found %q, expected %q", p.peek().text, name)
	}
}

func (p *parser) end() {
	if p.peek().kind != tokenEnd {
		p.fail("found %q, expected the end of the tag", p.peek().text)
	}
	p.pos++
}

// keywords cannot be the names of variables.
var keywords = []string{"and", "or", "not", "in", "is", "if", "else", "elif", "for"}

func (p *parser) identifier() string {
	t := p.peek()
	if t.kind != tokenName || slices.Contains(keywords, t.text) {
		p.fail("found %q, expected a name", t.text)
	}
	p.pos++
	return t.text
}

// body reads statements up to one of the names that end it, which stays, or to the end of the template.
func (p *parser) body(ends ...string) []stmt {
	defer p.enter()()
	var list []stmt
	for {
		t := p.peek()
		switch t.kind {
		case tokenData:
			p.pos++
			list = append(list, &dataStmt{t.text})
		case tokenOutput:
			p.pos++
			list = append(list, &outputStmt{p.expr(), t.line})
			p.end()
		case tokenStatement:
			word := p.at(1)
			if word.kind == tokenName && (slices.Contains(ends, word.text) || len(ends) == 0 && isEnd(word.text)) {
				return list
			}
			p.pos++
			list = append(list, p.statement())
		default:
			if len(ends) > 0 {
				p.fail("found the end of the template, expected %s", ends[len(ends)-1])
			}
			return list
		}
	}
}

func isEnd(word string) bool {
	return word == "else" || word == "elif" || len(word) > 3 && word[:3] == "end"
}

// close reads {% name %}.
func (p *parser) close(name string) {
	p.pos++
	p.wantName(name)
	p.end()
}

// unsupported are statements of Jinja that are not here, and why.
var unsupported = map[string]string{
	"include": "a template may not read other files", "import": "a template may not read other files",
	"from": "a template may not read other files", "extends": "a template may not read other files",
	"block": "templates do not inherit here", "call": "it is not supported", "with": "it is not supported",
	"do": "it is not supported", "trans": "it is not supported", "autoescape": "nothing is escaped here",
}

func (p *parser) statement() stmt {
	t := p.next()
	if t.kind != tokenName {
		p.pos--
		p.fail("found %q, expected the name of a statement", t.text)
	}
	switch t.text {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement(t.line)
	case "set":
		return p.setStatement(t.line)
	case "macro":
		return p.macroStatement(t.line)
	case "filter":
		s := &filterStmt{line: t.line}
		s.filters = append(s.filters, p.filterName())
		s.filters = append(s.filters, p.filterNames()...)
		p.end()
		s.body = p.body("endfilter")
		p.close("endfilter")
		return s
	case "generation":
		p.end()
		s := &groupStmt{p.body("endgeneration")}
		p.close("endgeneration")
		return s
	case "break", "continue":
		if p.loops == 0 {
			p.pos--
			p.fail("%s stands outside of a loop", t.text)
		}
		p.end()
		return &jumpStmt{t.text == "break"}
	}
	p.pos--
	if why, ok := unsupported[t.text]; ok {
		p.fail("the statement %q: %s", t.text, why)
	}
	p.fail("unexpected statement %q", t.text)
	return nil
}

func (p *parser) ifStatement() stmt {
	s := &ifStmt{}
	for {
		s.conds = append(s.conds, p.expr())
		p.end()
		s.bodies = append(s.bodies, p.body("elif", "else", "endif"))
		p.pos++
		switch p.next().text {
		case "elif":
			continue
		case "else":
			p.end()
			s.other = p.body("endif")
			p.close("endif")
			return s
		}
		p.end()
		return s
	}
}

func (p *parser) forStatement(line int) stmt {
	s := &forStmt{line: line, target: p.target()}
	p.wantName("in")
	s.items = p.or()
	if p.isOp(",") {
		s.items = p.tuple(s.items, p.or)
	}
	if p.name("if") {
		s.cond = p.expr()
	}
	if p.isName("recursive") {
		p.fail("recursive loops are not supported")
	}
	p.end()
	p.loops++
	s.body = p.body("else", "endfor")
	p.loops--
	if p.at(1).text == "else" {
		p.close("else")
		s.other = p.body("endfor")
	}
	p.close("endfor")
	return s
}

// target reads what a loop or a set assigns to: names, with commas between them.
func (p *parser) target() []string {
	parens := p.op("(")
	names := []string{p.identifier()}
	for p.op(",") {
		names = append(names, p.identifier())
	}
	if parens {
		p.wantOp(")")
	}
	return names
}

func (p *parser) setStatement(line int) stmt {
	s := &setStmt{line: line}
	if p.at(1).kind == tokenOp && p.at(1).text == "." {
		s.object = p.identifier()
		p.pos++
	}
	s.target = p.target()
	if s.object != "" && len(s.target) > 1 {
		p.fail("an attribute is set together with names")
	}
	if p.op("=") {
		s.value = p.expr()
		if p.isOp(",") {
			s.value = p.tuple(s.value, p.expr)
		}
		p.end()
		return s
	}
	if len(s.target) > 1 {
		p.fail("found %q, expected %q", p.peek().text, "=")
	}
	s.filters = p.filterNames()
	p.end()
	s.body = p.body("endset")
	p.close("endset")
	return s
}

func (p *parser) macroStatement(line int) stmt {
	s := &macroStmt{line: line, name: p.identifier()}
	p.wantOp("(")
	p.commas(")", func() {
		s.params = append(s.params, p.identifier())
		var value expr
		if p.op("=") {
			value = p.expr()
		} else if n := len(s.defaults); n > 0 && s.defaults[n-1] != nil {
			p.fail("the parameter %q has no default, and one before it has", s.params[len(s.params)-1])
		}
		s.defaults = append(s.defaults, value)
	})
	p.end()
	loops := p.loops
	p.loops = 0
	s.body = p.body("endmacro")
	p.loops = loops
	p.close("endmacro")
	return s
}
