package grammar

import "slices"

type opcode uint8

const (
	opEnd   opcode = iota // of an alternative
	opClass               // one code point; arg is the first node of its bytes
	opRule                // arg is a rule
	opRep                 // arg is a rule, min to max times
)

// instr is one item of an alternative. An alternative is a stretch of instructions up to an opEnd.
type instr struct {
	op       opcode
	nullable bool // it may stand for nothing, in whole
	arg      int32
	min, max int32 // max < 0 is no limit
}

// rule is a rule of the text, or one made of an expression within another.
type rule struct {
	name string
	at   int     // offset in the text
	alts []int32 // where the alternatives begin
	// A rule that may stand for nothing is entered for what is not nothing; who enters it knows of the rest.
	nullable bool
}

// Grammar is a set of texts. Several goroutines may use it at a time.
type Grammar struct {
	code  []instr
	rules []rule
	root  int
	nodes []byteNode
	// Bytes that no class tells apart are one to the matcher.
	byteKind  [256]uint8
	byteKinds int

	auto automaton
}

// Parse reads a grammar in GBNF, whose rule root is the whole text. Errors are of the type SyntaxError.
func Parse(src string) (*Grammar, error) {
	p, err := parseRules(src)
	if err != nil {
		return nil, err
	}
	root, ok := p.index["root"]
	if !ok {
		return nil, p.errorAt(0, `there is no rule "root"`)
	}
	c := compiler{g: &Grammar{root: root}, bytes: newByteNodes()}
	for _, r := range p.rules {
		c.g.rules = append(c.g.rules, rule{name: r.name, at: r.at})
		c.todo = append(c.todo, r.body)
	}
	for i := 0; i < len(c.todo); i++ { // it grows
		c.rule(i, c.todo[i])
		c.todo[i] = nil
	}
	c.g.nodes = c.bytes.nodes
	c.g.findKinds()
	c.g.findNullable()
	if err := c.g.check(p); err != nil {
		return nil, err
	}
	c.g.auto.init(c.g)
	return c.g, nil
}

type compiler struct {
	g     *Grammar
	bytes *byteNodes
	todo  []*expr // of the rules
}

func (c *compiler) rule(i int, body *expr) {
	alts := []*expr{body}
	if body.op == exprAlt {
		alts = body.sub
	}
	for _, alt := range alts {
		c.g.rules[i].alts = append(c.g.rules[i].alts, int32(len(c.g.code)))
		c.item(i, alt)
		c.emit(instr{op: opEnd})
	}
}

func (c *compiler) emit(in instr) { c.g.code = append(c.g.code, in) }

// item emits an expression within rule i.
func (c *compiler) item(i int, e *expr) {
	switch e.op {
	case exprLiteral:
		for _, r := range e.runes {
			c.emit(instr{op: opClass, arg: c.bytes.class([]runeRange{{r, r}})})
		}
	case exprClass:
		c.emit(instr{op: opClass, arg: c.bytes.class(e.set)})
	case exprRule:
		c.emit(instr{op: opRule, arg: int32(e.rule)})
	case exprSeq:
		for _, sub := range e.sub {
			c.item(i, sub)
		}
	case exprAlt:
		c.emit(instr{op: opRule, arg: c.newRule(i, e)})
	case exprRepeat:
		if e.max == 0 {
			return
		}
		c.emit(instr{op: opRep, arg: c.newRule(i, e.sub[0]), min: int32(e.min), max: int32(e.max)})
	}
}

// newRule returns a rule for an expression within rule i.
func (c *compiler) newRule(i int, e *expr) int32 {
	if e.op == exprRule {
		return int32(e.rule)
	}
	c.g.rules = append(c.g.rules, rule{name: c.g.rules[i].name, at: c.g.rules[i].at})
	c.todo = append(c.todo, e)
	return int32(len(c.g.rules) - 1)
}

// findKinds numbers the kinds of bytes.
func (g *Grammar) findKinds() {
	var starts [257]bool
	for _, n := range g.nodes {
		for _, r := range n {
			starts[r.lo], starts[int(r.hi)+1] = true, true
		}
	}
	kind := 0
	for b := 1; b < 256; b++ {
		if starts[b] {
			kind++
		}
		g.byteKind[b] = uint8(kind)
	}
	g.byteKinds = kind + 1
}

