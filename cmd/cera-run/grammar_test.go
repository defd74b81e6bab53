package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cera/engine"
	"cera/gguf"
	"cera/grammar"
	"cera/tokenizer"
)

// tinyModels are arguments that name a model: none for the built-in one.
func tinyModels(t *testing.T) map[string][]string {
	models := map[string][]string{"built-in": nil}
	path := filepath.Join("..", "..", "..", "shared", "models", "trained", "stories260K.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Logf("SKIPPED on stories260K: %v", err)
	} else {
		models["stories260K"] = []string{path}
	}
	return models
}

// generated runs generate on the cpu and returns the text.
func generated(t *testing.T, model []string, args ...string) string {
	t.Helper()
	var out, errOut writer
	args = append(append([]string{"generate", "--device", "cpu", "--quiet"}, args...), model...)
	if code := run(context.Background(), args, &out, &errOut); code != 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, errOut.text)
	}
	return strings.TrimSuffix(out.text, "\n")
}

// TestGenerateGrammar: what is generated under a grammar matches it to its end.
func TestGenerateGrammar(t *testing.T) {
	const gbnf = `root ::= name " is " [0-9]{1,3} "\n" list
name ::= [A-Z] [a-zé]{2,6}
list ::= ("- " [a-z ]{3,12} "\n"){2,3}`
	file := filepath.Join(t.TempDir(), "list.gbnf")
	if err := os.WriteFile(file, []byte(gbnf), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Parse(gbnf)
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range tinyModels(t) {
		for seed := range 6 {
			args := []string{"--seed", strconv.Itoa(seed), "--temp", "1.5", "-n", "200", "-p", "Once"}
			text := generated(t, model, append(args, "--grammar", gbnf)...)
			m := g.Matcher()
			if err := m.Advance([]byte(text)); err != nil || !m.CanEnd() {
				t.Errorf("%s, seed %d: %q does not match: %v", name, seed, text, err)
			}
			if again := generated(t, model, append(args, "--grammar-file", file)...); again != text {
				t.Errorf("%s, seed %d: %q from the file, %q from the text", name, seed, again, text)
			}
		}
		if text := generated(t, model, "--temp", "0", "-n", "50", "--grammar",
			`root ::= "yes" | "no"`); text != "yes" && text != "no" {
			t.Errorf("%s: the likeliest of yes and no is %q", name, text)
		}
	}
}

// TestGenerateSchema: what is generated under a schema is JSON that another validator takes.
func TestGenerateSchema(t *testing.T) {
	const schema = `{"type": "object", "required": ["name", "age", "tags"], "additionalProperties": false, "properties": {
		"name": {"type": "string", "minLength": 1, "maxLength": 12}, "age": {"type": "integer", "minimum": 3, "maximum": 120},
		"tags": {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 3}}}`
	file := filepath.Join(t.TempDir(), "person.json")
	if err := os.WriteFile(file, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range tinyModels(t) {
		for seed := range 6 {
			args := []string{"--seed", strconv.Itoa(seed), "--temp", "1.2", "-n", "300", "-p", "Once"}
			text := generated(t, model, append(args, "--json-schema", schema)...)
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = s.Validate(doc)
			}
			if err != nil {
				t.Errorf("%s, seed %d: %q: %v", name, seed, text, err)
			}
			if again := generated(t, model, append(args, "--json-schema-file", file)...); again != text {
				t.Errorf("%s, seed %d: %q from the file, %q from the text", name, seed, again, text)
			}
		}
		if text := generated(t, model, "--seed", "1", "-n", "0", "-p", "Once", "--json-schema",
			`{"type": "array", "items": {"type": "boolean"}, "maxItems": 4}`); !json.Valid([]byte(text)) {
			t.Errorf("%s: %q is no JSON", name, text)
		}
	}
}

// TestLogitBias: a bias makes a token certain, and bans one.
func TestLogitBias(t *testing.T) {
	tok := builtInTokenizer(t)
	ids := tok.Encode("Tom", tokenizer.EncodeOptions{})
	first := generated(t, nil, "--temp", "0", "-n", "1", "-p", "Once upon a")
	likeliest := tok.Encode(first, tokenizer.EncodeOptions{})
	forced := generated(t, nil, "--temp", "0", "-n", "3", "-p", "Once", "--logit-bias",
		strconv.Itoa(int(ids[0]))+"+1000")
	if want := tok.Decode([]int32{ids[0], ids[0], ids[0]}, tokenizer.DecodeOptions{Continues: true}); forced != want {
		t.Errorf("a token with a bias of 1000 gave %q, expected %q", forced, want)
	}
	banned := []string{"--temp", "0", "-n", "1", "-p", "Once upon a"}
	for _, id := range likeliest {
		banned = append(banned, "--logit-bias", strconv.Itoa(int(id))+"-inf")
	}
	if text := generated(t, nil, banned...); text == first {
		t.Errorf("%q came in spite of a bias of -inf", text)
	}
}

// builtInTokenizer is that of the built-in model.
func builtInTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	f, err := engine.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return tokenizerOf(t, f)
}

