package chat

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzTemplate: no template and no content makes New or Render panic, and what is written stays within its limit.
func FuzzTemplate(f *testing.F) {
	for _, text := range styles {
		f.Add(text, "Hi <|im_end|> ")
	}
	for _, name := range BuiltInNames() {
		text, err := builtIn.ReadFile("templates/" + name + ".jinja")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "a\x00\xff")
	}
	f.Add("{% macro f(a, b=1) %}{{ f(b, a=a) }}{% endmacro %}{{ f(1) }}{% raw -%}{{{% endraw %}", "{{ x }}")
	f.Add("{{ [1, 2.5, 'x', {'a': ()}][::-1] | map('string') | sort | tojson(indent=1) }}{{ 7 // -2 ** 3 % 5 }}", "")
	f.Add("{% set ns = namespace(a='x' * 3) %}{% for k, v in {'a': 1}.items() if v %}{% set ns.a = ns.a ~ k %}{% "+
		"break %}{% else %}{% endfor %}{{ ns.a.split('x', 1) }}", "é")
	f.Fuzz(func(t *testing.T, text, content string) {
		tmpl, err := New("fuzz", text)
		if err != nil {
			if strings.Contains(err.Error(), "internal error") {
				t.Fatal(err)
			}
			return
		}
		tmpl.limits = limits{steps: 1 << 16, made: 1 << 20, output: 1 << 18, depth: 200}
		messages := []Message{{"system", content}, {"user", content}, {"assistant", content}}
		out, err := tmpl.Render(messages, testOptions)
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Fatal(err)
		}
		if len(out) > 1<<18 {
			t.Fatalf("%d bytes", len(out))
		}
		again, err2 := tmpl.Render(messages, testOptions)
		if out != again || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v and then %q, %v", out, err, again, err2)
		}
	})
}

// FuzzShield: what is shielded comes out again, and no special token comes from a message.
func FuzzShield(f *testing.F) {
	specials := []string{"<s>", "</s>", "<|im_end|>", "<|im", "ab", "aab", "b"}
	f.Add("<s>a</s>", "<|im_end|>")
	f.Add("aab\ufdd0", "<<s>s>")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		messages := []Message{{"user", a}, {"user", b}}
		shielded, mark, err := Shield(messages, specials)
		if err != nil {
			return
		}
		if mark == 0 {
			mark = firstMark // nothing was shielded; the text may hold this one
			a, b = strings.ReplaceAll(a, string(mark), ""), strings.ReplaceAll(b, string(mark), "")
		}
		var got strings.Builder
		for _, p := range Unshield(shielded[0].Content+"<s>"+shielded[1].Content, mark, specials) {
			if p.Special && len(p.Text) > 1 && p.Text != "<s>" {
				t.Errorf("a message gave %q", p.Text)
			}
			got.WriteString(p.Text)
		}
		if want := a + "<s>" + b; got.String() != want {
			t.Errorf("got %q, expected %q", got.String(), want)
		}
	})
}
