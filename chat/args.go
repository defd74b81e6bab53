package chat

import (
	"slices"
	"strings"
)

// args are those of a call.
type args struct {
	pos   []any
	names []string
	named []any
}

func (r *run) args(e argExprs) (a args) {
	r.made(16 * (len(e.pos) + len(e.named)))
	for _, x := range e.pos {
		a.pos = append(a.pos, r.eval(x))
	}
	a.names = e.names
	for _, x := range e.named {
		a.named = append(a.named, r.eval(x))
	}
	return a
}

// bind gives every parameter its value, or what missing says; where that says no, the parameter must be given.
func (a args) bind(r *run, f string, params []string, missing func(i int) (any, bool)) []any {
	if len(a.pos) > len(params) {
		r.fail("%s has %d arguments, expected at most %d", f, len(a.pos), len(params))
	}
	values, given := make([]any, len(params)), make([]bool, len(params))
	for i, v := range a.pos {
		values[i], given[i] = v, true
	}
	for i, name := range a.names {
		at := slices.Index(params, name)
		switch {
		case at < 0:
			r.fail("%s has no parameter %q", f, name)
		case given[at]:
			r.fail("%s has %q twice", f, name)
		}
		values[at], given[at] = a.named[i], true
	}
	for i := range values {
		if given[i] {
			continue
		}
		v, ok := missing(i)
		if !ok {
			r.fail("%s needs %q", f, params[i])
		}
		values[i] = v
	}
	return values
}

// absent stands for an argument that is not given.
type absent struct{}

// take binds parameters given by their names, with a ? after those that need not be there.
func (a args) take(r *run, f string, params ...string) []any {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = strings.TrimSuffix(p, "?")
	}
	return a.bind(r, f, names, func(i int) (any, bool) { return absent{}, names[i] != params[i] })
}

// none fails if there are arguments.
func (a args) none(r *run, f string) { a.take(r, f) }

func isAbsent(v any) bool {
	_, ok := v.(absent)
	return ok
}

// isSet tells whether an argument is given and counts as true.
func isSet(v any) bool { return !isAbsent(v) && truth(v) }

// stringArg returns an argument that must be a string, or what stands for one that is absent or none.
func (r *run) stringArg(f string, v any, missing string) string {
	if v == nil || isAbsent(v) {
		return missing
	}
	s, ok := v.(string)
	if !ok {
		r.fail("%s takes a string, found %s", f, typeName(v))
	}
	return s
}

func (r *run) intArg(f string, v any, missing int64) int64 {
	if v == nil || isAbsent(v) {
		return missing
	}
	switch n := v.(type) {
	case int64:
		return n
	case bool:
		return intOf(n)
	}
	r.fail("%s takes an integer, found %s", f, typeName(v))
	return 0
}
