package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// jsonWriter writes values as Python's json does when it leaves what is not ASCII as it is.
type jsonWriter struct {
	r           *run
	b           strings.Builder
	indent      string // of one level; empty: all on one line
	item, colon string // what comes after an item that is not the last, and after a key
	sorted      bool
	level       int
}

func (r *run) toJSON(v any, a args) string {
	p := a.take(r, "tojson", "indent?", "ensure_ascii?", "separators?", "sort_keys?")
	w := &jsonWriter{r: r, item: ", ", colon: ": "}
	if p[0] != nil && !isAbsent(p[0]) {
		if s, ok := p[0].(string); ok {
			w.indent = s
		} else {
			w.indent = strings.Repeat(" ", r.times(1, r.intArg("tojson", p[0], 0)))
		}
		w.item = ","
	}
	if isSet(p[1]) {
		r.fail("tojson: ensure_ascii is not supported")
	}
	if l, ok := p[2].(*list); ok {
		if len(l.items) != 2 {
			r.fail("tojson: separators has %d items, expected 2", len(l.items))
		}
		w.item, w.colon = r.stringArg("tojson", l.items[0], ""), r.stringArg("tojson", l.items[1], "")
	} else if p[2] != nil && !isAbsent(p[2]) {
		r.fail("tojson: separators is %s, expected two strings", typeName(p[2]))
	}
	w.sorted = isSet(p[3])
	w.value(v)
	return w.b.String()
}

func (w *jsonWriter) put(s string) {
	w.r.made(len(s) + 1)
	w.b.WriteString(s)
}

func (w *jsonWriter) value(v any) {
	defer w.r.enter()()
	switch v := v.(type) {
	case nil:
		w.put("null")
	case bool:
		w.put(strconv.FormatBool(v))
	case int64:
		w.put(strconv.FormatInt(v, 10))
	case float64:
		w.put(floatText(v))
	case string:
		w.string(v)
	case *list:
		w.all("[", "]", len(v.items), func(i int) { w.value(v.items[i]) })
	case *dict:
		keys := v.keys
		if w.sorted {
			keys = slices.Clone(keys)
			w.r.sort(keys, func(key any) any { return key })
		}
		w.all("{", "}", len(keys), func(i int) {
			switch key := keys[i].(type) {
			case string:
				w.string(key)
			default:
				w.put(`"`)
				w.value(key)
				w.put(`"`)
			}
			w.put(w.colon)
			w.value(v.values[keys[i]])
		})
	default:
		w.r.fail("tojson: %s cannot be written as JSON", typeName(v))
	}
}

// all writes the items of an array or an object.
func (w *jsonWriter) all(open, end string, n int, item func(i int)) {
	w.put(open)
	if n > 0 {
		w.level++
		for i := range n {
			if i > 0 {
				w.put(w.item)
			}
			w.newline()
			item(i)
		}
		w.level--
		w.newline()
	}
	w.put(end)
}

func (w *jsonWriter) newline() {
	if w.indent != "" {
		w.put("\n" + strings.Repeat(w.indent, w.r.times(len(w.indent), int64(w.level))))
	}
}

func (w *jsonWriter) string(s string) {
	w.put(`"`)
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		w.put(s[from:i])
		from = i + 1
		switch c {
		case '"', '\\':
			w.put(`\` + string(c))
		case '\n':
			w.put(`\n`)
		case '\r':
			w.put(`\r`)
		case '\t':
			w.put(`\t`)
		case '\b':
			w.put(`\b`)
		case '\f':
			w.put(`\f`)
		default:
			w.put(fmt.Sprintf(`\u%04x`, c))
		}
	}
	w.put(s[from:] + `"`)
}
