package grammar

import (
	"strconv"
	"strings"
)

// typeSet is a set of the types of JSON schema. A number is an integer or a fraction.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBool
	typeInteger
	typeFraction
	typeString
	typeArray
	typeObject

	typeNumber = typeInteger | typeFraction
	anyType    = 1<<7 - 1
)

var typesByName = map[string]typeSet{
	"null": typeNull, "boolean": typeBool, "integer": typeInteger, "number": typeNumber,
	"string": typeString, "array": typeArray, "object": typeObject,
}

func (t typeSet) String() string {
	var names []string
	for _, name := range sortedKeys(typesByName) {
		x := typesByName[name]
		if name == "number" {
			x = typeFraction // as the type of 0.5 alone
		}
		if t&x != 0 && (name != "integer" || t&typeFraction == 0) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// spec is what the keywords of several schemas ask for together.
type spec struct {
	ptr   string
	types typeSet
	typed bool // there was a type
	hints typeSet

	values []*value // by enum and const; nil without one
	given  string   // the first keyword beside them that restricts a value
	objs   []objectPart
	arrs   []arrayPart

	minItems, maxItems   int
	minLength, maxLength int // of strings, in code points; max < 0 is no limit
	pattern, format      *value
	lo, hi               limit
}

// objectPart is the keywords of one schema for objects.
type objectPart struct {
	properties *value
	additional *value
	required   []string
}

// arrayPart is the keywords of one schema for arrays.
type arrayPart struct {
	prefix []*value
	items  *value
}

// annotations are keywords that restrict nothing, and those that flatten deals with.
var annotations = []string{
	"$schema", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated",
	"readOnly",
	"writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "$ref", "allOf",
}

// newSpec puts the keywords of all parts together. anyOf and oneOf are not looked at.
func newSpec(parts []part) (*spec, error) {
	s := &spec{ptr: parts[0].v.ptr, types: anyType, maxItems: -1, maxLength: -1}
	for _, p := range parts {
		if p.v.kind == kindBool {
			continue
		}
		for _, key := range p.v.keys {
			if key == "anyOf" || key == "oneOf" || !saysSomething(key) {
				continue
			}
			if err := s.keyword(key, p.v.fields[key]); err != nil {
				return nil, err
			}
		}
		if err := s.addObject(p.v); err != nil {
			return nil, err
		}
		if err := s.addArray(p.v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// keyword takes one keyword.
func (s *spec) keyword(key string, v *value) error {
	var hint typeSet
	var err error
	switch key {
	case "type":
		var t typeSet
		if t, err = readTypes(v); err == nil {
			s.types, s.typed = s.types&t, true
		}
		return err
	case "enum":
		if v.kind != kindArray || len(v.items) == 0 {
			return schemaError(v.ptr, "found %s, expected an array of at least one value", v.typeOf())
		}
		s.restrict(v.items)
		return nil
	case "const":
		s.restrict([]*value{v})
		return nil
	case "$id":
		if v.ptr != "#/$id" {
			return schemaError(v.ptr, "$id is supported at the root only")
		}
		return nil
	case "properties", "required", "additionalProperties":
		hint = typeObject
	case "prefixItems", "items":
		hint = typeArray
	case "minItems":
		hint, err = typeArray, raise(&s.minItems, v)
	case "maxItems":
		hint, err = typeArray, lower(&s.maxItems, v)
	case "minLength":
		hint, err = typeString, raise(&s.minLength, v)
	case "maxLength":
		hint, err = typeString, lower(&s.maxLength, v)
	case "pattern":
		hint, err = typeString, setText(&s.pattern, v)
	case "format":
		hint, err = typeString, setText(&s.format, v)
	case "minimum", "exclusiveMinimum":
		hint, err = typeNumber, s.bound(&s.lo, key == "exclusiveMinimum", 1, v)
	case "maximum", "exclusiveMaximum":
		hint, err = typeNumber, s.bound(&s.hi, key == "exclusiveMaximum", -1, v)
	case "uniqueItems":
		if v.kind != kindBool || v.yes {
			return schemaError(v.ptr, "uniqueItems is not supported: a grammar cannot compare values")
		}
		return nil
	default:
		return schemaError(v.ptr, "the keyword %q is not supported", key)
	}
	s.hints |= hint
	if s.given == "" {
		s.given = v.ptr
	}
	return err
}

func readTypes(v *value) (typeSet, error) {
	names := []*value{v}
	if v.kind == kindArray {
		names = v.items
	}
	var types typeSet
	for _, name := range names {
		t, ok := typesByName[name.text]
		if name.kind != kindString || !ok {
			return 0, schemaError(name.ptr, "found %s, expected one of %s", name.same(),
				strings.Join(sortedKeys(typesByName), ", "))
		}
		types |= t
	}
	if types == 0 {
		return 0, schemaError(v.ptr, "the list of types is empty")
	}
	return types, nil
}

// restrict leaves the values that are in the list as well.
func (s *spec) restrict(list []*value) {
	in := map[string]bool{}
	for _, v := range list {
		in[v.same()] = true
	}
	kept := []*value{}
	if s.values == nil {
		s.values = list
	}
	for _, v := range s.values {
		if in[v.same()] {
			kept = append(kept, v)
			delete(in, v.same()) // each once
		}
	}
	s.values = kept
}

// count reads a number of items or characters.
func count(v *value) (int, error) {
	if v.kind == kindNumber {
		if d, err := parseDecimal(v.text); err == nil && d.frac == "" && !d.negative {
			if n, err := strconv.Atoi(d.whole); err == nil && n <= maxRepeat {
				return n, nil
			}
		}
	}
	return 0, schemaError(v.ptr, "found %s, expected a whole number from 0 to %d", v.same(), maxRepeat)
}

func raise(to *int, v *value) error {
	n, err := count(v)
	*to = max(*to, n)
	return err
}

func lower(to *int, v *value) error {
	n, err := count(v)
	if *to < 0 || n < *to {
		*to = n
	}
	return err
}

func setText(to **value, v *value) error {
	if v.kind != kindString {
		return schemaError(v.ptr, "found %s, expected a string", v.typeOf())
	}
	if *to != nil && (*to).text != v.text {
		return schemaError(v.ptr, "a second one beside %s is not supported", (*to).ptr)
	}
	*to = v
	return nil
}

// bound moves an end of the range inwards; sign is 1 for the lower end.
func (s *spec) bound(to *limit, open bool, sign int, v *value) error {
	if v.kind != kindNumber {
		return schemaError(v.ptr, "found %s, expected a number", v.typeOf())
	}
	d, err := parseDecimal(v.text)
	if err != nil {
		return schemaError(v.ptr, "%v", err)
	}
	c := sign * d.compare(to.at)
	if !to.given || c > 0 || c == 0 && open {
		*to = limit{at: d, open: open, given: true}
	}
	return nil
}

func (s *spec) addObject(v *value) error {
	o := objectPart{properties: v.fields["properties"], additional: v.fields["additionalProperties"]}
	if o.properties != nil && o.properties.kind != kindObject {
		return schemaError(o.properties.ptr, "found %s, expected an object", o.properties.typeOf())
	}
	if r := v.fields["required"]; r != nil {
		if r.kind != kindArray {
			return schemaError(r.ptr, "found %s, expected an array of strings", r.typeOf())
		}
		for _, name := range r.items {
			if name.kind != kindString {
				return schemaError(name.ptr, "found %s, expected a string", name.typeOf())
			}
			o.required = append(o.required, name.text)
		}
	}
	if o.properties != nil || o.additional != nil || len(o.required) > 0 {
		s.objs = append(s.objs, o)
	}
	return nil
}

func (s *spec) addArray(v *value) error {
	a := arrayPart{items: v.fields["items"]}
	var err error
	if a.prefix, err = v.schemas("prefixItems"); err != nil {
		return err
	}
	if a.items != nil && a.items.kind == kindArray {
		return schemaError(a.items.ptr, "found an array, expected a schema; prefixItems takes a list of them")
	}
	if a.prefix != nil || a.items != nil {
		s.arrs = append(s.arrs, a)
	}
	return nil
}

// within returns the types that a document may have: those that are asked for, else those that the keywords are about.
func (s *spec) within() typeSet {
	if !s.typed && s.hints != 0 {
		return s.types & s.hints
	}
	return s.types
}
