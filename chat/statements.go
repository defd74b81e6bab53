package chat

type stmt interface{ exec(r *run) jump }

type (
	dataStmt   struct{ text string }
	outputStmt struct {
		x    expr
		line int
	}
	groupStmt struct{ body []stmt }
	jumpStmt  struct{ leave bool }
	ifStmt    struct {
		conds  []expr
		bodies [][]stmt
		other  []stmt
	}
	forStmt struct {
		target []string
		items  expr
		cond   expr // nil: all items
		body   []stmt
		other  []stmt // where there are no items
		line   int
	}
	setStmt struct {
		object  string // the namespace whose attribute is set, or empty
		target  []string
		value   expr // nil: what body writes
		body    []stmt
		filters []*filterExpr
		line    int
	}
	macroStmt struct {
		name     string
		params   []string
		defaults []expr // nil: none
		body     []stmt
		line     int
	}
	filterStmt struct {
		filters []*filterExpr
		body    []stmt
		line    int
	}
)

func (s *dataStmt) exec(r *run) jump {
	r.write(s.text)
	return jumpNone
}

func (s *outputStmt) exec(r *run) jump {
	r.line = s.line
	v := r.eval(s.x)
	r.line = s.line
	r.write(r.text(v))
	return jumpNone
}

func (s *groupStmt) exec(r *run) jump { return r.block(s.body) }

func (s *jumpStmt) exec(*run) jump {
	if s.leave {
		return jumpBreak
	}
	return jumpContinue
}

func (s *ifStmt) exec(r *run) jump {
	for i, c := range s.conds {
		if truth(r.eval(c)) {
			return r.block(s.bodies[i])
		}
	}
	return r.block(s.other)
}

func (s *forStmt) exec(r *run) jump {
	r.line = s.line
	v := r.eval(s.items)
	r.line = s.line
	items := r.items(v)
	if s.cond != nil {
		items = s.filter(r, items)
	}
	if len(items) == 0 {
		return r.in(newScope(r.scope), func() jump { return r.block(s.other) })
	}
	l := &loop{items: items, depth: 1}
	if outer, ok := r.scope.lookup("loop"); ok {
		if outer, ok := outer.(*loop); ok {
			l.depth = outer.depth + 1
		}
	}
	for i, item := range items {
		l.index0 = i
		r.made(scopeBytes)
		inner := newScope(r.scope)
		inner.vars["loop"] = l
		j := r.in(inner, func() jump {
			r.line = s.line
			r.assign(s.target, item)
			return r.block(s.body)
		})
		if j == jumpBreak {
			break
		}
	}
	return jumpNone
}

// filter returns the items for which the loop's condition holds.
func (s *forStmt) filter(r *run, items []any) []any {
	var kept []any
	for _, item := range items {
		r.made(scopeBytes)
		r.in(newScope(r.scope), func() jump {
			r.line = s.line
			r.assign(s.target, item)
			if truth(r.eval(s.cond)) {
				kept = append(kept, item)
			}
			return jumpNone
		})
	}
	return kept
}

// assign gives a value to a name, or its items to several.
func (r *run) assign(names []string, v any) {
	if len(names) == 1 {
		r.scope.vars[names[0]] = v
		return
	}
	items := r.items(v)
	if len(items) != len(names) {
		r.fail("%d values for %d names", len(items), len(names))
	}
	for i, name := range names {
		r.scope.vars[name] = items[i]
	}
}

func (s *setStmt) exec(r *run) jump {
	r.line = s.line
	var v any
	if s.value != nil {
		v = r.eval(s.value)
	} else {
		v = r.filtered(r.capture(func() { r.in(newScope(r.scope), func() jump { return r.block(s.body) }) }), s.filters)
	}
	r.line = s.line
	if s.object == "" {
		r.assign(s.target, v)
		return jumpNone
	}
	object, _ := r.scope.lookup(s.object)
	ns, ok := object.(*namespace)
	if !ok {
		r.fail("an attribute of %q can be set only if that is a namespace", s.object)
	}
	ns.set(s.target[0], v)
	return jumpNone
}

func (r *run) filtered(v any, list []*filterExpr) any {
	for _, f := range list {
		v = f.apply(r, v)
	}
	return v
}

func (s *filterStmt) exec(r *run) jump {
	v := r.filtered(r.capture(func() { r.in(newScope(r.scope), func() jump { return r.block(s.body) }) }), s.filters)
	r.line = s.line
	r.write(r.text(v))
	return jumpNone
}

func (s *macroStmt) exec(r *run) jump {
	defined := r.scope
	r.scope.vars[s.name] = &function{s.name, func(r *run, a args) any {
		values := a.bind(r, s.name, s.params, func(i int) (any, bool) {
			if s.defaults[i] == nil {
				return undefined{"the parameter " + s.params[i]}, true
			}
			return r.eval(s.defaults[i]), true
		})
		r.made(scopeBytes)
		inner := newScope(defined)
		for i, name := range s.params {
			inner.vars[name] = values[i]
		}
		return r.capture(func() { r.in(inner, func() jump { return r.block(s.body) }) })
	}}
	return jumpNone
}

// loop is the variable of that name within a loop.
type loop struct {
	items  []any
	index0 int
	depth  int
	last   any // for changed
	asked  bool
}

func (l *loop) attr(name string) any {
	at := func(i int, what string) any {
		if i < 0 || i >= len(l.items) {
			return undefined{"loop." + what}
		}
		return l.items[i]
	}
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.index0 + 1)
	case "index0":
		return int64(l.index0)
	case "revindex":
		return int64(n - l.index0)
	case "revindex0":
		return int64(n - l.index0 - 1)
	case "first":
		return l.index0 == 0
	case "last":
		return l.index0 == n-1
	case "length":
		return int64(n)
	case "depth":
		return int64(l.depth)
	case "depth0":
		return int64(l.depth - 1)
	case "previtem":
		return at(l.index0-1, name)
	case "nextitem":
		return at(l.index0+1, name)
	case "cycle":
		return &function{"loop.cycle", func(r *run, a args) any {
			if len(a.pos) == 0 {
				r.fail("loop.cycle needs an argument")
			}
			return a.pos[l.index0%len(a.pos)]
		}}
	case "changed":
		return &function{"loop.changed", func(r *run, a args) any {
			now := &list{items: a.pos}
			changed := !l.asked || !r.equal(l.last, now)
			l.last, l.asked = now, true
			return changed
		}}
	}
	return undefined{"loop." + name}
}