// closure returns which rules have an alternative all of whose items hold. A class holds or does not, as it is said; a
// repetition that may be of nothing holds; other items hold if their rule does.
func (g *Grammar) closure(class bool) []bool {
	type use struct{ alt, next int32 } // next is the index of the same rule's next use
	var open []int32                   // by alternative, how many of its items are not known to hold
	var owner []int32                  // by alternative, the rule
	var uses []use
	first := make([]int32, len(g.rules)) // by rule, the index of a use plus one
	holds := make([]bool, len(g.rules))
	var todo []int32
	done := func(alt int32) {
		if r := owner[alt]; open[alt] == 0 && !holds[r] {
			holds[r] = true
			todo = append(todo, r)
		}
	}
	for r := range g.rules {
		for _, pos := range g.rules[r].alts {
			alt := int32(len(open))
			open, owner = append(open, 0), append(owner, int32(r))
			for in := &g.code[pos]; in.op != opEnd; in = &g.code[pos] {
				switch {
				case in.op == opClass && !class:
					open[alt]++
				case in.op == opRule || in.op == opRep && in.min > 0:
					open[alt]++
					uses = append(uses, use{alt, first[in.arg]})
					first[in.arg] = int32(len(uses))
				}
				pos++
			}
			done(alt)
		}
	}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for u := first[r]; u != 0; u = uses[u-1].next {
			open[uses[u-1].alt]--
			done(uses[u-1].alt)
		}
	}
	return holds
}

// findNullable finds what may stand for nothing. A repetition of what may stand for nothing may then be of nothing.
func (g *Grammar) findNullable() {
	for r, nullable := range g.closure(false) {
		g.rules[r].nullable = nullable
	}
	for i := range g.code {
		switch in := &g.code[i]; in.op {
		case opRule:
			in.nullable = g.rules[in.arg].nullable
		case opRep:
			if g.rules[in.arg].nullable {
				in.min = 0
			}
			in.nullable = in.min == 0
		}
	}
}

// check refuses rules that never end, and those that begin with themselves, which the matcher would follow forever.
func (g *Grammar) check(p *parser) error {
	ends := g.closure(true)
	if r := slices.Index(ends, false); r >= 0 {
		return g.loopError(p, g.endless(r, ends), "rule %q never ends:%s")
	}
	if loop := g.leftRecursion(); loop != nil {
		return g.loopError(p, loop, "rule %q begins with itself (left recursion):%s")
	}
	return nil
}

// loopError returns an error about rules that lead from one to the next and back.
func (g *Grammar) loopError(p *parser, loop []int, format string) error {
	names := ""
	for i, r := range append(loop, loop[0]) {
		switch name := g.rules[r].name; {
		case i == 0:
			names = " " + name
		case i == len(loop) || name != g.rules[loop[i-1]].name:
			names += " -> " + name
		}
	}
	return p.errorAt(g.rules[loop[0]].at, format, g.rules[loop[0]].name, names)
}

// endless returns rules each of which needs the next, and the last the first, by way of rule r, which does not end.
func (g *Grammar) endless(r int, ends []bool) []int {
	var path []int
	for !slices.Contains(path, r) {
		path = append(path, r)
		for pos := g.rules[r].alts[0]; ; pos++ {
			if in := g.code[pos]; (in.op == opRule || in.op == opRep && in.min > 0) && !ends[in.arg] {
				r = int(in.arg)
				break
			}
		}
	}
	return path[slices.Index(path, r):]
}

// leftRecursion returns rules each of which may begin with the next, and the last with the first.
func (g *Grammar) leftRecursion() []int {
	type place struct {
		rule int
		alt  int // index of the alternative
		pos  int32
	}
	const (
		unseen = iota
		open
		closed
	)
	state := make([]uint8, len(g.rules))
	for start := range g.rules {
		if state[start] != unseen {
			continue
		}
		path := []place{{start, 0, g.rules[start].alts[0]}}
		state[start] = open
		for len(path) > 0 {
			top := &path[len(path)-1]
			in := g.code[top.pos]
			var next int32 = -1
			if in.op == opRule || in.op == opRep {
				next = in.arg
			}
			// Go on within this rule first: behind what may be nothing, else at the next alternative.
			if in.op != opEnd && in.nullable {
				top.pos++
			} else if top.alt++; top.alt < len(g.rules[top.rule].alts) {
				top.pos = g.rules[top.rule].alts[top.alt]
			} else if next < 0 {
				state[top.rule] = closed
				path = path[:len(path)-1]
				continue
			} else {
				top.pos = g.ender()
			}
			if next < 0 {
				continue
			}
			switch state[next] {
			case unseen:
				state[next] = open
				path = append(path, place{int(next), 0, g.rules[next].alts[0]})
			case open:
				for i := range path {
					if path[i].rule == int(next) {
						loop := make([]int, 0, len(path)-i)
						for _, x := range path[i:] {
							loop = append(loop, x.rule)
						}
						return loop
					}
				}
			}
		}
	}
	return nil
}

// ender returns a place of an opEnd: the last instruction is one.
func (g *Grammar) ender() int32 { return int32(len(g.code) - 1) }
