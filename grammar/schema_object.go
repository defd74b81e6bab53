package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// property is what an object may have under a name.
type property struct {
	name     string
	required bool
	parts    []part // nil if any value may be there
	none     bool   // nothing may be there
}

// properties returns the properties that the schemas name, in the order in which they are first named.
func (c *converter) properties(s *spec) ([]property, error) {
	var list []property
	index := map[string]int{}
	name := func(n string, required bool) {
		i, ok := index[n]
		if !ok {
			i = len(list)
			index[n] = i
			list = append(list, property{name: n})
		}
		list[i].required = list[i].required || required
	}
	for _, o := range s.objs {
		if o.properties != nil {
			for _, key := range o.properties.keys {
				name(key, false)
			}
		}
	}
	for _, o := range s.objs {
		for _, key := range o.required {
			name(key, true)
		}
	}
	var err error
	for i := range list {
		p := &list[i]
		for _, o := range s.objs {
			v := o.additional
			if o.properties != nil && o.properties.fields[p.name] != nil {
				v = o.properties.fields[p.name]
			}
			if v == nil {
				continue
			}
			if p.parts, err = c.flatten(v, p.parts); err != nil {
				return nil, err
			}
		}
		p.none = slices.ContainsFunc(p.parts, func(p part) bool { return p.v.kind == kindBool && !p.v.yes })
	}
	return list, nil
}

// object returns an expression of the objects that are valid by a spec. Properties come in the order of the schema.
// More than are named may come only if additionalProperties says so, or if none is named.
func (c *converter) object(s *spec, hint string) (string, error) {
	list, err := c.properties(s)
	if err != nil {
		return "", err
	}
	kept := list[:0:0]
	var members []string // rules of the properties with their names
	for _, p := range list {
		value := ""
		if p.parts == nil {
			value = c.shared("value")
		} else if !p.none {
			if value, err = c.rule(p.parts, hint+"-"+p.name); err != nil {
				return "", err
			}
		}
		if value == "" { // nothing is valid there
			if p.required {
				return "", nil
			}
			continue
		}
		member, err := c.newRule(hint+"-"+p.name+"-kv", s.ptr)
		if err != nil {
			return "", err
		}
		if err := c.define(member, c.key(p.name)+" "+value); err != nil {
			return "", err
		}
		kept, members = append(kept, p), append(members, member)
	}
	extra, err := c.extra(s, list, hint)
	if err != nil {
		return "", err
	}
	first, empty, err := c.members(kept, members, extra, hint, s.ptr)
	if err != nil {
		return "", err
	}
	ws := c.shared("ws")
	switch {
	case first == "":
		return `"{" ` + ws + ` "}"`, nil
	case empty:
		return `"{" ` + ws + " (" + group(first) + " " + ws + `)? "}"`, nil
	}
	return `"{" ` + ws + " " + group(first) + " " + ws + ` "}"`, nil
}

// members returns an expression of one property or more with commas between them, and whether there may be none.
func (c *converter) members(list []property, rules []string, extra, hint, ptr string) (expr string, empty bool,
	err error) {
	comma := c.comma()
	// What may follow a property: the rest, each with a comma in front. tails are shared by the properties that may be
	// the first.
	tail := ""
	if extra != "" {
		tail = "(" + strings.TrimSpace(comma) + " " + extra + ")*"
	}
	lead := 0 // properties that may be the first
	for lead < len(list) && !list[lead].required {
		lead++
	}
	empty = lead == len(list)
	lead = min(lead+1, len(list))
	tails := make([]string, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		if i < lead && lead > 1 && strings.Contains(tail, " ") {
			name, err := c.newRule(hint+"-rest", ptr)
			if err != nil {
				return "", false, err
			}
			if err := c.define(name, tail); err != nil {
				return "", false, err
			}
			tail = name
		}
		tails[i] = tail
		if list[i].required {
			tail = strings.TrimSpace(comma+rules[i]) + " " + tail
		} else {
			tail = "(" + strings.TrimSpace(comma+rules[i]) + ")? " + tail
		}
		tail = strings.TrimSpace(tail)
	}
	var alts []string
	for i := range lead {
		alts = append(alts, strings.TrimSpace(rules[i]+" "+tails[i]))
	}
	if empty && extra != "" {
		alts = append(alts, extra+" ("+strings.TrimSpace(comma)+" "+extra+")*")
	}
	return strings.Join(alts, " | "), empty, nil
}

