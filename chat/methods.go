package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// method returns the method of that name, or nil.
func method(x any, name string) any {
	switch x := x.(type) {
	case string:
		if f, ok := stringMethods[name]; ok {
			return &function{name, func(r *run, a args) any {
				r.made(len(x))
				return f(r, x, a)
			}}
		}
	case *list:
		switch name {
		case "index", "count":
			return &function{name, func(r *run, a args) any { return r.find(x, name, a.take(r, name, "value")[0]) }}
		case "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse":
			return &function{name, func(r *run, _ args) any {
				r.fail("%s changes a list, which a chat template may not do", name)
				return nil
			}}
		}
	case *dict:
		if f, ok := dictMethods[name]; ok {
			return &function{name, func(r *run, a args) any {
				r.made(16 * len(x.keys))
				return f(r, x, a)
			}}
		}
	}
	return nil
}

// find returns where a list has a value first, or how often.
func (r *run) find(l *list, name string, v any) any {
	count := int64(0)
	for i, item := range l.items {
		if r.equal(item, v) {
			if name == "index" {
				return int64(i)
			}
			count++
		}
	}
	if name == "index" {
		r.fail("the list has no such value")
	}
	return count
}

var dictMethods = map[string]func(r *run, d *dict, a args) any{
	"keys": func(r *run, d *dict, a args) any {
		a.none(r, "keys")
		return &list{items: slices.Clone(d.keys)}
	},
	"values": func(r *run, d *dict, a args) any {
		a.none(r, "values")
		l := &list{}
		for _, key := range d.keys {
			l.items = append(l.items, d.values[key])
		}
		return l
	},
	"items": func(r *run, d *dict, a args) any {
		a.none(r, "items")
		return d.pairs(r)
	},
	"get": func(r *run, d *dict, a args) any {
		v := a.take(r, "get", "key", "default?")
		if found, ok := d.values[r.key(v[0])]; ok {
			return found
		}
		if isAbsent(v[1]) {
			return nil
		}
		return v[1]
	},
}

func (d *dict) pairs(r *run) *list {
	r.made(64 * len(d.keys))
	l := &list{}
	for _, key := range d.keys {
		l.items = append(l.items, &list{[]any{key, d.values[key]}, true})
	}
	return l
}

var stringMethods map[string]func(r *run, s string, a args) any

func init() {
	stringMethods = map[string]func(r *run, s string, a args) any{
		"upper": func(r *run, s string, a args) any { a.none(r, "upper"); return strings.ToUpper(s) },
		"lower": func(r *run, s string, a args) any { a.none(r, "lower"); return strings.ToLower(s) },
		"title": func(r *run, s string, a args) any { a.none(r, "title"); return title(s) },
		"capitalize": func(r *run, s string, a args) any {
			a.none(r, "capitalize")
			return capitalize(s)
		},
		"strip":  stripMethod("strip", true, true),
		"lstrip": stripMethod("lstrip", true, false),
		"rstrip": stripMethod("rstrip", false, true),
		"removeprefix": func(r *run, s string, a args) any {
			return strings.TrimPrefix(s, r.stringArg("removeprefix", a.take(r, "removeprefix", "prefix")[0], ""))
		},
		"removesuffix": func(r *run, s string, a args) any {
			return strings.TrimSuffix(s, r.stringArg("removesuffix", a.take(r, "removesuffix", "suffix")[0], ""))
		},
		"startswith": func(r *run, s string, a args) any { return r.affix("startswith", s, a, strings.HasPrefix) },
		"endswith":   func(r *run, s string, a args) any { return r.affix("endswith", s, a, strings.HasSuffix) },
		"split":      func(r *run, s string, a args) any { return r.split("split", s, a, false) },
		"rsplit":     func(r *run, s string, a args) any { return r.split("rsplit", s, a, true) },
		"splitlines": func(r *run, s string, a args) any {
			keep := a.take(r, "splitlines", "keepends?")[0]
			l := &list{}
			for line := range strings.Lines(s) {
				if !isSet(keep) {
					line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
				}
				r.made(16)
				l.items = append(l.items, line)
			}
			return l
		},
		"replace": func(r *run, s string, a args) any {
			v := a.take(r, "replace", "old", "new", "count?")
			return r.replace(s, r.stringArg("replace", v[0], ""), r.stringArg("replace", v[1], ""),
				r.intArg("replace", v[2], -1))
		},
		"find":  func(r *run, s string, a args) any { return r.place("find", s, a, strings.Index) },
		"rfind": func(r *run, s string, a args) any { return r.place("rfind", s, a, strings.LastIndex) },
		"count": func(r *run, s string, a args) any {
			return int64(strings.Count(s, r.stringArg("count", a.take(r, "count", "sub")[0], "")))
		},
		"join":    func(r *run, s string, a args) any { return r.join(a.take(r, "join", "items")[0], s) },
		"isalpha": every("isalpha", unicode.IsLetter),
		"isdigit": every("isdigit", unicode.IsDigit),
		"isspace": every("isspace", unicode.IsSpace),
		"isalnum": every("isalnum", func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }),
		"isupper": func(r *run, s string, a args) any {
			a.none(r, "isupper")
			return isUpper(s)
		},
		"islower": func(r *run, s string, a args) any {
			a.none(r, "islower")
			return isLower(s)
		},
	}
}

