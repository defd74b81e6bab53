package shaders

import (
	"fmt"
	"strconv"
	"strings"
)

// maxExprDepth bounds the nesting of an expression.
const maxExprDepth = 100

// condition evaluates the expression of an #if or #elif.
func (f *fileState) condition(directive, text string) (bool, error) {
	expanded, err := f.expandCondition(text)
	if err != nil {
		return false, err
	}
	tokens, err := exprTokens(expanded)
	if err == nil {
		p := exprParser{tokens: tokens}
		var v int64
		if v, err = p.binary(0, true); err == nil && p.pos < len(p.tokens) {
			err = fmt.Errorf("%q after the end", p.tokens[p.pos])
		}
		if err == nil {
			return v != 0, nil
		}
	}
	return false, f.errorf("%s %s: %v", directive, text, err)
}

// expandCondition replaces macros by their values, and defined(X) and defined X by 1 or 0.
func (f *fileState) expandCondition(text string) (string, error) {
	var out strings.Builder
	for len(text) > 0 {
		n := tokenLen(text)
		token := text[:n]
		text = text[n:]
		if token != "defined" {
			if err := f.expandToken(&out, token); err != nil {
				return "", err
			}
			continue
		}
		rest, paren := strings.CutPrefix(strings.TrimLeft(text, " \t"), "(")
		if paren {
			rest = strings.TrimLeft(rest, " \t")
		}
		name := ""
		if rest != "" {
			name = rest[:tokenLen(rest)]
		}
		if !isIdent(name) {
			return "", f.errorf("defined wants a name")
		}
		rest = rest[len(name):]
		if paren {
			var ok bool
			if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), ")"); !ok {
				return "", f.errorf("defined(%s without )", name)
			}
		}
		value := " 0 "
		if f.pp.macros[name] != nil {
			value = " 1 "
		}
		out.WriteString(value)
		text = rest
	}
	return out.String(), nil
}

// exprTokens splits an expression into names, numbers and operators.
func exprTokens(s string) ([]string, error) {
	var tokens []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return tokens, nil
		}
		n := tokenLen(s)
		if len(s) >= 2 {
			switch s[:2] {
			case "||", "&&", "==", "!=", "<=", ">=":
				n = 2
			}
		}
		tokens = append(tokens, s[:n])
		s = s[n:]
	}
}

// precedence of the binary operators, as in C.
var precedence = map[string]int{
	"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}

type exprParser struct {
	tokens []string
	pos    int
	depth  int
}

func (p *exprParser) next() string {
	if p.pos >= len(p.tokens) {
		return ""
	}
	p.pos++
	return p.tokens[p.pos-1]
}

// binary parses operators that bind more tightly than min. Where live is false the value does not matter, and a
// division by zero is no error.
func (p *exprParser) binary(min int, live bool) (int64, error) {
	x, err := p.unary(live)
	for err == nil && p.pos < len(p.tokens) {
		op := p.tokens[p.pos]
		prec := precedence[op]
		if prec <= min {
			break
		}
		p.pos++
		var y int64
		y, err = p.binary(prec, live && !(op == "||" && x != 0) && !(op == "&&" && x == 0))
		if err == nil {
			x, err = apply(op, x, y, live)
		}
	}
	return x, err
}

func (p *exprParser) unary(live bool) (int64, error) {
	if p.depth++; p.depth > maxExprDepth {
		return 0, fmt.Errorf("nested deeper than %d", maxExprDepth)
	}
	defer func() { p.depth-- }()
	switch t := p.next(); t {
	case "":
		return 0, fmt.Errorf("a value is missing at the end")
	case "!":
		x, err := p.unary(live)
		return truth(x == 0), err
	case "-":
		x, err := p.unary(live)
		return -x, err
	case "+":
		return p.unary(live)
	case "(":
		x, err := p.binary(0, live)
		if err == nil && p.next() != ")" {
			err = fmt.Errorf("( without )")
		}
		return x, err
	default:
		return operand(t)
	}
}

// operand returns the value of a number; a name that is no macro counts as 0, as in C.
func operand(t string) (int64, error) {
	if t == "defined" {
		return 0, fmt.Errorf("defined comes out of a macro")
	}
	if isIdent(t) {
		return 0, nil
	}
	if c := t[0]; c < '0' || c > '9' {
		return 0, fmt.Errorf("a value is missing before %q", t)
	}
	digits := strings.TrimRight(t, "ui")
	base := 10
	if h, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = h, 16
	}
	v, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", t)
	}
	return v, nil
}

func apply(op string, x, y int64, live bool) (int64, error) {
	switch op {
	case "||":
		return truth(x != 0 || y != 0), nil
	case "&&":
		return truth(x != 0 && y != 0), nil
	case "==":
		return truth(x == y), nil
	case "!=":
		return truth(x != y), nil
	case "<":
		return truth(x < y), nil
	case "<=":
		return truth(x <= y), nil
	case ">":
		return truth(x > y), nil
	case ">=":
		return truth(x >= y), nil
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	}
	if y == 0 {
		if !live {
			return 0, nil
		}
		return 0, fmt.Errorf("division by zero")
	}
	if op == "/" {
		return x / y, nil
	}
	return x % y, nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
