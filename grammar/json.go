package grammar

import "fmt"

// JSON returns the grammar of all JSON documents, with the blanks that formatters write and no others.
func JSON() *Grammar { return common("value") }

// JSONObject returns the grammar of the JSON documents that are objects.
func JSONObject() *Grammar { return common("object") }

// common returns the grammar of a shared rule.
func common(rule string) *Grammar {
	c := newConverter(nil)
	c.sharedAs("root", c.shared(rule))
	g, err := Parse(c.String())
	if err != nil {
		panic(fmt.Sprintf("grammar: the rule %s of this package: %v", rule, err)) // not of any input
	}
	return g
}