// isUpper tells whether a string has letters and all are capitals, and isLower whether all are small.
func isUpper(s string) bool { return s == strings.ToUpper(s) && s != strings.ToLower(s) }
func isLower(s string) bool { return s == strings.ToLower(s) && s != strings.ToUpper(s) }

// every makes a method that tells whether all characters, and at least one, are of a kind.
func every(name string, is func(rune) bool) func(r *run, s string, a args) any {
	return func(r *run, s string, a args) any {
		a.none(r, name)
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !is(c) }) < 0
	}
}

func stripMethod(name string, left, right bool) func(r *run, s string, a args) any {
	return func(r *run, s string, a args) any {
		v := a.take(r, name, "chars?")[0]
		chars := r.stringArg(name, v, "")
		in := unicode.IsSpace
		if v != nil && !isAbsent(v) {
			r.made(len(s) + len(chars))
			set := map[rune]bool{}
			for _, c := range chars {
				set[c] = true
			}
			in = func(c rune) bool { return set[c] }
		}
		if left {
			s = strings.TrimLeftFunc(s, in)
		}
		if right {
			s = strings.TrimRightFunc(s, in)
		}
		return s
	}
}

// affix tells whether a string begins or ends with another, or with one of several.
func (r *run) affix(name, s string, a args, has func(s, affix string) bool) any {
	switch v := a.take(r, name, "affix")[0].(type) {
	case string:
		return has(s, v)
	case *list:
		for _, item := range v.items {
			r.step()
			if has(s, r.stringArg(name, item, "")) {
				return true
			}
		}
		return false
	default:
		r.fail("%s takes a string or a tuple of them, found %s", name, typeName(v))
		return nil
	}
}

// place returns where a string has another, in characters, or -1.
func (r *run) place(name, s string, a args, index func(s, sub string) int) any {
	at := index(s, r.stringArg(name, a.take(r, name, "sub")[0], ""))
	if at > 0 {
		at = utf8.RuneCountInString(s[:at])
	}
	return int64(at)
}

// split cuts a string at a separator, or at white space where there is none.
func (r *run) split(name, s string, a args, fromRight bool) any {
	v := a.take(r, name, "sep?", "maxsplit?")
	sep, most := r.stringArg(name, v[0], ""), r.intArg(name, v[1], -1)
	var parts []string
	r.made(32 * (strings.Count(s, sep) + 1)) // every character, where there is no separator
	switch {
	case v[0] == nil || isAbsent(v[0]):
		if most >= 0 {
			r.fail("%s at white space with a maximum is not supported", name)
		}
		parts = strings.Fields(s)
	case sep == "":
		r.fail("%s by an empty string", name)
	case most < 0 || most >= int64(len(s)):
		parts = strings.Split(s, sep)
	case !fromRight:
		parts = strings.SplitN(s, sep, int(most)+1)
	default:
		for ; most > 0; most-- {
			at := strings.LastIndex(s, sep)
			if at < 0 {
				break
			}
			parts = append(parts, s[at+len(sep):])
			s = s[:at]
		}
		parts = append(parts, s)
		slices.Reverse(parts)
	}
	l := &list{}
	for _, part := range parts {
		l.items = append(l.items, part)
	}
	return l
}

func (r *run) replace(s, old, with string, count int64) string {
	n := int64(strings.Count(s, old))
	if count >= 0 {
		n = min(n, count)
	}
	r.made(len(s))
	r.times(len(with), n) // counts what is put in
	return strings.Replace(s, old, with, int(n))
}

// join writes the items of a value with a separator between them.
func (r *run) join(v any, sep string) string {
	var b strings.Builder
	for i, item := range r.items(v) {
		text := r.text(item)
		if i > 0 {
			text = sep + text
		}
		r.made(len(text) + 1)
		b.WriteString(text)
	}
	return b.String()
}

// title begins every word with a capital, and goes on with small letters.
func title(s string) string {
	within := false
	return strings.Map(func(c rune) rune {
		letter := unicode.IsLetter(c)
		defer func() { within = letter }()
		if within {
			return unicode.ToLower(c)
		}
		return unicode.ToTitle(c)
	}, s)
}

func capitalize(s string) string {
	if s == "" {
		return ""
	}
	c, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToTitle(c)) + strings.ToLower(s[n:])
}
