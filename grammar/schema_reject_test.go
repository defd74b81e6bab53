package grammar

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// manyRefs returns a schema that refers to another that refers to another ...
func manyRefs(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/a1", "$defs": {`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `"a%d": {"$ref": "#/$defs/a%d"}, `, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d": {}}}`, n)
	return b.String()
}

func manyProperties(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"p%d": {}`, i)
	}
	return strings.Join(list, ", ")
}

func TestRejectSchema(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 300) + `{}` + strings.Repeat(`}`, 300)
	tests := []struct {
		name, schema, ptr, want string
	}{
		{"empty", ``, "#", "not JSON"},
		{"cut off", `{"type": "object"`, "#", "not JSON"},
		{"two", `{} {}`, "#", "not JSON"},
		{"not UTF-8", "{\"title\": \"\xff\"}", "#", "not UTF-8"},
		{"large", `{"title": "` + strings.Repeat("a", maxSource) + `"}`, "#", "bytes, expected at most"},
		{"key twice", `{"properties": {"a": {}, "a": true}}`, "#/properties/a", "the key is there twice"},
		{"too deep", deep, "#" + strings.Repeat("/items", 201), "nested more than 200 deep"},
		{"a number", `7`, "#", "found integer, expected a schema"},
		{"a list", `{"properties": {"a/b~": []}}`, "#/properties/a~1b~0", "found array, expected a schema"},
		{"false", `false`, "#", "no document is valid"},

		{"unknown keyword", `{"properties": {"a": {"foo": 1}}}`, "#/properties/a/foo",
			`the keyword "foo" is not supported`},
		{"not", `{"not": {}}`, "#/not", "is not supported"},
		{"if", `{"if": {}}`, "#/if", "is not supported"},
		{"patternProperties", `{"patternProperties": {}}`, "#/patternProperties", "is not supported"},
		{"multipleOf", `{"type": "number", "multipleOf": 2}`, "#/multipleOf", "is not supported"},
		{"uniqueItems", `{"uniqueItems": true}`, "#/uniqueItems", "a grammar cannot compare"},
		{"contains", `{"items": {"contains": {}}}`, "#/items/contains", "is not supported"},
		{"$anchor", `{"$defs": {"a": {"$anchor": "b"}}, "$ref": "#/$defs/a"}`, "#/$defs/a/$anchor", "is not supported"},
		{"$id within", `{"items": {"$id": "x"}}`, "#/items/$id", "at the root only"},
		{"nullable", `{"type": "string", "nullable": true}`, "#/nullable", "is not supported"},

		{"type", `{"type": "text"}`, "#/type", `found "text", expected one of array, boolean`},
		{"type of a number", `{"type": ["null", 3]}`, "#/type/1", "found 3, expected one of"},
		{"no type", `{"type": []}`, "#/type", "the list of types is empty"},
		{"enum", `{"enum": 3}`, "#/enum", "found integer, expected an array"},
		{"enum empty", `{"enum": []}`, "#/enum", "expected an array of at least one value"},
		{"enum with length", `{"minLength": 3, "enum": ["abc"]}`, "#/minLength", "together with enum or const"},
		{"enum of other types", `{"type": "string", "enum": [1, null]}`, "#", "no document is valid"},
		{"const and enum apart", `{"const": 1, "enum": [2, 3]}`, "#", "no document is valid"},
		{"properties", `{"properties": []}`, "#/properties", "found array, expected an object"},
		{"required", `{"required": "a"}`, "#/required", "found string, expected an array of strings"},
		{"required of a number", `{"required": ["a", 1]}`, "#/required/1", "found integer, expected a string"},
		{"required is false", `{"type": "object", "properties": {"a": false}, "required": ["a"]}`, "#",
			"no document is valid"},
		{"required is not allowed", `{"type": "object", "additionalProperties": false, "required": ["a"]}`, "#",
			"no document is valid"},
		{"additionalProperties", `{"additionalProperties": 1}`, "#/additionalProperties",
			"found integer, expected a schema"},
		{"items as a list", `{"items": [{}]}`, "#/items", "prefixItems takes a list"},
		{"prefixItems", `{"prefixItems": {}}`, "#/prefixItems", "expected an array of at least one schema"},
		{"minItems", `{"minItems": -1}`, "#/minItems", "found -1, expected a whole number from 0 to"},
		{"maxItems", `{"maxItems": 1.5}`, "#/maxItems", "found 1.5, expected a whole number"},
		{"items the wrong way round", `{"type": "array", "minItems": 3, "maxItems": 2}`, "#", "no document is valid"},
		{"too few items", `{"type": "array", "items": false, "minItems": 1}`, "#", "no document is valid"},
		{"maxLength", `{"maxLength": "3"}`, "#/maxLength", `found "3", expected a whole number`},
		{"maxLength large", `{"maxLength": 1e9}`, "#/maxLength",
			"found 1000000000, expected a whole number from 0 to 1048576"},
		{"lengths the wrong way round", `{"type": "string", "minLength": 3, "maxLength": 2}`, "#",
			"no document is valid"},
		{"minimum", `{"minimum": "3"}`, "#/minimum", "found string, expected a number"},
		{"draft 4", `{"minimum": 3, "exclusiveMinimum": true}`, "#/exclusiveMinimum",
			"found boolean, expected a number"},
		{"minimum large", `{"minimum": 1e400}`, "#/minimum", "more than 60 digits"},
		{"minimum larger", `{"minimum": 1e99999999999}`, "#/minimum", "the exponent of 1e99999999999 is out of range"},
		{"range the wrong way round", `{"type": "number", "minimum": 3, "maximum": 2}`, "#", "no document is valid"},
		{"no integer between", `{"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}`, "#",
			"no document is valid"},
		{"empty range", `{"type": "number", "exclusiveMinimum": 3, "maximum": 3}`, "#", "no document is valid"},

		{"pattern", `{"pattern": "a("}`, "#/pattern", "missing closing"},
		{"pattern type", `{"pattern": 1}`, "#/pattern", "found integer, expected a string"},
		{"lookahead", `{"pattern": "^(?!a)b$"}`, "#/pattern", "invalid or unsupported Perl syntax"},
		{"back reference", `{"pattern": "(a)\\1"}`, "#/pattern", "invalid escape"},
		{"word boundary", `{"pattern": "\\bfoo"}`, "#/pattern", `\b is not supported there`},
		{"anchor within", `{"pattern": "a(^b)?"}`, "#/pattern", "is not supported there"},
		{"pattern with length", `{"pattern": "a", "minLength": 3}`, "#/pattern",
			"together with minLength or maxLength"},
		{"two patterns", `{"allOf": [{"pattern": "a"}, {"pattern": "b"}]}`, "#/allOf/1/pattern",
			"a second one beside #/allOf/0/pattern"},
		{"deep pattern", `{"pattern": "` + strings.Repeat("(?:a|b", 150) + strings.Repeat(")*", 150) + `"}`,
			"#/pattern", "nested more than 100 deep"},
		{"class of nothing", `{"pattern": "[^\\x00-\\x{10FFFF}]"}`, "#/pattern", "no character is in the class"},
		{"format", `{"format": "phone"}`, "#/format", `found "phone", expected one of date, date-time, email`},
		{"format with pattern", `{"format": "date", "pattern": "a"}`, "#/format", "together with a pattern"},
		{"format with length", `{"format": "date", "maxLength": 3}`, "#/format", "together with minLength"},

		{"$ref", `{"$ref": 1}`, "#/$ref", "found integer, expected a string"},
		{"$ref elsewhere", `{"$ref": "https://example.com/x"}`, "#/$ref", "expected a reference within the schema"},
		{"$ref to an anchor", `{"$ref": "#x"}`, "#/$ref", "expected a reference within the schema"},
		{"$ref to nothing", `{"$ref": "#/$defs/a"}`, "#/$ref", `there is no "$defs" in #`},
		{"$ref to itself", `{"properties": {"a": {"$ref": "#/properties/a"}}}`, "#/properties/a",
			"refers back to itself"},
		{"allOf with itself", `{"allOf": [{"type": "null"}, {"$ref": "#"}]}`, "#", "refers back to itself"},
		{"$ref past a list", `{"allOf": [{}], "$ref": "#/allOf/1"}`, "#/$ref", `there is no "1" in #/allOf`},
		{"$ref to a string", `{"title": "x", "$ref": "#/title"}`, "#/title", "found string, expected a schema"},
		{"$ref escaped wrongly", `{"$ref": "#/%zz"}`, "#/$ref", "expected a URI fragment"},
		{"allOf", `{"allOf": {}}`, "#/allOf", "expected an array of at least one schema"},
		{"allOf apart", `{"allOf": [{"type": "string"}, {"type": "null"}]}`, "#", "no document is valid"},
		{"anyOf", `{"anyOf": []}`, "#/anyOf", "expected an array of at least one schema"},
		{"anyOf of nothing", `{"anyOf": [false, {"type": "string", "enum": [1]}]}`, "#", "no document is valid"},
		{"anyOf itself", `{"anyOf": [{"type": "null"}, {"$ref": "#"}]}`, "#/anyOf/1", "it refers back to #"},
		{"oneOf with overlap", `{"oneOf": [{"type": "integer"}, {"type": "null"}, {"type": "number"}]}`, "#/oneOf",
			"valid by both 0 and 2"},
		{"oneOf of objects", `{"oneOf": [{"type": "object", "properties": {"a": {"type": "null"}}}, {"type": "object", "properties": {"a": {"type": "string"}}}]}`, "#/oneOf", "valid by both 0 and 1"},
		{"never ends", `{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`, "#",
			"never ends: root -> root-a-kv -> root"},
		{"never ends below", `{"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}}}}`, "#/$defs/a", "never ends: root-x -> root-x"},
		{"many schemas of one value", manyRefs(250), "#/$defs/a200", "more than 200 schemas apply to one value"},
		{"10**12 choices", `{"allOf": [` +
			strings.Repeat(`{"anyOf": [{"minLength": 1}`+strings.Repeat(`, {"maxLength": 9}`, 9)+`]}, `, 12) + `{}]}`,
			"#/allOf/0", "has more than 1048576 bytes"},
		{"many schemas of a oneOf", `{"oneOf": [{}` + strings.Repeat(", {}", maxOneOf) + `]}`, "#/oneOf",
			"found 257 schemas, expected at most 256"},
		{"many rules", `{"properties": {` + manyProperties(maxRules) + `}}`, "#", "more than 20000 parts"},
		{"much text", `{"enum": ["` + strings.Repeat("a", maxText) + `"]}`, "#", "has more than 1048576 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, err := JSONSchema([]byte(test.schema))
			var e *SchemaError
			if g != nil || !errors.As(err, &e) || e.Pointer != test.ptr || !strings.Contains(e.Msg, test.want) {
				t.Fatalf("got %v, want %s: %s", err, test.ptr, test.want)
			}
			if want := "grammar: schema " + e.Pointer + ": " + e.Msg; err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}
