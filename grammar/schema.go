package grammar

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// SchemaToGBNF turns a JSON schema into the text of a grammar for the JSON documents that are valid by it. An error is
// a SchemaError, and names the part of the schema that is at fault or not supported.
func SchemaToGBNF(schema []byte) (string, error) {
	c, err := convert(schema)
	if err != nil {
		return "", err
	}
	return c.String(), nil
}

// convert makes the rules of a schema.
func convert(schema []byte) (*converter, error) {
	root, err := parseValue(schema)
	if err != nil {
		return nil, err
	}
	c := newConverter(root)
	name, err := c.newRule("root", "#")
	if err != nil {
		return nil, err
	}
	parts, err := c.flatten(root, nil)
	if err != nil {
		return nil, err
	}
	c.byKey[keyOf(parts)] = name
	body, err := c.schema(parts, name)
	if err != nil {
		return nil, err
	}
	if body == "" {
		return nil, schemaError("#", "no document is valid by the schema")
	}
	return c, c.define(name, body)
}

func newConverter(root *value) *converter {
	return &converter{
		root: root, text: map[string]string{}, byKey: map[string]string{}, owner: map[string]string{},
		recursive: map[string]bool{},
	}
}

// String returns the rules, one a line.
func (c *converter) String() string {
	var b strings.Builder
	for _, name := range c.order {
		fmt.Fprintf(&b, "%s ::= %s\n", name, c.text[name])
	}
	return b.String()
}

// JSONSchema returns the grammar of the JSON documents that are valid by a schema; see the package's comment for what
// of JSON schema it knows. An error is a SchemaError.
func JSONSchema(schema []byte) (*Grammar, error) {
	c, err := convert(schema)
	if err != nil {
		return nil, err
	}
	g, err := Parse(c.String())
	if syntax, ok := errors.AsType[*SyntaxError](err); ok {
		// What remains is documents that would have no end, and size.
		return nil, schemaError(c.owner[c.order[syntax.Line-1]], "%s", syntax.Msg)
	}
	return g, err
}

const (
	maxRules = 20000   // of a schema's grammar
	maxText  = 1 << 20 // bytes of it
)

// converter makes rules of schemas.
type converter struct {
	root  *value
	order []string          // names of rules
	text  map[string]string // what they stand for
	byKey map[string]string // rules by the schemas they are of; empty for those that nothing is valid by
	owner map[string]string // by rule, the schema
	// Rules that were asked for while they were being made, among others.
	recursive map[string]bool
	bytes     int
}

// part is a schema that a value must be valid by, together with others. done are keywords that have been dealt with.
type part struct {
	v    *value
	done uint8
}

const (
	doneAnyOf = 1 << iota
	doneOneOf
)

func keyOf(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.v.ptr)
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(int(p.done)))
		b.WriteByte('\n')
	}
	return b.String()
}

// flatten adds to parts a schema and all that it refers to or must be valid by as well, each once.
func (c *converter) flatten(v *value, parts []part) ([]part, error) {
	seen := map[*value]flattening{}
	for _, p := range parts {
		seen[p.v] = flattened
	}
	return c.flattenInto(v, parts, seen)
}

// flattening says how far the flattening of a schema has come.
type flattening uint8

const (
	_ flattening = iota
	flattens
	flattened
)

