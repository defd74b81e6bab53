package grammar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func mustVocabulary(t testing.TB, texts []string, ends ...int32) *Vocabulary {
	t.Helper()
	v, err := NewVocabulary(texts, ends)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// randomTokens returns tokens as a tokenizer has them: bytes, pieces of JSON and of words, some twice, some empty.
func randomTokens(r *rand.Rand, n int) []string {
	var list []string
	for b := range 256 {
		list = append(list, string([]byte{byte(b)}))
	}
	parts := []string{`"`, `{"`, `":`, ` "`, `, `, `}`, `]`, `[`, `":"`, "\n", "  ", "true", "null", "12", ".5", "e+",
		"\\", "\\n", "é", "\xF0\x9F", "\x98\x80", "a", "name", " the"}
	for len(list) < n {
		text := ""
		for range r.IntN(5) {
			if r.IntN(2) == 0 {
				text += parts[r.IntN(len(parts))]
			} else {
				text += string(rune('a' + r.IntN(26)))
			}
		}
		list = append(list, text)
	}
	return list
}

// has reports whether a token's bit is set.
func has(mask []uint64, id int) bool { return mask[id/64]>>(id%64)&1 != 0 }

// On random ways through JSON every bit of the mask is what the text of its token says.
func TestMaskAgainstTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	tokens := randomTokens(r, 1500)
	ends := []int32{3, 700, 1499}
	v := mustVocabulary(t, tokens, ends...)
	for name, g := range map[string]*Grammar{
		"json": JSON(), "object": JSONObject(), "words": mustParse(t, `root ::= ([a-z]+ " ")* "."?`),
		"one": mustParse(t, `root ::= "a"`),
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				c := g.Constrain(v)
				mask := make([]uint64, (len(tokens)+63)/64+1)
				for step := 0; step < 40 && !c.Ended(); step++ {
					for i := range mask {
						mask[i] = r.Uint64()
					}
					if err := c.Mask(mask); err != nil {
						t.Fatal(err)
					}
					var allowed []int32
					for id, text := range tokens {
						want := text != "" && c.m.Allowed([]byte(text))
						if slices.Contains(ends, int32(id)) {
							want = c.CanEnd()
						}
						if has(mask, id) != want {
							t.Fatalf("token %d, %q: mask %v, want %v", id, text, has(mask, id), want)
						}
						if want {
							allowed = append(allowed, int32(id))
						} else if err := c.Clone().Accept(int32(id)); err == nil {
							t.Fatalf("token %d, %q was accepted", id, text)
						}
					}
					for id := len(tokens); id < 64*len(mask); id++ {
						if has(mask, id) {
							t.Fatalf("bit %d past the vocabulary is set", id)
						}
					}
					if len(allowed) == 0 {
						t.Fatal("no token may come next")
					}
					if err := c.Accept(allowed[r.IntN(len(allowed))]); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// The same with a vocabulary so large that whole subtrees are taken at once, at places where most characters lead on as
// before, or count, or do not.
func TestMaskOfSubtrees(t *testing.T) {
	tokens := wordTokens(12000)
	v := mustVocabulary(t, tokens, 0)
	mask := make([]uint64, (len(tokens)+63)/64)
	for _, test := range []struct {
		name string
		g    *Grammar
		text string
	}{
		{"string", JSON(), `["`},
		{"bounded string", mustSchema(t, `{"type": "string", "minLength": 3, "maxLength": 12}`), `"ab`},
		{"at its end", mustSchema(t, `{"type": "string", "maxLength": 5}`), `"abc`},
		{"letters", mustParse(t, `root ::= [a-m]* [n-z]* "."`), `a`},
		{"counted letters", mustParse(t, `root ::= ([a-z]{1,7} " ")* "."`), `a`},
		{"all but one", mustParse(t, `root ::= [^e]*`), ``},
		{"ASCII", mustParse(t, `root ::= [\x00-\x7F]*`), ``},
		{"anything", mustParse(t, `root ::= .*`), ``},
		{"nothing but words", mustParse(t, `root ::= (" th" [a-z]*)*`), ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.g.Constrain(v)
			if err := c.m.Advance([]byte(test.text)); err != nil {
				t.Fatal(err)
			}
			if err := c.Mask(mask); err != nil {
				t.Fatal(err)
			}
			for id, text := range tokens {
				if want := id == 0 && c.CanEnd() || id > 0 && c.m.Allowed([]byte(text)); has(mask, id) != want {
					t.Fatalf("token %d, %q: mask %v, want %v", id, text, has(mask, id), want)
				}
			}
		})
	}
}

func TestConstraintEnds(t *testing.T) {
	v := mustVocabulary(t, []string{"a", "b", "", "</s>", "a"}, 3)
	c := mustParse(t, `root ::= "a" "b"? | "</s>"`).Constrain(v)
	mask := make([]uint64, 1)
	next := func(want ...int) {
		t.Helper()
		if err := c.Mask(mask); err != nil {
			t.Fatal(err)
		}
		for id := range 5 {
			if has(mask, id) != slices.Contains(want, id) {
				t.Errorf("mask %05b, want %v", mask[0], want)
			}
		}
	}
	accept := func(id int32, want string) {
		t.Helper()
		err := c.Accept(id)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("token %d: got %v, want %q", id, err, want)
		}
	}
	next(0, 4) // the text of a token that ends the generation counts for nothing
	accept(3, "token 3 ends the generation, which may not end here")
	accept(2, "token 2 has no text")
	accept(5, "found token 5, expected 0 to 4")
	accept(-1, "found token -1, expected 0 to 4")
	accept(1, `byte 0 of "b", 0x62, may not come here (token 1)`)
	accept(4, "")
	next(1, 3)
	other := c.Clone()
	accept(3, "")
	if !c.Ended() || !c.CanEnd() || other.Ended() {
		t.Error("the end is not the one's alone")
	}
	next(3)
	accept(3, "")
	accept(1, "token 1 comes after the end of the generation")
	c.Reset()
	next(0, 4)
	c = other
	accept(1, "")
	next(3)
	if err := c.Mask(nil); err == nil ||
		!strings.Contains(err.Error(), "the mask has 0 words, expected at least 1 for 5 tokens") {
		t.Errorf("a short mask: %v", err)
	}
}

func TestRejectVocabulary(t *testing.T) {
	tests := []struct {
		name  string
		texts []string
		ends  []int32
		want  string
	}{
		{"none", nil, nil, "the vocabulary has 0 tokens, expected 1 to"},
		{"end", []string{"a"}, []int32{1}, "the token 1 ends a generation, expected 0 to 0"},
		{"negative end", []string{"a"}, []int32{-1}, "the token -1 ends a generation"},
		{"long token", []string{"a", strings.Repeat("b", 1<<16)}, nil,
			"token 1 has 65536 bytes, expected at most 65535"},
	}
	for _, test := range tests {
		if _, err := NewVocabulary(test.texts, test.ends); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if v := mustVocabulary(t, []string{strings.Repeat("b", 1<<16-1), "", ""}); v.Len() != 3 {
		t.Errorf("%d tokens, want 3", v.Len())
	}
}

// A grammar that takes too much says so, and does not go on forever.
func TestMaskTooComplex(t *testing.T) {
	var src strings.Builder
	src.WriteString("root ::= \"x\"? w0\n")
	for i := range 40 {
		fmt.Fprintf(&src, "w%d ::= w%d \"a\" | w%d \"b\"\n", i, i+1, i+1)
	}
	src.WriteString("w40 ::= \"x\"\n")
	c := mustParse(t, src.String()).Constrain(mustVocabulary(t, []string{"x", "xx"}))
	if err := c.Mask(make([]uint64, 1)); err != errTooComplex {
		t.Errorf("Mask: %v, want %v", err, errTooComplex)
	}
	if err := c.Accept(0); err == nil || !strings.Contains(err.Error(), "too ambiguous") {
		t.Errorf("Accept: %v", err)
	}
	if c.CanEnd() || c.m.MustEnd() || c.m.Allowed([]byte("x")) {
		t.Error("what cannot be found out is taken to be so")
	}
}

// Constraints of one grammar go on at the same time.
func TestConcurrentConstraints(t *testing.T) {
	g := JSON()
	g.auto.limit = 200000
	v := mustVocabulary(t, randomTokens(rand.New(rand.NewPCG(1, 2)), 600), 0)
	first := g.Constrain(v)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			c := first.Clone()
			mask := make([]uint64, 10)
			for range 150 {
				if err := c.Mask(mask); err != nil {
					t.Error(err)
					return
				}
				id := r.IntN(600)
				for !has(mask, id) {
					id = r.IntN(600)
				}
				if err := c.Accept(int32(id)); err != nil {
					t.Error(err)
					return
				}
				if c.Ended() {
					c.Reset()
				}
			}
		})
	}
	wg.Wait()
}
