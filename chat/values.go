package chat

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The values of a template are nil (none), bool, int64, float64, string, undefined, *list, *dict, *namespace, *loop and
// *function.
type (
	// undefined is what a name or an attribute that does not exist gives: nothing, but an error where it is used.
	undefined struct{ what string }

	list struct {
		items []any
		tuple bool
	}

	// dict keeps its keys in the order in which they were set.
	dict struct {
		keys   []any
		values map[any]any
	}

	namespace struct{ dict }

	function struct {
		name string
		call func(r *run, a args) any
	}
)

func newDict() *dict { return &dict{values: map[any]any{}} }

func (d *dict) set(key, value any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

// key returns a value as the key of a dict: numbers that are equal are the same key.
func (r *run) key(v any) any {
	switch v := v.(type) {
	case nil, string, int64:
		return v
	case bool:
		return intOf(v)
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
		return v
	}
	r.fail("%s cannot be the key of a dict", typeName(v))
	return nil
}

func intOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// typeName names the type of a value in messages.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case bool:
		return "a bool"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case string:
		return "a string"
	case undefined:
		return v.what + ", which is undefined,"
	case *list:
		if v.tuple {
			return "a tuple"
		}
		return "a list"
	case *dict:
		return "a dict"
	case *namespace:
		return "a namespace"
	case *loop:
		return "the loop"
	}
	return "a function"
}

// truth tells whether a value counts as true.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// text returns a value as it is written.
func (r *run) text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	var b strings.Builder
	r.repr(&b, v)
	return b.String()
}

// repr writes a value as Python shows it in a list.
func (r *run) repr(b *strings.Builder, v any) {
	defer r.enter()()
	from := b.Len()
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case undefined:
		b.WriteString("Undefined")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(floatText(v))
	case string:
		r.made(len(v))
		reprString(b, v)
	case *list:
		open, end := "[", "]"
		if v.tuple {
			open, end = "(", ")"
		}
		b.WriteString(open)
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			r.repr(b, item)
		}
		if v.tuple && len(v.items) == 1 {
			b.WriteByte(',')
		}
		b.WriteString(end)
	case *dict:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			r.repr(b, key)
			b.WriteString(": ")
			r.repr(b, v.values[key])
		}
		b.WriteByte('}')
	default:
		r.fail("%s cannot be written", typeName(v))
	}
	r.made(b.Len() - from)
}

// floatText writes a float as Python does.
func floatText(f float64) string {
	abs := f
	if f < 0 {
		abs = -f
	}
	switch {
	case f != f:
		return "nan"
	case abs > 1e308 && abs/2 == abs:
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+")
	case f != 0 && (abs < 1e-4 || abs >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func reprString(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, c := range s {
		switch {
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(b, `\x%02x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteRune(quote)
}

// number returns a value as a float, if it is a number.
func number(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case bool:
		return float64(intOf(v)), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// equal compares two values as == does.
func (r *run) equal(a, b any) bool {
	defer r.enter()()
	if x, ok := number(a); ok {
		if i, ok := a.(int64); ok {
			if j, ok := b.(int64); ok {
				return i == j
			}
		}
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		r.made(min(len(a), len(b)))
		return ok && a == b
	case *list:
		b, ok := b.(*list)
		if !ok || a.tuple != b.tuple || len(a.items) != len(b.items) {
			return false
		}
		for i, item := range a.items {
			if !r.equal(item, b.items[i]) {
				return false
			}
		}
		return true
	case *dict:
		b, ok := b.(*dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, key := range a.keys {
			if v, ok := b.values[key]; !ok || !r.equal(a.values[key], v) {
				return false
			}
		}
		return true
	}
	return a == b
}

// less tells whether a comes before b: numbers, strings, or lists of them.
func (r *run) less(a, b any) bool {
	defer r.enter()()
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			i, isInt := a.(int64)
			j, both := b.(int64)
			if isInt && both {
				return i < j
			}
			return x < y
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			r.made(min(len(x), len(y)))
			return x < y
		}
	}
	if x, ok := a.(*list); ok {
		if y, ok := b.(*list); ok && x.tuple == y.tuple {
			for i := range min(len(x.items), len(y.items)) {
				if !r.equal(x.items[i], y.items[i]) {
					return r.less(x.items[i], y.items[i])
				}
			}
			return len(x.items) < len(y.items)
		}
	}
	r.fail("%s and %s have no order", typeName(a), typeName(b))
	return false
}

// relations are the operators of comparisons.
var relations = map[string]func(r *run, a, b any) bool{
	"==":     (*run).equal,
	"!=":     func(r *run, a, b any) bool { return !r.equal(a, b) },
	"<":      (*run).less,
	"<=":     func(r *run, a, b any) bool { return r.less(a, b) || r.equal(a, b) },
	">":      func(r *run, a, b any) bool { return r.less(b, a) },
	">=":     func(r *run, a, b any) bool { return r.less(b, a) || r.equal(a, b) },
	"in":     func(r *run, a, b any) bool { return r.contains(b, a) },
	"not in": func(r *run, a, b any) bool { return !r.contains(b, a) },
}

// contains tells whether v is in a list, a string or the keys of a dict.
func (r *run) contains(in, v any) bool {
	switch in := in.(type) {
	case undefined:
		return false
	case string:
		s, ok := v.(string)
		if !ok {
			r.fail("%s cannot be in a string", typeName(v))
		}
		r.made(len(in))
		return strings.Contains(in, s)
	case *list:
		for _, item := range in.items {
			if r.equal(item, v) {
				return true
			}
		}
		return false
	case *dict:
		_, ok := in.values[r.key(v)]
		return ok
	}
	r.fail("nothing can be in %s", typeName(in))
	return false
}

// length is that of a string in characters, a list or a dict.
func (r *run) length(v any) int {
	switch v := v.(type) {
	case undefined:
		return 0
	case string:
		r.made(len(v))
		return utf8.RuneCountInString(v)
	case *list:
		return len(v.items)
	case *dict:
		return len(v.keys)
	}
	r.fail("%s has no length", typeName(v))
	return 0
}

// items returns what a loop over a value sees.
func (r *run) items(v any) []any {
	switch v := v.(type) {
	case undefined:
		return nil
	case *list:
		return v.items
	case *dict:
		return v.keys
	case string:
		r.made(16 * len(v))
		var items []any
		for _, c := range v {
			items = append(items, string(c))
		}
		return items
	}
	r.fail("%s has no items", typeName(v))
	return nil
}
