package chat

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

type filterFunc func(r *run, v any, a args) any

var filters map[string]filterFunc

func init() {
	filters = map[string]filterFunc{
		"trim": func(r *run, v any, a args) any {
			s := r.text(v)
			r.made(len(s))
			return stripMethod("trim", true, true)(r, s, a)
		},
		"upper":      textFilter("upper", strings.ToUpper),
		"lower":      textFilter("lower", strings.ToLower),
		"title":      textFilter("title", title),
		"capitalize": textFilter("capitalize", capitalize),
		"string":     textFilter("string", func(s string) string { return s }),
		"safe":       textFilter("safe", func(s string) string { return s }),
		"escape":     textFilter("escape", htmlEscaper.Replace),
		"e":          textFilter("e", htmlEscaper.Replace),
		"length":     func(r *run, v any, a args) any { a.none(r, "length"); return int64(r.length(v)) },
		"count":      func(r *run, v any, a args) any { a.none(r, "count"); return int64(r.length(v)) },
		"default":    defaultFilter,
		"d":          defaultFilter,
		"first":      endFilter("first", func(items []any) any { return items[0] }),
		"last":       endFilter("last", func(items []any) any { return items[len(items)-1] }),
		"replace": func(r *run, v any, a args) any {
			p := a.take(r, "replace", "old", "new", "count?")
			return r.replace(r.text(v), r.text(p[0]), r.text(p[1]), r.intArg("replace", p[2], -1))
		},
		"join": func(r *run, v any, a args) any {
			p := a.take(r, "join", "d?", "attribute?")
			if !isAbsent(p[1]) {
				v = r.each(v, func(item any) any { return r.path("join", item, p[1]) })
			}
			return r.join(v, r.stringArg("join", p[0], ""))
		},
		"list": func(r *run, v any, a args) any {
			a.none(r, "list")
			return &list{items: r.cloned(v)}
		},
		"items": func(r *run, v any, a args) any {
			a.none(r, "items")
			switch v := v.(type) {
			case *dict:
				return v.pairs(r)
			case undefined:
				return &list{}
			}
			r.fail("items takes a dict, found %s", typeName(v))
			return nil
		},
		"dictsort": func(r *run, v any, a args) any {
			a.none(r, "dictsort")
			d, ok := v.(*dict)
			if !ok {
				r.fail("dictsort takes a dict, found %s", typeName(v))
			}
			l := d.pairs(r)
			r.sort(l.items, func(pair any) any { return foldCase(pair.(*list).items[0]) })
			return l
		},
		"sort": func(r *run, v any, a args) any {
			p := a.take(r, "sort", "reverse?", "case_sensitive?", "attribute?")
			items := r.cloned(v)
			r.sort(items, func(item any) any {
				if !isAbsent(p[2]) {
					item = r.path("sort", item, p[2])
				}
				if !isSet(p[1]) {
					return foldCase(item)
				}
				return item
			})
			if isSet(p[0]) {
				slices.Reverse(items)
			}
			return &list{items: items}
		},
		"reverse": func(r *run, v any, a args) any {
			a.none(r, "reverse")
			items := r.cloned(v)
			slices.Reverse(items)
			if _, ok := v.(string); ok {
				return r.join(&list{items: items}, "")
			}
			return &list{items: items}
		},
		"unique": func(r *run, v any, a args) any {
			a.none(r, "unique")
			l := &list{}
			for _, item := range r.items(v) {
				if !r.contains(l, item) {
					r.made(16)
					l.items = append(l.items, item)
				}
			}
			return l
		},
		"sum": func(r *run, v any, a args) any {
			p := a.take(r, "sum", "attribute?", "start?")
			total := any(int64(0))
			if !isAbsent(p[1]) {
				total = p[1]
			}
			for _, item := range r.items(v) {
				r.step()
				if p[0] != nil && !isAbsent(p[0]) {
					item = r.path("sum", item, p[0])
				}
				total = r.arithmetic("+", total, item)
			}
			return total
		},
		"min":    extremeFilter("min", func(r *run, a, b any) bool { return r.less(a, b) }),
		"max":    extremeFilter("max", func(r *run, a, b any) bool { return r.less(b, a) }),
		"map":    mapFilter,
		"select": chooseFilter("select", false, true), "reject": chooseFilter("reject", false, false),
		"selectattr": chooseFilter("selectattr", true, true), "rejectattr": chooseFilter("rejectattr", true, false),
		"tojson": func(r *run, v any, a args) any { return r.toJSON(v, a) },
		"indent": indentFilter,
		"int":    intFilter,
		"float": func(r *run, v any, a args) any {
			missing := a.take(r, "float", "default?")[0]
			if f, ok := number(v); ok {
				return f
			}
			if s, ok := v.(string); ok {
				if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
					return f
				}
			}
			if isAbsent(missing) {
				return 0.0
			}
			return missing
		},
		"abs": func(r *run, v any, a args) any {
			a.none(r, "abs")
			if f, ok := number(v); !ok {
				r.fail("abs takes a number, found %s", typeName(v))
			} else if f >= 0 {
				return v
			}
			return r.arithmetic("*", v, int64(-1))
		},
		"round": func(r *run, v any, a args) any {
			p := a.take(r, "round", "precision?")[0]
			f, ok := number(v)
			if !ok {
				r.fail("round takes a number, found %s", typeName(v))
			}
			scale := math.Pow(10, float64(min(max(r.intArg("round", p, 0), -300), 300)))
			return math.RoundToEven(f*scale) / scale
		},
	}
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// textFilter makes a filter of a function of a value's text, which may make it six times as long.
func textFilter(name string, f func(string) string) filterFunc {
	return func(r *run, v any, a args) any {
		a.none(r, name)
		s := r.text(v)
		r.made(len(s))
		s = f(s)
		r.made(len(s))
		return s
	}
}

