package grammar_test

import (
	"fmt"

	"cera/grammar"
)

func ExampleParse() {
	g, err := grammar.Parse(`
root  ::= greet ", " name "!"
greet ::= "Hello" | "Goodbye"
name  ::= [A-Z] [a-zé]{1,20}
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := g.Matcher()
	fmt.Println(m.Advance([]byte("Hello, Ren")), m.Allowed([]byte("é!")), m.CanEnd())
	fmt.Println(m.Advance([]byte("ée?")))
	_, err = grammar.Parse("root ::= a\na ::= [x-]* b")
	fmt.Println(err)
	// Output:
	// <nil> true false
	// grammar: byte 3 of "ée?", 0x3f, may not come here
	// grammar: line 2, column 13: there is no rule "b"
}

func ExampleJSONSchema() {
	g, err := grammar.JSONSchema([]byte(`{
		"type": "object",
		"properties": {"age": {"type": "integer", "minimum": 0, "maximum": 150}},
		"required": ["age"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, doc := range []string{`{"age": 42}`, `{"age": 151}`} {
		m := g.Matcher()
		fmt.Println(doc, m.Advance([]byte(doc)) == nil && m.CanEnd())
	}
	_, err = grammar.JSONSchema([]byte(`{"properties": {"n": {"multipleOf": 3}}}`))
	fmt.Println(err)
	// Output:
	// {"age": 42} true
	// {"age": 151} false
	// grammar: schema #/properties/n/multipleOf: the keyword "multipleOf" is not supported
}

func ExampleConstraint() {
	texts := []string{"{", "}", `"`, "a", `{"a`, `":`, " ", "1", "</s>"}
	v, err := grammar.NewVocabulary(texts, []int32{8})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := grammar.JSONSchema([]byte(`{"type": "object", "additionalProperties": {"type": "integer"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	c := g.Constrain(v)
	mask := make([]uint64, 1)
	for _, id := range []int32{4, 5, 7, 1, 8} {
		if err := c.Mask(mask); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("allowed:")
		for i, text := range texts {
			if mask[0]>>i&1 != 0 {
				fmt.Printf(" %q", text)
			}
		}
		fmt.Println()
		if err := c.Accept(id); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// allowed: "{" "{\"a"
	// allowed: "{" "}" "\"" "a" "\":" " " "1"
	// allowed: " " "1"
	// allowed: "}" " " "1"
	// allowed: "</s>"
}
