package chat

type expr interface{ eval(r *run) any }

type (
	literal  struct{ v any }
	nameExpr struct {
		name string
		line int
	}
	listExpr struct {
		items []expr
		tuple bool
	}
	dictExpr struct {
		keys, values []expr
		line         int
	}
	attrExpr struct {
		x    expr
		name string
		line int
	}
	itemExpr struct {
		x, index expr
		line     int
	}
	sliceExpr struct {
		x     expr
		parts [3]expr // from, to, step; nil where they are not given
		line  int
	}
	argExprs struct {
		pos   []expr
		names []string
		named []expr
	}
	callExpr struct {
		f    expr
		args argExprs
		line int
	}
	filterExpr struct {
		x    expr // nil where a statement has the value
		name string
		args argExprs
		line int
	}
	testExpr struct {
		x    expr
		name string
		args argExprs
		not  bool
		line int
	}
	condExpr struct {
		cond, then, other expr // other may be nil
		line              int
	}
	logicExpr struct {
		and  bool
		a, b expr
	}
	notExpr  struct{ x expr }
	signExpr struct {
		negative bool
		x        expr
		line     int
	}
	compareExpr struct {
		first expr
		ops   []string
		rest  []expr
		line  int
	}
	binaryExpr struct {
		op   string
		a, b expr
		line int
	}
)

func (e *literal) eval(*run) any { return e.v }

func (e *nameExpr) eval(r *run) any {
	if v, ok := r.scope.lookup(e.name); ok {
		return v
	}
	r.line = e.line
	return undefined{e.name}
}

func (e *listExpr) eval(r *run) any {
	r.made(16 * len(e.items))
	l := &list{tuple: e.tuple}
	for _, x := range e.items {
		l.items = append(l.items, r.eval(x))
	}
	return l
}

func (e *dictExpr) eval(r *run) any {
	r.made(48 * len(e.keys))
	d := newDict()
	for i, key := range e.keys {
		k := r.eval(key)
		r.line = e.line
		d.set(r.key(k), r.eval(e.values[i]))
	}
	return d
}

func (e *attrExpr) eval(r *run) any {
	x := r.eval(e.x)
	r.line = e.line
	return r.attr(x, e.name)
}

func (e *itemExpr) eval(r *run) any {
	x, index := r.eval(e.x), r.eval(e.index)
	r.line = e.line
	return r.item(x, index)
}

// attr returns an attribute: a method, or else an item by its name.
func (r *run) attr(x any, name string) any {
	if m := method(x, name); m != nil {
		return m
	}
	switch x := x.(type) {
	case undefined:
		r.fail("%s is undefined, and has no %q", x.what, name)
	case *dict:
		if v, ok := x.values[name]; ok {
			return v
		}
	case *namespace:
		if v, ok := x.values[name]; ok {
			return v
		}
	case *loop:
		return x.attr(name)
	}
	return undefined{"the attribute " + name}
}

// item returns an item by its key or index, or else an attribute.
func (r *run) item(x, index any) any {
	switch x := x.(type) {
	case undefined:
		r.fail("%s is undefined, and has no items", x.what)
	case *dict:
		if v, ok := x.values[r.key(index)]; ok {
			return v
		}
	case *list:
		if i, ok := index.(int64); ok {
			if i < 0 {
				i += int64(len(x.items))
			}
			if i >= 0 && i < int64(len(x.items)) {
				return x.items[i]
			}
			return undefined{"an item beyond the end of a list"}
		}
	case string:
		if i, ok := index.(int64); ok {
			r.made(len(x) * 4)
			chars := []rune(x)
			if i < 0 {
				i += int64(len(chars))
			}
			if i >= 0 && i < int64(len(chars)) {
				return string(chars[i])
			}
			return undefined{"a character beyond the end of a string"}
		}
	}
	if name, ok := index.(string); ok {
		return r.attr(x, name)
	}
	return undefined{"an item of " + typeName(x)}
}

func (e *sliceExpr) eval(r *run) any {
	x := r.eval(e.x)
	var part [3]*int64
	for i, p := range e.parts {
		if p == nil {
			continue
		}
		switch v := r.eval(p).(type) {
		case nil:
		case int64:
			part[i] = &v
		default:
			r.line = e.line
			r.fail("a slice goes by integers, not by %s", typeName(v))
		}
	}
	r.line = e.line
	switch x := x.(type) {
	case string:
		r.made(4 * len(x))
		return string(slice(r, []rune(x), part))
	case *list:
		r.made(16 * len(x.items))
		return &list{slice(r, x.items, part), x.tuple}
	case undefined:
		return &list{}
	}
	r.fail("%s cannot be cut into slices", typeName(x))
	return nil
}

// slice returns items from, to and by a step, as Python counts them.
func slice[T any](r *run, items []T, part [3]*int64) []T {
	n, step := int64(len(items)), int64(1)
	if part[2] != nil {
		step = *part[2]
	}
	if step == 0 {
		r.fail("a slice has a step of 0")
	}
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	place := func(p *int64, missing int64) int64 {
		if p == nil {
			return missing
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	from, to := place(part[0], low), place(part[1], high)
	if step < 0 {
		from, to = place(part[0], high), place(part[1], low)
	}
	step = min(max(step, -n-1), n+1)
	var out []T
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, items[i])
	}
	return out
}

func (e *callExpr) eval(r *run) any {
	v := r.eval(e.f)
	a := r.args(e.args)
	r.line = e.line
	f, ok := v.(*function)
	if !ok {
		r.fail("%s cannot be called", typeName(v))
	}
	result := f.call(r, a)
	r.line = e.line
	return result
}

func (e *filterExpr) eval(r *run) any { return e.apply(r, r.eval(e.x)) }

func (e *filterExpr) apply(r *run, v any) any {
	a := r.args(e.args)
	r.line = e.line
	return filters[e.name](r, v, a)
}

func (e *testExpr) eval(r *run) any {
	x := r.eval(e.x)
	a := r.args(e.args)
	r.line = e.line
	return tests[e.name](r, x, a) != e.not
}

func (e *condExpr) eval(r *run) any {
	if truth(r.eval(e.cond)) {
		return r.eval(e.then)
	}
	if e.other == nil {
		r.line = e.line
		return undefined{"a condition without else"}
	}
	return r.eval(e.other)
}

func (e *logicExpr) eval(r *run) any {
	a := r.eval(e.a)
	if truth(a) != e.and {
		return a
	}
	return r.eval(e.b)
}

func (e *notExpr) eval(r *run) any { return !truth(r.eval(e.x)) }

func (e *signExpr) eval(r *run) any {
	x := r.eval(e.x)
	r.line = e.line
	switch v := x.(type) {
	case bool:
		x = intOf(v)
	case int64, float64:
	default:
		r.fail("%s has no sign", typeName(x))
	}
	if !e.negative {
		return x
	}
	if f, ok := x.(float64); ok {
		return -f
	}
	return r.arithmetic("-", int64(0), x)
}

func (e *compareExpr) eval(r *run) any {
	a := r.eval(e.first)
	for i, op := range e.ops {
		b := r.eval(e.rest[i])
		r.line = e.line
		if !relations[op](r, a, b) {
			return false
		}
		a = b
	}
	return true
}

func (e *binaryExpr) eval(r *run) any {
	a, b := r.eval(e.a), r.eval(e.b)
	r.line = e.line
	if e.op == "~" {
		s, t := r.text(a), r.text(b)
		r.made(len(s) + len(t))
		return s + t
	}
	return r.arithmetic(e.op, a, b)
}
