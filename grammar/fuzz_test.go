package grammar

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Whatever the text is: no panic, no error but a SyntaxError with a place in it, and a grammar that is taken writes
// texts that it matches.
func FuzzParse(f *testing.F) {
	for _, src := range []string{
		`root ::= "abc" [a-z^-] . ("x" | y)* {2} z{1,} {0,3}?` +
			"\ny ::= \"é\\n\\x41\\u00e9\\U0001F600\" # comment\nz ::= [^\\]\"]+",
		"root ::= (\n \"a\" |\n \"b\"\n)", `root ::= "(" root ")" |`, "root ::= root", `root ::= ("a"?)* "b"{1000000}`,
		"root ::= \"", "root ::= [", "root ::= \"a\"{", "a-b_1 ::= 1\r\n1 ::= \"\"",
	} {
		f.Add(src, "abcé(((")
	}
	text, err := SchemaToGBNF([]byte(benchSchema))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, `{"name": "x", "kind": "`)
	f.Fuzz(func(t *testing.T, src, text string) {
		g, err := Parse(src)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.Line < 1 || e.Line > strings.Count(src, "\n")+1 || e.Column < 1 ||
				e.Column > len(src)+1 || e.Msg == "" {
				t.Fatalf("error %#v of %q", err, src)
			}
			return
		}
		m := g.Matcher()
		for i := range len(text) {
			if !m.Allowed([]byte(text[i : i+1])) {
				break
			}
			if err := m.Advance([]byte(text[i : i+1])); err != nil {
				t.Fatalf("%q is allowed, and then: %v", text[i], err)
			}
		}
		if m.CanEnd() == false && m.MustEnd() == true {
			t.Fatalf("after %q the text may neither go on nor end", text)
		}
		w := newWalker(g, rand.New(rand.NewPCG(1, 2)))
		if out, err := w.tryText(20); err == nil && !matches(g, out) {
			t.Fatalf("%q wrote %q, which is not matched", src, out)
		}
	})
}

// Whatever the schema is: no panic, no error but a SchemaError, and what is written by the grammar is JSON, and valid
// by the schema if another implementation knows it.
func FuzzJSONSchema(f *testing.F) {
	for _, s := range schemas {
		f.Add([]byte(s.schema))
	}
	f.Add([]byte(benchSchema))
	f.Add([]byte(`{"$ref": "#"}`))
	f.Add([]byte(`{"anyOf": [{"$ref": "#"}]}`))
	f.Add([]byte(`{"pattern": "((a*)*)*$"}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		g, err := JSONSchema(schema)
		if err != nil {
			var e *SchemaError
			if !errors.As(err, &e) || !strings.HasPrefix(e.Pointer, "#") || e.Msg == "" {
				t.Fatalf("error %#v of %q", err, schema)
			}
			return
		}
		w := newWalker(g, rand.New(rand.NewPCG(1, 2)))
		doc, err := w.tryText(60)
		if err != nil {
			return
		}
		if !json.Valid([]byte(doc)) {
			t.Fatalf("%s wrote %s, which is not JSON", schema, doc)
		}
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
		if err != nil {
			return
		}
		c := jsonschema.NewCompiler()
		if c.AddResource("schema.json", parsed) != nil {
			return
		}
		s, err := c.Compile("schema.json")
		if err != nil {
			return
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatalf("%s wrote %s: %v", schema, doc, err)
		}
		if err := s.Validate(v); err != nil {
			t.Fatalf("%s wrote %s: %v", schema, doc, err)
		}
	})
}
