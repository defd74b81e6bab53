package chat

import (
	"fmt"
	"strings"
)

// maxRange is how long a range may be, as in Jinja's sandbox.
const maxRange = 100_000

// globals are the functions that every template has.
var globals = map[string]any{
	"raise_exception": &function{"raise_exception", func(r *run, a args) any {
		r.fail("the template refuses the conversation: %s", r.text(a.take(r, "raise_exception", "message")[0]))
		return nil
	}},
	"strftime_now": &function{"strftime_now", func(r *run, a args) any {
		return r.strftime(r.stringArg("strftime_now", a.take(r, "strftime_now", "format")[0], ""))
	}},
	"namespace": &function{"namespace", func(r *run, a args) any {
		ns := &namespace{*newDict()}
		a.fill(r, "namespace", &ns.dict)
		return ns
	}},
	"dict": &function{"dict", func(r *run, a args) any {
		d := newDict()
		a.fill(r, "dict", d)
		return d
	}},
	"range": &function{"range", func(r *run, a args) any {
		v := a.take(r, "range", "start", "stop?", "step?")
		from, to, step := int64(0), r.intArg("range", v[0], 0), r.intArg("range", v[2], 1)
		if !isAbsent(v[1]) {
			from, to = to, r.intArg("range", v[1], 0)
		}
		if step == 0 {
			r.fail("range has a step of 0")
		}
		l := &list{}
		for i := from; step > 0 && i < to || step < 0 && i > to; {
			if len(l.items) == maxRange {
				r.fail("range has more than %d items", maxRange)
			}
			r.made(16)
			l.items = append(l.items, i)
			next := i + step
			if (next > i) != (step > 0) {
				break
			}
			i = next
		}
		return l
	}},
}

// fill sets what the arguments name.
func (a args) fill(r *run, f string, d *dict) {
	if len(a.pos) > 1 {
		r.fail("%s has %d arguments without a name, expected at most one, a dict", f, len(a.pos))
	}
	if len(a.pos) == 1 {
		from, ok := a.pos[0].(*dict)
		if !ok {
			r.fail("%s takes a dict, found %s", f, typeName(a.pos[0]))
		}
		r.made(48 * len(from.keys))
		for _, key := range from.keys {
			d.set(key, from.values[key])
		}
	}
	for i, name := range a.names {
		d.set(name, a.named[i])
	}
}

// layouts are the directives of strftime as layouts of package time.
var layouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'H': "15",
	'I': "03",
	'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05",
	'e': "_2",
}

func (r *run) strftime(format string) string {
	r.made(16 * len(format))
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		plain := i < len(format) && format[i] == '-' // without a zero in front
		if plain {
			i++
		}
		if i == len(format) {
			r.fail("strftime_now: the format ends within a directive")
		}
		switch layout, ok := layouts[format[i]]; {
		case format[i] == '%':
			b.WriteByte('%')
		case !ok:
			r.fail("strftime_now: the directive %q is not known", fmt.Sprintf("%%%c", format[i]))
		case plain:
			text := r.now.Format(layout)
			for len(text) > 1 && text[0] == '0' {
				text = text[1:]
			}
			b.WriteString(text)
		default:
			b.WriteString(r.now.Format(layout))
		}
	}
	return b.String()
}
