package grammar

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// randomNumber returns the text of a number without an exponent.
func randomNumber(r *rand.Rand, digits int) string {
	n := fmt.Sprint(r.IntN([]int{2, 10, 100, 1000, 100000}[r.IntN(5)]))
	if k := r.IntN(digits + 1); k > 0 {
		n += "."
		for range k {
			n += string("00123459"[r.IntN(8)])
		}
	}
	if r.IntN(2) == 0 && strings.Trim(n, "0.") != "" {
		n = "-" + n
	}
	return n
}

// near returns a number that differs little from another, or that number.
func near(r *rand.Rand, n string) string {
	b := []byte(n)
	switch i := r.IntN(len(b)); {
	case b[i] >= '0' && b[i] <= '9' && r.IntN(3) > 0:
		b[i] = byte('0' + r.IntN(10))
	case r.IntN(2) == 0 && strings.Contains(n, "."):
		b = append(b, byte('0'+r.IntN(10)))
	case r.IntN(2) == 0 && len(b) > 1:
		b = b[:len(b)-1]
	}
	return string(b)
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// Ranges of numbers against arithmetic.
func TestNumberRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	yes, no := 0, 0
	for range 4000 {
		var parts []string
		lo, hi := randomNumber(r, 3), randomNumber(r, 3)
		if r.IntN(4) == 0 {
			hi = near(r, lo)
			if !plainNumber.MatchString(hi) {
				hi = lo
			}
		}
		lows, highs := []string{"minimum", "exclusiveMinimum"}, []string{"maximum", "exclusiveMaximum"}
		openLo, openHi, kind := r.IntN(2), r.IntN(2), []string{"integer", "number"}[r.IntN(2)]
		hasLo, hasHi := r.IntN(5) > 0, r.IntN(5) > 0
		if hasLo {
			parts = append(parts, fmt.Sprintf(`"%s": %s`, lows[openLo], lo))
		}
		if hasHi {
			parts = append(parts, fmt.Sprintf(`"%s": %s`, highs[openHi], hi))
		}
		schema := fmt.Sprintf(`{"type": "%s", %s}`, kind, strings.Join(append(parts, `"title": ""`), ", "))
		rat := func(s string) *big.Rat { x, _ := new(big.Rat).SetString(s); return x }
		inside := func(n string) bool {
			x := rat(n)
			return (!hasLo || x.Cmp(rat(lo)) >= openLo) && (!hasHi || rat(hi).Cmp(x) >= openHi) &&
				(kind == "number" || !strings.Contains(n, "."))
		}
		g, err := JSONSchema([]byte(schema))
		for i := range 40 {
			n := []string{lo, hi, randomNumber(r, 3), randomNumber(r, 3)}[i%4]
			for range i % 3 {
				n = near(r, n)
			}
			if !plainNumber.MatchString(n) || strings.HasPrefix(n, "-") && strings.Trim(n, "-0.") == "" {
				continue
			}
			want := inside(n)
			if err != nil {
				if want {
					t.Fatalf("%s: %v; but %s is valid", schema, err, n)
				}
				continue
			}
			if got := matches(g, n); got != want {
				t.Fatalf("%s: %s: got %v, want %v", schema, n, got, want)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
		if err != nil {
			continue
		}
		w := newWalker(g, r)
		for range 10 {
			n := w.text(t, r.IntN(12))
			if strings.ContainsAny(n, "eE") {
				continue // without a limit
			}
			if !plainNumber.MatchString(n) || !inside(n) {
				t.Fatalf("%s: the grammar wrote %s", schema, n)
			}
		}
	}
	if yes < 10000 || no < 10000 {
		t.Errorf("%d numbers were inside and %d outside: too few to tell", yes, no)
	}
}

// randomPattern writes a regular expression.
func randomPattern(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return []string{"a", "b", "ab", `\.`, "[ab]", "[^a]", ".", `\d`, `[\x00-\x1fa]`, `["\\]`, "é", `\s`, "(?i:a)",
			`\w`, `[[:upper:]]`}[r.IntN(15)]
	}
	switch r.IntN(4) {
	case 0:
		return randomPattern(r, depth-1) + randomPattern(r, depth-1)
	case 1:
		return "(" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
	}
	return "(?:" + randomPattern(r, depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,2}", "{2,}", "*?"}[r.IntN(7)]
}

// Patterns against package regexp, on strings that the grammar writes and on others.
func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 84))
	yes, no := 0, 0
	for range 400 {
		n := 1 + r.IntN(2)
		alts := make([]string, n)
		for i := range alts {
			alts[i] = []string{"", "^"}[r.IntN(2)] + randomPattern(r, 3) + []string{"", "$"}[r.IntN(2)]
		}
		pattern := strings.Join(alts, "|")
		re := regexp.MustCompile(pattern)
		g := mustSchema(t, `{"type": "string", "pattern": `+quoteJSON(pattern)+`}`)
		w := newWalker(g, r)
		for range 15 {
			doc := w.text(t, r.IntN(30))
			v, err := parseValue([]byte(doc))
			if err != nil || !re.MatchString(v.text) {
				t.Fatalf("%s: the grammar wrote %s (%v)", pattern, doc, err)
			}
		}
		for range 30 {
			text := ""
			for range r.IntN(6) {
				text += []string{"a", "b", "A", ".", "é", "\"", "\\", "\n", "\x01", "7", " ", "x"}[r.IntN(12)]
			}
			want := re.MatchString(text)
			if got := matches(g, quoteJSON(text)); got != want {
				t.Fatalf("%s: %q: got %v, want %v", pattern, text, got, want)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	if yes < 2000 || no < 2000 {
		t.Errorf("%d strings matched and %d did not: too few to tell", yes, no)
	}
}

func TestJavaScriptEscapes(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `abc`: `abc`, `\u0041b`: `\x{0041}b`, `\\u0041`: `\\u0041`, `\u00e9\u00E9`: `\x{00e9}\x{00E9}`,
		`\u12`: `\u12`, `\u12g4`: `\u12g4`, `a\`: `a\`, `\d\u0041`: `\d\x{0041}`,
	} {
		if got := javaScriptEscapes(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	g := mustSchema(t, `{"type": "string", "pattern": "^[\\u0041-\\u0043]+$"}`)
	if !matches(g, `"ABC"`) || matches(g, `"D"`) {
		t.Error("the class of \\u0041-\\u0043 is not A to C")
	}
}

// randomSchema writes a schema of everything that is supported, with references to the definitions d0 to d2.
func randomSchema(r *rand.Rand, depth int) string {
	sub := func() string { return randomSchema(r, depth-1) }
	name := func() string { return []string{"a", "ab", "b", "é", "\\\"", "k"}[r.IntN(6)] }
	n := r.IntN(12)
	if depth == 0 {
		n = r.IntN(7)
	}
	switch n {
	case 0:
		return []string{`{"type": "null"}`, `{"type": "boolean"}`, `true`, `{}`}[r.IntN(4)]
	case 1:
		return fmt.Sprintf(`{"type": "integer", "minimum": %d, "maximum": %d}`, r.IntN(20)-10, r.IntN(200))
	case 2:
		return fmt.Sprintf(`{"type": "number", "minimum": %d.5}`, r.IntN(20)-10)
	case 3:
		return fmt.Sprintf(`{"type": "string", "minLength": %d, "maxLength": %d}`, r.IntN(3), 2+r.IntN(4))
	case 4:
		return []string{`{"enum": ["a", "b", "abc", 1, null]}`, `{"const": {"k": [1]}}`,
			`{"type": "string", "pattern": "^x+"}`, `{"type": ["string", "integer"]}`}[r.IntN(4)]
	case 5, 6:
		return fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, r.IntN(3))
	case 7:
		return fmt.Sprintf(`{"type": "array", "items": %s, "minItems": %d, "maxItems": %d}`, sub(), r.IntN(2),
			1+r.IntN(3))
	case 8:
		return fmt.Sprintf(`{"type": "array", "prefixItems": [%s, %s], "items": %s}`, sub(), sub(), sub())
	case 9:
		return fmt.Sprintf(`{"%s": [%s, %s]}`, []string{"anyOf", "oneOf", "allOf"}[r.IntN(3)], sub(), sub())
	}
	seen, props, required := map[string]bool{}, []string{}, []string{}
	for range r.IntN(4) {
		key := name()
		if seen[key] {
			continue
		}
		seen[key] = true
		props = append(props, fmt.Sprintf(`"%s": %s`, key, sub()))
		if r.IntN(2) == 0 {
			required = append(required, `"`+key+`"`)
		}
	}
	more := []string{"", `, "additionalProperties": false`, `, "additionalProperties": true`,
		`, "additionalProperties": ` + sub(), `, "anyOf": [` + sub() + `, ` + sub() + `]`}[r.IntN(5)]
	return fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s]%s}`, strings.Join(props, ", "),
		strings.Join(required, ", "), more)
}

// Whatever a grammar writes for a random schema is valid by it.
func TestRandomSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 92))
	taken := 0
	for taken < 500 {
		schema := randomSchema(r, 3)
		for strings.HasPrefix(schema, "true") {
			schema = randomSchema(r, 3)
		}
		schema = strings.TrimSuffix(schema, "}")
		if schema != "{" {
			schema += ", "
		}
		schema += fmt.Sprintf(`"$defs": {"d0": %s, "d1": %s, "d2": %s}}`, randomSchema(r, 2), randomSchema(r, 2),
			randomSchema(r, 2))
		g, err := JSONSchema([]byte(schema))
		if err != nil {
			continue // nothing is valid by it, or a oneOf may have overlap
		}
		taken++
		valid := validator(t, schema)
		w := newWalker(g, r)
		for range 15 {
			doc := w.text(t, r.IntN(100))
			if err := valid(doc); err != nil {
				t.Fatalf("%s\nthe grammar wrote %s\n%v", schema, doc, err)
			}
		}
	}
}
