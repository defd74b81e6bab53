package grammar

import (
	"math/rand/v2"
	"testing"
)

// wordTokens returns a vocabulary of n tokens of the lengths and the make of a language model's: bytes, words with and
// without a blank in front, numbers, punctuation, blanks.
func wordTokens(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	var list []string
	for b := range 256 {
		list = append(list, string([]byte{byte(b)}))
	}
	for i := range 64 {
		blanks := make([]byte, i+2)
		for j := range blanks {
			blanks[j] = ' '
		}
		list = append(list, string(blanks), "\n"+string(blanks))
	}
	syllables := []string{"th", "e", "in", "er", "an", "re", "on", "at", "en", "nd", "ti", "es", "or", "te", "of", "ed",
		"is", "it", "al", "ar", "st", "to", "nt", "ng", "se", "ha", "as", "ou", "io", "le"}
	others := []string{"é", "ü", "и", "на", "の", "中", "国"}
	marks := []string{`"`, `",`, `":`, `{"`, `"}`, "},", "](", ").", "();", "==", "->", "//", "...", "\\n", "'s", "€"}
	seen := map[string]bool{}
	for len(list) < n {
		text := ""
		switch k := r.IntN(20); {
		case k < 2:
			text = marks[r.IntN(len(marks))] + marks[r.IntN(len(marks))]
		case k < 3:
			text = string('0'+rune(r.IntN(10))) + string('0'+rune(r.IntN(10))) + string('0'+rune(r.IntN(10)))
		default:
			if k < 12 {
				text = " "
			}
			from := syllables
			if r.IntN(5) == 0 {
				from = others
			}
			for range 1 + r.IntN(5) {
				text += from[r.IntN(len(from))]
			}
		}
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	return list
}

const benchSchema = `{"type": "object", "required": ["name", "kind", "tags"], "properties": {
	"name": {"type": "string", "minLength": 1, "maxLength": 200},
	"kind": {"enum": ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]},
	"when": {"type": "string", "format": "date-time"},
	"tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,30}$"}, "maxItems": 20},
	"child": {"$ref": "#"}}}`

// The mask of 128 Ki tokens: the first time at a place, with all else known; and again.
func BenchmarkMask(b *testing.B) {
	const n = 128 << 10
	v := mustVocabulary(b, wordTokens(n), 0)
	schema, err := JSONSchema([]byte(benchSchema))
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		g    *Grammar
		text string
	}{
		{"JSON at the start", JSON(), ``},
		{"JSON in a string", JSON(), `{"a": "b`},
		{"JSON in a nested string", JSON(), `{"a": [{"b": [["x`},
		{"JSON after a value", JSON(), `{"a": 1`},
		{"schema in a bounded string", schema, `{"name": "ab`},
		{"schema in an enum", schema, `{"name": "a", "kind": "`},
		{"schema in a pattern", schema, `{"name": "a", "kind": "eta", "tags": ["a`},
		{"words", mustParse(b, `root ::= ([a-zA-Z]+ [ ,.]+)+`), `the `},
		{"anything", mustParse(b, `root ::= .*`), `x`},
	} {
		c := bench.g.Constrain(v)
		if err := c.m.Advance([]byte(bench.text)); err != nil {
			b.Fatal(err)
		}
		mask := make([]uint64, n/64)
		run := func(name string, before func()) {
			b.Run(bench.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					before()
					if err := c.Mask(mask); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("nothing known", func() {
			bench.g.auto.clear()
			clear(c.shared.byState)
			c.Reset()
			if err := c.m.Advance([]byte(bench.text)); err != nil {
				b.Fatal(err)
			}
		})
		run("states known", func() { clear(c.shared.byState) })
		run("mask known", func() {})
	}
}

func BenchmarkNewVocabulary(b *testing.B) {
	tokens := wordTokens(128 << 10)
	for b.Loop() {
		mustVocabulary(b, tokens, 0)
	}
}

func BenchmarkJSONSchema(b *testing.B) {
	for b.Loop() {
		if _, err := JSONSchema([]byte(benchSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdvance(b *testing.B) {
	g := JSON()
	text := []byte(newWalker(g, rand.New(rand.NewPCG(1, 2))).text(b, 1000))
	b.SetBytes(int64(len(text)))
	m := g.Matcher()
	for b.Loop() {
		m.Reset()
		if err := m.Advance(text); err != nil {
			b.Fatal(err)
		}
	}
}
