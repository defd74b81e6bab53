package grammar

import (
	"fmt"
	"strconv"
	"strings"
)

// string returns an expression of the strings that are valid by a spec.
func (c *converter) string(s *spec, hint string) (string, error) {
	limited := s.minLength > 0 || s.maxLength >= 0
	for _, v := range []*value{s.pattern, s.format} {
		if v == nil {
			continue
		}
		switch {
		case limited:
			return "", schemaError(v.ptr, "together with minLength or maxLength it is not supported")
		case s.pattern != nil && s.format != nil:
			return "", schemaError(s.format.ptr, "together with a pattern it is not supported")
		}
	}
	switch {
	case s.pattern != nil:
		return c.pattern(s.pattern)
	case s.format != nil:
		body, ok := formats[s.format.text]
		if !ok {
			known := strings.Join(sortedKeys(formats), ", ")
			return "", schemaError(s.format.ptr, "found %q, expected one of %s", s.format.text, known)
		}
		return `"\"" ` + c.sharedAs("format-"+s.format.text, body) + ` "\""`, nil
	case limited:
		if s.maxLength >= 0 && s.maxLength < s.minLength {
			return "", nil
		}
		most := ""
		if s.maxLength >= 0 {
			most = strconv.Itoa(s.maxLength)
		}
		return fmt.Sprintf(`"\"" %s{%d,%s} "\""`, c.shared("char"), s.minLength, most), nil
	}
	return c.shared("string"), nil
}

// number returns an expression of the numbers that are valid by a spec.
func (c *converter) number(s *spec, _ string) (string, error) {
	limited := s.lo.given || s.hi.given
	switch {
	case s.types&typeFraction == 0 && limited:
		return integerRange(s.lo, s.hi), nil
	case s.types&typeFraction == 0:
		return c.shared("integer"), nil
	case limited:
		return numberRange(s.lo, s.hi), nil
	}
	return c.shared("number"), nil
}

// sharedRules are the rules that schemas have in common, with the names of those they use.
var sharedRules = map[string]struct {
	body string
	uses []string
}{
	"value": {`object | array | string | number | "true" | "false" | "null"`,
		[]string{"object", "array", "string", "number"}},
	"object": {`"{" ws (string colon value ("," ws string colon value)* ws)? "}"`,
		[]string{"value", "string", "colon", "ws"}},
	"array":  {`"[" ws (value ("," ws value)* ws)? "]"`, []string{"value", "ws"}},
	"string": {`"\"" char* "\""`, []string{"char"}},
	// A character is one code point, so that lengths are right: an escaped one outside of the first 65,536 is a pair.
	"char": {`[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" (unit | high "\\u" low))`, []string{"unit", "high", "low"}},
	"unit": {`[0-9a-cefA-CEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}`, nil},
	"high": {`[dD] [89abAB] [0-9a-fA-F]{2}`, nil},
	"low":  {`[dD] [c-fC-F] [0-9a-fA-F]{2}`, nil},
	// Digits are limited: models that do not stop at a number write them without end.
	"integer": {fmt.Sprintf(`"-"? ("0" | [1-9] [0-9]{0,%d})`, wholeDigits-1), nil},
	"number":  {fmt.Sprintf(`integer ("." [0-9]{1,%d})? ([eE] [-+]? [0-9]{1,2})?`, fracDigits), []string{"integer"}},
	"colon":   {`":" " "?`, nil},
	// What formatters write between members, and not more.
	"ws":      {`(" " | "\n" [ \t]{0,40})?`, nil},
	"keychar": {`[^"\\\x00-\x1F] | "\\" ["\\bfnrt]`, nil},
}

// shared returns a rule that schemas have in common, and adds it and those it uses if they are not there yet.
func (c *converter) shared(name string) string {
	if _, ok := c.text[name]; ok {
		return name
	}
	r := sharedRules[name]
	c.sharedAs(name, r.body)
	for _, use := range r.uses {
		c.shared(use)
	}
	return name
}

// sharedAs adds a rule under a name that no other may have: names of other rules begin with "root" or "text".
func (c *converter) sharedAs(name, body string) string {
	if _, ok := c.text[name]; !ok {
		c.order = append(c.order, name)
		c.text[name], c.owner[name] = body, "#"
	}
	return name
}

// formats are the formats of strings. All of what is generated has the format; not all that has it is generated: no
// leap seconds, no lower case t and z.
var formats = func() map[string]string {
	const (
		year  = `[0-9]{4}`
		leap  = `([0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00")`
		day28 = `("0" [1-9] | "1" [0-9] | "2" [0-8])`
		day30 = `("0" [1-9] | [12] [0-9] | "30")`
		day31 = `("0" [1-9] | [12] [0-9] | "3" [01])`
		date  = `(` + year + ` "-" ("02-" ` + day28 + ` | ("04" | "06" | "09" | "11") "-" ` + day30 +
			` | ("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ` + day31 + `) | ` + leap + ` "-02-29")`
		hour   = `([01] [0-9] | "2" [0-3])`
		minute = `[0-5] [0-9]`
		clock  = hour + ` ":" ` + minute + ` ":" ` + minute + ` ("." [0-9]{1,9})? ("Z" | [+-] ` + hour + ` ":" ` +
			minute + `)`
		hex    = `[0-9a-fA-F]`
		octet  = `("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])`
		label  = `[0-9a-zA-Z] ([0-9a-zA-Z-]{0,30} [0-9a-zA-Z])?`
		domain = label + ` ("." ` + label + `){0,4}`
	)
	return map[string]string{
		"date":      date,
		"time":      clock,
		"date-time": date + ` "T" ` + clock,
		"uuid":      hex + `{8} "-" ` + hex + `{4} "-" ` + hex + `{4} "-" ` + hex + `{4} "-" ` + hex + `{12}`,
		"ipv4":      octet + ` ("." ` + octet + `){3}`,
		"hostname":  domain,
		"email":     `[0-9a-zA-Z_+-]{1,20} ("." [0-9a-zA-Z_+-]{1,20}){0,2} "@" ` + domain,
	}
}()