func (c *converter) flattenInto(v *value, parts []part, seen map[*value]flattening) ([]part, error) {
	if v.kind != kindObject && v.kind != kindBool {
		return nil, schemaError(v.ptr, "found %s, expected a schema: an object or a boolean", v.typeOf())
	}
	switch seen[v] {
	case flattens:
		return nil, schemaError(v.ptr, "the schema refers back to itself for the same value")
	case flattened:
		return parts, nil
	}
	seen[v] = flattens
	defer func() { seen[v] = flattened }()
	if len(seen) > maxNesting {
		return nil, schemaError(v.ptr, "more than %d schemas apply to one value", maxNesting)
	}
	ref := v.fields["$ref"]
	all, err := v.schemas("allOf")
	if err != nil {
		return nil, err
	}
	// A schema that says nothing itself is not added, so that a reference is the same as what it refers to.
	if ref == nil && all == nil || slices.ContainsFunc(v.keys, saysSomething) {
		parts = append(parts, part{v: v})
	}
	if ref != nil {
		target, err := c.resolve(ref)
		if err != nil {
			return nil, err
		}
		if parts, err = c.flattenInto(target, parts, seen); err != nil {
			return nil, err
		}
	}
	for _, sub := range all {
		if parts, err = c.flattenInto(sub, parts, seen); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// saysSomething reports whether a keyword restricts values by itself.
func saysSomething(keyword string) bool {
	return keyword == "anyOf" || keyword == "oneOf" ||
		!slices.Contains(annotations, keyword) && !strings.HasPrefix(keyword, "x-")
}

// resolve follows a reference within the document.
func (c *converter) resolve(ref *value) (*value, error) {
	if ref.kind != kindString {
		return nil, schemaError(ref.ptr, "found %s, expected a string", ref.typeOf())
	}
	path, ok := strings.CutPrefix(ref.text, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, schemaError(ref.ptr, "found %q, expected a reference within the schema: # or #/...", ref.text)
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, schemaError(ref.ptr, "found %q, expected a URI fragment", ref.text)
	}
	v := c.root
	for i, step := range strings.Split(path, "/") {
		if i == 0 {
			continue // before the first slash
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := v.fields[step]
		if n, err := strconv.Atoi(step); v.kind == kindArray && err == nil && n >= 0 && n < len(v.items) {
			next = v.items[n]
		}
		if next == nil {
			return nil, schemaError(ref.ptr, "found %q, expected a part of the schema: there is no %q in %s",
				ref.text, step, v.ptr)
		}
		v = next
	}
	return v, nil
}

// schemas returns the list of schemas of a keyword, nil without it.
func (v *value) schemas(keyword string) ([]*value, error) {
	list := v.fields[keyword]
	if list == nil {
		return nil, nil
	}
	if list.kind != kindArray || len(list.items) == 0 {
		return nil, schemaError(list.ptr, "found %s, expected an array of at least one schema", list.typeOf())
	}
	return list.items, nil
}

// rule returns the name of a rule for what is valid by all parts, empty if nothing is.
func (c *converter) rule(parts []part, hint string) (string, error) {
	key := keyOf(parts)
	if name, ok := c.byKey[key]; ok {
		c.recursive[name] = true // or it is done already, and nothing asks
		return name, nil
	}
	name, err := c.newRule(hint, parts[0].v.ptr)
	if err != nil {
		return "", err
	}
	c.byKey[key] = name // for schemas that refer to themselves
	body, err := c.schema(parts, hint)
	if err != nil {
		return "", err
	}
	if body != "" {
		return name, c.define(name, body)
	}
	c.byKey[key] = ""
	if c.recursive[name] {
		return "", c.define(name, name) // of no use but to be refused: documents by it would have no end
	}
	c.order = slices.DeleteFunc(c.order, func(n string) bool { return n == name })
	return "", nil
}

// newRule reserves a name that is like hint.
func (c *converter) newRule(hint, ptr string) (string, error) {
	if len(c.order) >= maxRules {
		return "", schemaError(ptr, "the schema has more than %d parts", maxRules)
	}
	clean := strings.Map(func(r rune) rune {
		if r < 128 && isNameByte(byte(r)) {
			return r
		}
		return '-'
	}, hint)
	if len(clean) > 60 {
		clean = clean[:60]
	}
	name := clean
	for i := 2; ; i++ {
		if _, taken := c.text[name]; !taken {
			break
		}
		name = clean + "-" + strconv.Itoa(i)
	}
	c.order = append(c.order, name)
	c.text[name], c.owner[name] = "", ptr
	return name, nil
}

// define says what a rule stands for.
func (c *converter) define(name, body string) error {
	if c.bytes += len(name) + len(body); c.bytes > maxText {
		return schemaError(c.owner[name], "the schema's grammar has more than %d bytes", maxText)
	}
	c.text[name] = body
	return nil
}

// schema returns an expression of what is valid by all parts, empty if nothing is.
func (c *converter) schema(parts []part, hint string) (string, error) {
	for i, p := range parts {
		if p.v.kind == kindBool {
			if !p.v.yes {
				return "", nil
			}
			continue
		}
		for _, choice := range []struct {
			keyword string
			done    uint8
		}{{"anyOf", doneAnyOf}, {"oneOf", doneOneOf}} {
			list, err := p.v.schemas(choice.keyword)
			if err != nil {
				return "", err
			}
			if list != nil && p.done&choice.done == 0 {
				rest := slices.Clone(parts)
				rest[i].done |= choice.done
				return c.choice(p.v.fields[choice.keyword], rest, hint)
			}
		}
	}
	s, err := newSpec(parts)
	if err != nil {
		return "", err
	}
	return c.spec(s, hint)
}

// choice returns an expression of what is valid by the parts and by a schema of the list.
func (c *converter) choice(list *value, parts []part, hint string) (string, error) {
	if strings.HasSuffix(list.ptr, "/oneOf") {
		if err := c.checkDisjoint(list, parts); err != nil {
			return "", err
		}
	}
	var alts []string
	for i, sub := range list.items {
		own, err := c.flatten(sub, nil)
		if err != nil {
			return "", err
		}
		for _, p := range parts {
			if p.done != 0 && slices.ContainsFunc(own, func(q part) bool { return p.v == q.v }) {
				return "", schemaError(sub.ptr, "it refers back to %s, of which it is a part", p.v.ptr)
			}
		}
		all, err := c.flatten(sub, slices.Clone(parts))
		if err != nil {
			return "", err
		}
		name, err := c.rule(all, hint+"-"+strconv.Itoa(i))
		if err != nil {
			return "", err
		}
		if name != "" && !slices.Contains(alts, name) {
			alts = append(alts, name)
		}
	}
	return strings.Join(alts, " | "), nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quoteGBNF writes a literal.
func quoteGBNF(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		b.WriteString(escapeGBNF(r))
	}
	b.WriteByte('"')
	return b.String()
}

// escapeGBNF writes a character of a literal or a class.
func escapeGBNF(r rune) string {
	switch {
	case strings.ContainsRune(`"\[]-`, r):
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r < 0x20 || r == '^' || r == 0x7f:
		return fmt.Sprintf(`\x%02X`, r)
	}
	return string(r)
}
