package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// spec returns an expression of what is valid by a spec, empty if nothing is.
func (c *converter) spec(s *spec, hint string) (string, error) {
	if s.values != nil {
		return c.values(s)
	}
	types := s.within()
	if types == anyType {
		return c.shared("value"), nil
	}
	var alts []string
	for _, t := range []struct {
		types typeSet
		emit  func(*spec, string) (string, error)
	}{
		{typeObject, c.object}, {typeArray, c.array}, {typeString, c.string}, {typeNumber, c.number},
	} {
		if types&t.types == 0 {
			continue
		}
		expr, err := t.emit(s, hint)
		if err != nil {
			return "", err
		}
		if expr != "" {
			alts = append(alts, expr)
		}
	}
	if types&typeBool != 0 {
		alts = append(alts, `"true" | "false"`)
	}
	if types&typeNull != 0 {
		alts = append(alts, `"null"`)
	}
	return strings.Join(alts, " | "), nil
}

// values returns an expression of the constants that have a type that is allowed.
func (c *converter) values(s *spec) (string, error) {
	if s.given != "" {
		return "", schemaError(s.given, "together with enum or const it is not supported")
	}
	var alts []string
	var texts []string
	for _, v := range s.values {
		if v.typeOf()&s.types == 0 {
			continue
		}
		if v.kind == kindString {
			texts = append(texts, quoteJSON(v.text))
		} else {
			alts = append(alts, c.constant(v))
		}
	}
	if len(texts) > 0 {
		slices.Sort(texts)
		expr, err := c.texts(texts, s.ptr)
		if err != nil {
			return "", err
		}
		alts = append([]string{expr}, alts...)
	}
	return strings.Join(alts, " | "), nil
}

// constant returns an expression of a value, with optional blanks.
func (c *converter) constant(v *value) string {
	var parts []string
	switch v.kind {
	case kindString:
		return quoteGBNF(quoteJSON(v.text))
	case kindNumber:
		if plain := v.same(); plain != v.text && len(plain) <= wholeDigits+fracDigits {
			return "(" + quoteGBNF(v.text) + " | " + quoteGBNF(plain) + ")"
		}
		return quoteGBNF(v.text)
	case kindArray:
		for _, item := range v.items {
			parts = append(parts, c.constant(item))
		}
		return c.brackets("[", parts, "]")
	case kindObject:
		for _, key := range v.keys {
			parts = append(parts, c.key(key)+" "+c.constant(v.fields[key]))
		}
		return c.brackets("{", parts, "}")
	}
	return quoteGBNF(v.same())
}

// brackets puts commas and blanks between parts.
func (c *converter) brackets(open string, parts []string, end string) string {
	ws := c.shared("ws")
	if len(parts) == 0 {
		return quoteGBNF(open) + " " + ws + " " + quoteGBNF(end)
	}
	return quoteGBNF(open) + " " + ws + " " + strings.Join(parts, c.comma()) + " " + ws + " " + quoteGBNF(end)
}

// comma returns what stands between two members.
func (c *converter) comma() string { return ` "," ` + c.shared("ws") + " " }

// key returns an expression of a property's name and what stands between it and the value.
func (c *converter) key(name string) string {
	return quoteGBNF(quoteJSON(name)) + " " + c.shared("colon")
}

// texts returns an expression of one of some different texts in ascending order. What they begin with in common is
// written once, so that the matcher follows one derivation.
func (c *converter) texts(list []string, ptr string) (string, error) {
	first, last := list[0], list[len(list)-1]
	if len(list) == 1 {
		return quoteGBNF(first), nil
	}
	same := 0
	for i, r := range first {
		if !strings.HasPrefix(last[min(i, len(last)):], string(r)) {
			break
		}
		same = i + utf8.RuneLen(r)
	}
	var alts []string
	for from := 0; from < len(list); {
		rest := list[from][same:]
		r, _ := utf8.DecodeRuneInString(rest)
		to := from + 1
		for to < len(list) && rest != "" && strings.HasPrefix(list[to][same:], string(r)) {
			to++
		}
		group := make([]string, to-from)
		for i := range group {
			group[i] = list[from+i][same:]
		}
		alt, err := c.texts(group, ptr)
		if err != nil {
			return "", err
		}
		alts = append(alts, alt)
		from = to
	}
	body := strings.Join(alts, " | ")
	if same == 0 {
		return body, nil
	}
	name, err := c.newRule("text", ptr)
	if err != nil {
		return "", err
	}
	return quoteGBNF(first[:same]) + " " + name, c.define(name, body)
}