// extra returns the rule of a property that the schema does not name, empty if there may be none.
func (c *converter) extra(s *spec, named []property, hint string) (string, error) {
	parts, given := []part(nil), false
	var err error
	for _, o := range s.objs {
		if o.additional != nil {
			given = true
			if parts, err = c.flatten(o.additional, parts); err != nil {
				return "", err
			}
		}
	}
	value := ""
	switch {
	case given:
		if value, err = c.rule(parts, hint+"-extra"); err != nil || value == "" {
			return "", err
		}
	case len(named) > 0:
		return "", nil
	default:
		value = c.shared("value")
	}
	key := ""
	if len(named) == 0 {
		key = c.shared("string")
	} else {
		var names []string
		for _, p := range named {
			text := quoteJSON(p.name)
			names = append(names, text[1:len(text)-1])
		}
		slices.Sort(names)
		other, err := c.otherKey(names, hint, s.ptr)
		if err != nil {
			return "", err
		}
		key = `"\"" ` + other + ` "\""`
	}
	name, err := c.newRule(hint+"-extra-kv", s.ptr)
	if err != nil {
		return "", err
	}
	return name, c.define(name, key+" "+c.shared("colon")+" "+value)
}

// simpleEscapes are what may follow a backslash in the name of an additional property. With these every name is spelled
// in one way, so that none can be the name of another property in disguise.
const simpleEscapes = `"\bfnrt`

// otherKey returns an expression of the names that are not in a list, which is in ascending order and escaped.
func (c *converter) otherKey(names []string, hint, ptr string) (string, error) {
	if len(names) == 1 && names[0] == "" {
		return c.shared("keychar") + "+", nil
	}
	name, err := c.newRule(hint+"-key", ptr)
	if err != nil {
		return "", err
	}
	var alts []string
	plain, escaped := `"\`, "" // what names go on with, and what is no plain character
	if names[0] == "" {
		names = names[1:]
	} else {
		alts = append(alts, `""`)
	}
	for len(names) > 0 {
		n := 1
		for n < len(names[0]) && !utf8.RuneStart(names[0][n]) || names[0][0] == '\\' && n < 2 {
			n++
		}
		first := names[0][:n]
		rest := []string{}
		for len(names) > 0 && strings.HasPrefix(names[0], first) {
			rest = append(rest, names[0][n:])
			names = names[1:]
		}
		switch {
		case first[0] != '\\':
			plain += first
		case strings.Contains(simpleEscapes, first[1:]):
			escaped += first[1:]
		default:
			continue // \u, which no other name has
		}
		below, err := c.otherKey(rest, hint, ptr)
		if err != nil {
			return "", err
		}
		alts = append(alts, quoteGBNF(first)+" "+below)
	}
	alts = append(alts, `[^`+escapeClass(plain)+`\x00-\x1F] `+c.shared("keychar")+"*")
	left := strings.Map(func(r rune) rune {
		if strings.ContainsRune(escaped, r) {
			return -1
		}
		return r
	}, simpleEscapes)
	if left != "" {
		alts = append(alts, `"\\" [`+escapeClass(left)+"] "+c.shared("keychar")+"*")
	}
	return name, c.define(name, strings.Join(alts, " | "))
}

// escapeClass writes characters for a class.
func escapeClass(chars string) string {
	var b strings.Builder
	for _, r := range chars {
		b.WriteString(escapeGBNF(r))
	}
	return b.String()
}