func tokenizerOf(t *testing.T, f *gguf.File) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.New(f, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestGenerateRejects: errors name the flag.
func TestGenerateRejects(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.gbnf")
	if err := os.WriteFile(bad, []byte("root ::= x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxGrammar+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"generate", "chat"} {
		for _, c := range []struct {
			name string
			args []string
			want string
		}{
			{"grammar", []string{"--grammar", "root ::= x"},
				`--grammar: grammar: line 1, column 10: there is no rule "x"`},
			{"empty grammar", []string{"--grammar", ""}, "--grammar: "},
			{"grammar file", []string{"--grammar-file", bad}, "--grammar-file: " + bad + ": grammar: line 1"},
			{"no grammar file", []string{"--grammar-file", filepath.Join(dir, "none")}, "--grammar-file: open "},
			{"large grammar file", []string{"--grammar-file", large}, "it has more than 4194304 bytes"},
			{"schema", []string{"--json-schema", `{"multipleOf": 3}`}, "--json-schema: grammar: schema #/multipleOf"},
			{"no JSON", []string{"--json-schema", "{"}, "--json-schema: "},
			{"schema file", []string{"--json-schema-file", bad}, "--json-schema-file: " + bad + ": "},
			{"two", []string{"--grammar", "root ::= []", "--json-schema-file", bad},
				"--grammar and --json-schema-file: one of them"},
			{"bias without a sign", []string{"--logit-bias", "15"}, `"15" is not a token id, + or - and a number`},
			{"bias of no token", []string{"--logit-bias", "x+1"}, `"x" is not a token id`},
			{"negative id", []string{"--logit-bias", "-3+1"}, "--logit-bias"},
			{"bias of no number", []string{"--logit-bias", "3+y"}, `"+y" is not a number`},
			{"infinite bias", []string{"--logit-bias", "3+inf"}, `"+inf" is not a number, or -inf`},
			{"empty breaker", []string{"--dry-sequence-breaker", ""}, "--dry-sequence-breaker"},
		} {
			var out, errOut writer
			args := append([]string{command, "--device", "cpu"}, c.args...)
			if code := run(context.Background(), args, &out, &errOut); code != exitUsage ||
				!strings.Contains(errOut.text, c.want) || out.text != "" {
				t.Errorf("%s, %s: exit code %d, %q%q, expected %q", command, c.name, code, out.text, errOut.text,
					c.want)
			}
		}
	}
	for _, c := range []struct{ args []string }{
		{[]string{"--dry-base", "0.5", "--dry-multiplier", "1"}}, {[]string{"--dry-allowed-length", "-1"}},
		{[]string{"--dry-penalty-last-n", "-2"}}, {[]string{"--logit-bias", "999999+1"}},
	} {
		var out, errOut writer
		if code := run(context.Background(), append([]string{"generate", "--device", "cpu"}, c.args...), &out,
			&errOut); code != exitUsage {
			t.Errorf("%q: exit code %d", c.args, code)
		}
	}
}

// TestDRYFlags: DRY's parameters arrive: a penalty that allows nothing to repeat changes what a loop of a prompt goes
// on with.
func TestDRYFlags(t *testing.T) {
	base := []string{"--temp", "0", "-n", "12", "-p", "Tom went to the park. Tom went to the park. Tom went to the"}
	plain := generated(t, nil, base...)
	dry := append(base, "--dry-multiplier", "1000", "--dry-base", "3", "--dry-allowed-length", "1",
		"--dry-penalty-last-n", "-1")
	if text := generated(t, nil, append(dry, "--dry-sequence-breaker", "none")...); text == plain {
		t.Errorf("with DRY as without: %q", text)
	}
	if text := generated(t, nil, append(dry, "--dry-penalty-last-n", "0")...); text != plain {
		t.Errorf("DRY that looks at no token gave %q, without it %q", text, plain)
	}
	var list []string
	f := &breakerFlag{list: &list}
	for _, c := range []struct{ set, want string }{{"a", `"a"`}, {"b", `"a" "b"`}, {"none", ""}, {"c", `"c"`}} {
		if err := f.Set(c.set); err != nil || f.String() != c.want {
			t.Errorf("after %q: %s, %v", c.set, f, err)
		}
	}
}
