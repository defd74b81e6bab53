package grammar

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator returns what an independent implementation says about documents.
func validator(t testing.TB, schema string) func(doc string) error {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return func(doc string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

func mustSchema(t testing.TB, schema string) *Grammar {
	t.Helper()
	g, err := JSONSchema([]byte(schema))
	if err != nil {
		t.Fatalf("%s\n%v", schema, err)
	}
	return g
}

// indented returns a document as formatters write it.
func indented(t testing.TB, doc string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(doc), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// spaced returns a document with a blank after each comma and colon, as Python writes it.
func spaced(doc string) string {
	var b strings.Builder
	within := false
	for i := 0; i < len(doc); i++ {
		b.WriteByte(doc[i])
		switch {
		case within && doc[i] == '\\':
			i++
			b.WriteByte(doc[i])
		case doc[i] == '"':
			within = !within
		case !within && (doc[i] == ',' || doc[i] == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Every schema of the table: valid documents are matched however they are spaced, others are not, and what the grammar
// writes at random is valid. The table itself is checked against the other implementation.
func TestSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for _, test := range schemas {
		t.Run(test.name, func(t *testing.T) {
			valid := validator(t, test.schema)
			g := mustSchema(t, test.schema)
			for _, doc := range test.in {
				if err := valid(doc); err != nil {
					t.Errorf("the table is wrong: %s: %v", doc, err)
				}
				for _, form := range []string{doc, spaced(doc), indented(t, doc)} {
					if !matches(g, form) {
						t.Errorf("%s is not matched", form)
					}
				}
			}
			for _, doc := range test.out {
				if valid(doc) == nil {
					t.Errorf("the table is wrong: %s is valid", doc)
				}
				if matches(g, doc) {
					t.Errorf("%s is matched", doc)
				}
			}
			for _, doc := range test.refused {
				if err := valid(doc); err != nil {
					t.Errorf("the table is wrong: %s: %v", doc, err)
				}
				if matches(g, doc) {
					t.Errorf("%s is matched", doc)
				}
			}
			w := newWalker(g, r)
			for range 120 {
				doc := w.text(t, r.IntN(150))
				if err := valid(doc); err != nil {
					t.Fatalf("the grammar wrote %s\n%v", doc, err)
				}
				if !matches(g, doc) {
					t.Fatalf("the grammar wrote %s and does not match it", doc)
				}
				var b bytes.Buffer
				if err := json.Compact(&b, []byte(doc)); err != nil {
					t.Fatal(err)
				}
				for _, form := range []string{b.String(), spaced(b.String()), indented(t, doc)} {
					if !matches(g, form) {
						t.Fatalf("the grammar wrote %s and does not match it as %s", doc, form)
					}
				}
			}
		})
	}
}

// The grammar of a schema is text that a reader may look at and change.
func TestSchemaToGBNF(t *testing.T) {
	text, err := SchemaToGBNF([]byte(
		`{"type": "object", "properties": {"a b": {"type": "integer"}, "c": {"type": "null"}}, "required": ["c"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `root ::= "{" ws (root-a-b-kv root-rest | root-c-kv) ws "}"
root-a-b ::= integer
integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
root-a-b-kv ::= "\"a b\"" colon root-a-b
colon ::= ":" " "?
root-c ::= "null"
root-c-kv ::= "\"c\"" colon root-c
ws ::= (" " | "\n" [ \t]{0,40})?
root-rest ::= "," ws root-c-kv
`
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

func TestJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	object := validator(t, `{"type": "object"}`)
	for name, g := range map[string]*Grammar{"any": JSON(), "object": JSONObject()} {
		t.Run(name, func(t *testing.T) {
			for _, doc := range []string{`{}`, `{"a":[1,-2.5e+3,"x\n\u00e9\ud83d\ude00",true,false,null,{}]}`,
				`{"":[[],[[]]]}`} {
				for _, form := range []string{doc, spaced(doc), indented(t, doc)} {
					if !matches(g, form) {
						t.Errorf("%s is not matched", form)
					}
				}
			}
			for _, doc := range []string{`1`, `"x"`, `[]`, `null`, `-0.5`} {
				if matches(g, doc) != (name == "any") {
					t.Errorf("%s: got %v", doc, matches(g, doc))
				}
			}
			for _, doc := range []string{
				``, ` `, `{`, `{]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{"a":01}`, `{"a":1.}`,
				`{"a":.5}`, `{"a":+1}`, `{"a":"\x"}`,
				`{"a":"\u12"}`, "{\"a\":\"\n\"}", `{"a":"\ud800"}`, `{"a":"\ude00"}`, `{"a":"\ud83d\u0041"}`,
				`{"a":tru}`, `{"a":NaN}`, `{"a":1} `, `{"a":1}{}`, "{\"a\":\"\xff\"}", `{"a":1e999}`,
			} {
				if matches(g, doc) {
					t.Errorf("%q is matched", doc)
				}
			}
			w := newWalker(g, r)
			for range 500 {
				doc := w.text(t, r.IntN(300))
				var v any
				if err := json.Unmarshal([]byte(doc), &v); err != nil {
					t.Fatalf("the grammar wrote %s: %v", doc, err)
				}
				if name == "object" && object(doc) != nil {
					t.Fatalf("the grammar wrote %s: not an object", doc)
				}
			}
		})
	}
}