func defaultFilter(r *run, v any, a args) any {
	p := a.take(r, "default", "default_value?", "boolean?")
	if _, ok := v.(undefined); !ok && (!isSet(p[1]) || truth(v)) {
		return v
	}
	if isAbsent(p[0]) {
		return ""
	}
	return p[0]
}

func endFilter(name string, pick func([]any) any) filterFunc {
	return func(r *run, v any, a args) any {
		a.none(r, name)
		if items := r.items(v); len(items) > 0 {
			return pick(items)
		}
		return undefined{"the " + name + " item of nothing"}
	}
}

func extremeFilter(name string, better func(r *run, a, b any) bool) filterFunc {
	return func(r *run, v any, a args) any {
		a.none(r, name)
		items := r.items(v)
		if len(items) == 0 {
			return undefined{"the " + name + " of nothing"}
		}
		best := items[0]
		for _, item := range items[1:] {
			if better(r, item, best) {
				best = item
			}
		}
		return best
	}
}

// cloned returns a value's items in memory of their own.
func (r *run) cloned(v any) []any {
	items := r.items(v)
	r.made(16 * len(items))
	return slices.Clone(items)
}

// each makes a list of what f makes of each item.
func (r *run) each(v any, f func(any) any) *list {
	items := r.cloned(v)
	for i := range items {
		r.step()
		items[i] = f(items[i])
	}
	return &list{items: items}
}

// path returns an attribute of an attribute, as "a.b" or an index names it.
func (r *run) path(f string, v, path any) any {
	if i, ok := path.(int64); ok {
		return r.item(v, i)
	}
	for _, name := range strings.Split(r.stringArg(f, path, ""), ".") {
		r.made(16)
		if i, err := strconv.ParseInt(name, 10, 64); err == nil {
			v = r.item(v, i)
		} else {
			v = r.item(v, name)
		}
	}
	return v
}

// foldCase is what strings are compared by where their case does not count.
func foldCase(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToLower(s)
	}
	return v
}

// sort orders items by their keys; those that are equal stay as they are.
func (r *run) sort(items []any, key func(any) any) {
	type keyed struct{ key, item any }
	list := make([]keyed, len(items))
	r.made(48 * len(items))
	for i, item := range items {
		list[i] = keyed{key(item), item}
		if s, ok := list[i].key.(string); ok {
			r.made(len(s))
		}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		switch {
		case r.less(a.key, b.key):
			return -1
		case r.less(b.key, a.key):
			return 1
		}
		return 0
	})
	for i := range items {
		items[i] = list[i].item
	}
}

// mapFilter takes an attribute of each item, or applies a filter to it.
func mapFilter(r *run, v any, a args) any {
	if len(a.pos) == 0 {
		p := a.take(r, "map", "attribute", "default?")
		return r.each(v, func(item any) any {
			x := r.path("map", item, p[0])
			if _, ok := x.(undefined); ok && !isAbsent(p[1]) {
				return p[1]
			}
			return x
		})
	}
	name := r.stringArg("map", a.pos[0], "")
	f, ok := filters[name]
	if !ok {
		r.fail("the filter %q is not known", name)
	}
	rest := args{a.pos[1:], a.names, a.named}
	return r.each(v, func(item any) any { return f(r, item, rest) })
}

// chooseFilter keeps or drops the items, or those with an attribute, that pass a test, or that count as true.
func chooseFilter(name string, attribute, keep bool) filterFunc {
	return func(r *run, v any, a args) any {
		pos := a.pos
		var path any
		if attribute {
			if len(pos) == 0 {
				r.fail("%s needs the name of an attribute", name)
			}
			path, pos = pos[0], pos[1:]
		}
		pass := func(r *run, x any, _ args) bool { return truth(x) }
		var rest args
		if len(pos) > 0 {
			test := r.stringArg(name, pos[0], "")
			f, ok := tests[test]
			if !ok {
				r.fail("the test %q is not known", test)
			}
			pass, rest = f, args{pos[1:], a.names, a.named}
		}
		l := &list{}
		for _, item := range r.items(v) {
			r.step()
			x := item
			if attribute {
				x = r.path(name, item, path)
			}
			if pass(r, x, rest) == keep {
				r.made(16)
				l.items = append(l.items, item)
			}
		}
		return l
	}
}

func intFilter(r *run, v any, a args) any {
	missing := a.take(r, "int", "default?")[0]
	switch v := v.(type) {
	case int64:
		return v
	case bool:
		return intOf(v)
	case float64:
		if math.Abs(v) < 1<<62 {
			return int64(v)
		}
	case string:
		s := strings.TrimSpace(v)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<62 {
			return int64(f)
		}
	}
	if isAbsent(missing) {
		return int64(0)
	}
	return missing
}

// indentFilter puts blanks or a text before every line but the first, and but empty ones.
func indentFilter(r *run, v any, a args) any {
	p := a.take(r, "indent", "width?", "first?", "blank?")
	s := r.text(v)
	prefix, ok := p[0].(string)
	if !ok {
		prefix = strings.Repeat(" ", r.times(1, r.intArg("indent", p[0], 4)))
	}
	first, blank := isSet(p[1]), isSet(p[2])
	r.made(len(s))
	var b strings.Builder
	n := 0
	for line := range strings.Lines(s) {
		if (n > 0 || first) && (blank || strings.TrimSpace(line) != "") {
			r.made(len(prefix) + 1)
			b.WriteString(prefix)
		}
		b.WriteString(line)
		n++
	}
	return b.String()
}
