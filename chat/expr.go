package chat

import (
	"slices"
	"strconv"
	"strings"
)

// expr reads a condition: a value, or one of two.
func (p *parser) expr() expr {
	defer p.enter()()
	x := p.or()
	for p.isName("if") {
		line := p.next().line
		c := &condExpr{then: x, cond: p.or(), line: line}
		if p.name("else") {
			c.other = p.expr()
		}
		x = c
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.name("or") {
		x = &logicExpr{false, x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.name("and") {
		x = &logicExpr{true, x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	if p.name("not") {
		defer p.enter()()
		return &notExpr{p.not()}
	}
	return p.compare()
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expr {
	x := p.sum()
	var c *compareExpr
	for {
		t := p.peek()
		op := ""
		switch {
		case t.kind == tokenOp && slices.Contains(comparisons, t.text):
			op = t.text
			p.pos++
		case p.isName("in"):
			op = "in"
			p.pos++
		case p.isName("not") && p.at(1).kind == tokenName && p.at(1).text == "in":
			op = "not in"
			p.pos += 2
		}
		if op == "" {
			if c != nil {
				return c
			}
			return x
		}
		if c == nil {
			c = &compareExpr{first: x, line: t.line}
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
}

// binary reads operands with operators between them, the left ones first.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	x := operand()
	for {
		t := p.peek()
		if t.kind != tokenOp || !slices.Contains(ops, t.text) {
			return x
		}
		p.pos++
		x = &binaryExpr{t.text, x, operand(), t.line}
	}
}

func (p *parser) sum() expr     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.binary(p.product, "~") }
func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr {
	return p.binary(func() expr { return p.unary(true) }, "**")
}

// unary reads a sign, a value, what is taken of it, and filters and tests, which bind less than a sign.
func (p *parser) unary(filters bool) expr {
	var x expr
	t := p.peek()
	if p.isOp("-") || p.isOp("+") {
		defer p.enter()()
		p.pos++
		x = &signExpr{t.text == "-", p.unary(false), t.line}
	} else {
		x = p.postfix(p.primary())
	}
	for filters {
		switch {
		case p.op("|"):
			f := p.filterName()
			f.x = x
			x = p.postfix(f)
		case p.isName("is"):
			x = p.test(x)
		default:
			return x
		}
	}
	return x
}

// filterNames reads filters that have no value of their own.
func (p *parser) filterNames() []*filterExpr {
	var list []*filterExpr
	for p.op("|") {
		list = append(list, p.filterName())
	}
	return list
}

func (p *parser) filterName() *filterExpr {
	f := &filterExpr{line: p.peek().line, name: p.identifier()}
	if _, ok := filters[f.name]; !ok {
		p.pos--
		p.fail("the filter %q is not known", f.name)
	}
	if p.op("(") {
		f.args = p.arguments()
	}
	return f
}

// test reads what comes after a value: is [not] name [argument].
func (p *parser) test(x expr) expr {
	line := p.next().line
	e := &testExpr{x: x, not: p.name("not"), line: line}
	t := p.next()
	e.name = t.text
	if _, ok := tests[e.name]; !ok || t.kind != tokenName {
		p.pos--
		p.fail("the test %q is not known", t.text)
	}
	switch t := p.peek(); {
	case p.op("("):
		e.args = p.arguments()
	case t.kind == tokenName && !slices.Contains(keywords, t.text), t.kind == tokenString, t.kind == tokenInt,
		t.kind == tokenFloat, p.isOp("["), p.isOp("{"):
		e.args.pos = []expr{p.postfix(p.primary())}
	}
	return e
}

// postfix reads attributes, items and calls.
func (p *parser) postfix(x expr) expr {
	for {
		line := p.peek().line
		switch {
		case p.op("."):
			if t := p.peek(); t.kind == tokenInt {
				x = &itemExpr{x, p.integer(), line}
			} else if t.kind == tokenName {
				p.pos++
				x = &attrExpr{x, t.text, line}
			} else {
				p.fail("found %q, expected a name", t.text)
			}
		case p.op("["):
			x = p.subscript(x, line)
		case p.op("("):
			x = &callExpr{x, p.arguments(), line}
		default:
			return x
		}
	}
}

func (p *parser) subscript(x expr, line int) expr {
	var parts [3]expr
	n := 0
	for !p.isOp("]") {
		if p.op(":") {
			if n++; n > 2 {
				p.fail("a slice has more than three parts")
			}
			continue
		}
		if parts[n] != nil {
			p.fail("found %q, expected %q", p.peek().text, "]")
		}
		parts[n] = p.expr()
	}
	p.pos++
	if n > 0 {
		return &sliceExpr{x, parts, line}
	}
	if parts[0] == nil {
		p.fail("an item has no index")
	}
	return &itemExpr{x, parts[0], line}
}

// arguments reads what stands in the brackets of a call, up to the end.
func (p *parser) arguments() (a argExprs) {
	p.commas(")", func() {
		if p.isOp("*") || p.isOp("**") {
			p.fail("%s in a call is not supported", p.peek().text)
		}
		if p.peek().kind == tokenName && p.at(1).kind == tokenOp && p.at(1).text == "=" {
			a.names = append(a.names, p.identifier())
			p.pos++
			a.named = append(a.named, p.expr())
			return
		}
		if len(a.names) > 0 {
			p.fail("an argument without a name comes after one with a name")
		}
		a.pos = append(a.pos, p.expr())
	})
	return a
}

func (p *parser) integer() expr {
	t := p.next()
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil {
		p.pos--
		p.fail("the number %.40s is too large", t.text)
	}
	return &literal{n}
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

func (p *parser) primary() expr {
	t := p.peek()
	switch t.kind {
	case tokenInt:
		return p.integer()
	case tokenFloat:
		p.pos++
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.pos--
			p.fail("the number %.40s is too large", t.text)
		}
		return &literal{f}
	case tokenString:
		var text strings.Builder
		for p.peek().kind == tokenString {
			text.WriteString(p.next().text)
		}
		return &literal{text.String()}
	case tokenName:
		if v, ok := constants[t.text]; ok {
			p.pos++
			return &literal{v}
		}
		return &nameExpr{p.identifier(), t.line}
	}
	switch {
	case p.op("("):
		if p.op(")") {
			return &listExpr{tuple: true}
		}
		x := p.expr()
		if p.isOp(",") {
			x = p.tuple(x, p.expr)
		}
		p.wantOp(")")
		return x
	case p.op("["):
		l := &listExpr{}
		p.commas("]", func() { l.items = append(l.items, p.expr()) })
		return l
	case p.op("{"):
		d := &dictExpr{line: t.line}
		p.commas("}", func() {
			d.keys = append(d.keys, p.expr())
			p.wantOp(":")
			d.values = append(d.values, p.expr())
		})
		return d
	}
	p.fail("found %q, expected a value", t.text)
	return nil
}

// tuple reads what comes after the first value of several with commas between them, each by item.
func (p *parser) tuple(first expr, item func() expr) expr {
	l := &listExpr{items: []expr{first}, tuple: true}
	for p.op(",") {
		if p.isOp(")") || p.peek().kind == tokenEnd || p.isName("if") {
			break
		}
		l.items = append(l.items, item())
	}
	return l
}
