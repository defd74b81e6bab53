package grammar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// slowMatcher finds the ends of all matches by trying everything, straight from the parsed expressions, on code points.
type slowMatcher struct {
	p    *parser
	text []rune
	seen map[slowKey][]int
}

type slowKey struct {
	e    *expr
	from int
}

// ends returns where matches of e that begin at from may end.
func (m *slowMatcher) ends(e *expr, from int) []int {
	key := slowKey{e, from}
	if out, ok := m.seen[key]; ok {
		return out
	}
	set := map[int]bool{}
	switch e.op {
	case exprLiteral:
		if from+len(e.runes) <= len(m.text) && slices.Equal(m.text[from:from+len(e.runes)], e.runes) {
			set[from+len(e.runes)] = true
		}
	case exprClass:
		if from < len(m.text) && slices.ContainsFunc(e.set,
			func(r runeRange) bool { return r.lo <= m.text[from] && m.text[from] <= r.hi }) {
			set[from+1] = true
		}
	case exprRule:
		for _, at := range m.ends(m.p.rules[e.rule].body, from) {
			set[at] = true
		}
	case exprAlt:
		for _, sub := range e.sub {
			for _, at := range m.ends(sub, from) {
				set[at] = true
			}
		}
	case exprSeq:
		now := map[int]bool{from: true}
		for _, sub := range e.sub {
			next := map[int]bool{}
			for at := range now {
				for _, to := range m.ends(sub, at) {
					next[to] = true
				}
			}
			now = next
		}
		set = now
	case exprRepeat:
		now := map[int]bool{from: true}
		for n := 0; len(now) > 0 && (e.max < 0 || n <= e.max) && n <= e.min+len(m.text)+1; n++ {
			if n >= e.min {
				for at := range now {
					set[at] = true
				}
			}
			next := map[int]bool{}
			for at := range now {
				for _, to := range m.ends(e.sub[0], at) {
					next[to] = true
				}
			}
			now = next
		}
	}
	out := []int{}
	for at := range set {
		out = append(out, at)
	}
	m.seen[key] = out
	return out
}

func slowMatch(p *parser, text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	m := &slowMatcher{p: p, text: []rune(text), seen: map[slowKey][]int{}}
	return slices.Contains(m.ends(p.rules[p.index["root"]].body, 0), len(m.text))
}

// randomExpr writes a random expression of rules r0 to r(n-1).
func randomExpr(r *rand.Rand, n, depth int) string {
	switch k := r.IntN(10); {
	case depth == 0 || k < 3:
		return []string{`"a"`, `"b"`, `"ab"`, `"é"`, `""`, `[ab]`, `[^a]`, `[é-ü]`, `.`, `"😀b"`}[r.IntN(10)]
	case k < 5 && n > 0:
		return fmt.Sprintf("r%d", r.IntN(n))
	case k < 7:
		op := []string{"*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}"}[r.IntN(7)]
		return "(" + randomExpr(r, n, depth-1) + ")" + op
	}
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = randomExpr(r, n, depth-1)
	}
	return "(" + strings.Join(parts, []string{" ", " | "}[r.IntN(2)]) + ")"
}

// Random grammars, and texts that they write, that are near to those, and any others: the automaton and the slow
// matcher agree.
func TestAgainstSlowMatcher(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	letters := []string{"a", "b", "é", "😀", "\xC3", "\x80"}
	grammars, yes, no := 0, 0, 0
	for grammars < 400 {
		n := 1 + r.IntN(4)
		src := "root ::= " + randomExpr(r, n, 3) + "\n"
		for i := range n {
			src += fmt.Sprintf("r%d ::= %s\n", i, randomExpr(r, n, 3))
		}
		g, err := Parse(src)
		if err != nil {
			continue // it recurs to the left, or never ends
		}
		grammars++
		p, err := parseRules(src)
		if err != nil {
			t.Fatal(err)
		}
		w := newWalker(g, r)
		for i := range 30 {
			text := ""
			if i%2 == 0 {
				text = w.text(t, r.IntN(10))
				if !slowMatch(p, text) {
					t.Fatalf("%s\nwrote %q, which is not matched", src, text)
				}
				if len(text) > 0 && i%4 == 0 { // change it
					at := r.IntN(len(text))
					text = text[:at] + letters[r.IntN(len(letters))] + text[at+r.IntN(2):]
				}
			} else {
				for range r.IntN(6) {
					text += letters[r.IntN(len(letters))]
				}
			}
			want := slowMatch(p, text)
			if got := matches(g, text); got != want {
				t.Fatalf("%s\n%q: got %v, want %v", src, text, got, want)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	if yes < 1000 || no < 1000 {
		t.Errorf("%d texts matched and %d did not: too few to tell", yes, no)
	}
}

// A text may be given in pieces of any size; a piece that is not allowed changes nothing.
func TestPieces(t *testing.T) {
	g := mustParse(t, `root ::= ("é" | "😀x" | [ぁ-ゟ]{2,4})+ "."`)
	w := newWalker(g, rand.New(rand.NewPCG(1, 1)))
	for range 300 {
		text := w.text(t, 30)
		m := g.Matcher()
		for from := 0; from < len(text); {
			to := from + 1 + w.r.IntN(min(5, len(text)-from))
			piece := []byte(text[from:to])
			bad := append(slices.Clone(piece), 0xFF)
			if m.Allowed(bad) || m.Advance(bad) == nil {
				t.Fatalf("%q after %q is allowed", bad, text[:from])
			}
			if !m.Allowed(piece) {
				t.Fatalf("%q after %q is not allowed", piece, text[:from])
			}
			if m.CanEnd() {
				t.Fatalf("%q may end after %q", text, text[:from])
			}
			if err := m.Advance(piece); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		if !m.CanEnd() || !m.MustEnd() || !m.Allowed(nil) {
			t.Fatalf("after %q: CanEnd %v, MustEnd %v", text, m.CanEnd(), m.MustEnd())
		}
	}
}

func TestMatcherState(t *testing.T) {
	g := mustParse(t, `root ::= "a" ("b" "c" | "d")`)
	m := g.Matcher()
	if err := m.Advance([]byte("a")); err != nil {
		t.Fatal(err)
	}
	n := m.Clone()
	if err := n.Advance([]byte("b")); err != nil {
		t.Fatal(err)
	}
	if !m.Allowed([]byte("d")) || n.Allowed([]byte("d")) || !n.Allowed([]byte("c")) {
		t.Error("a clone and its original are not apart")
	}
	err := n.Advance([]byte("cx"))
	if want := `grammar: byte 1 of "cx", 0x78, may not come here`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	n.Reset()
	if n.Allowed([]byte("b")) || !n.Allowed([]byte("ad")) || n.CanEnd() || n.MustEnd() {
		t.Error("after Reset the matcher is not at the start")
	}
}

// Classes of code points against the code points, through all of Unicode, and no byte sequence beside.
func TestClassBytes(t *testing.T) {
	for _, src := range []string{
		`[a-z]`, `[^a-z]`, `.`, `[\x00-\x7F]`, `[\x80-\u07FF]`, `[\u0800-\uFFFF]`, `[\U00010000-\U0010FFFF]`,
		`[^\x00-\u0FFF]`, `[éü😀]`, `[\u07FF-\u0800\uFFFF-\U00010000]`, `[^\uD7FF\uE000]`, `[\u1234-\U00054321]`,
	} {
		p, err := parseRules("root ::= " + src)
		if err != nil {
			t.Fatal(err)
		}
		g := mustParse(t, "root ::= "+src)
		start := g.code[g.rules[g.root].alts[0]].arg
		follow := func(text string) (int32, bool) {
			node, ok := start, true
			for i := 0; i < len(text) && ok; i++ {
				if node == charEnd {
					return 0, false
				}
				node, ok = g.nodes[node].next(text[i])
			}
			return node, ok
		}
		set := p.rules[0].body.set
		for r := rune(0); r <= utf8.MaxRune; r++ {
			want := utf8.ValidRune(r) && slices.ContainsFunc(set,
				func(x runeRange) bool { return x.lo <= r && r <= x.hi })
			if r >= firstSurrogate && r <= lastSurrogate {
				// As it would be spelled if it could.
				if _, ok := follow(string([]byte{0xED, byte(0x80 | r>>6&0x3F), byte(0x80 | r&0x3F)})); ok {
					t.Fatalf("%s: the surrogate U+%04X is in it", src, r)
				}
				continue
			}
			if node, ok := follow(string(r)); ok != want || ok && node != charEnd {
				t.Fatalf("%s: U+%04X: got %v, want %v", src, r, ok, want)
			}
		}
		for _, bad := range []string{"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
			"\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8", "\xFF"} {
			if _, ok := follow(bad); ok {
				t.Errorf("%s: % x is in it", src, bad)
			}
		}
	}
}

// With a collection so small that it is dropped all the time, all is as before.
func TestSmallCollection(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	large, small := JSON(), JSON()
	small.auto.limit = 20000
	w := newWalker(large, r)
	m := small.Matcher()
	for range 200 {
		text := w.text(t, 200)
		m.Reset()
		held := m.Clone() // falls behind
		for i := range len(text) {
			if err := m.Advance([]byte{text[i]}); err != nil {
				t.Fatalf("%q at %d: %v", text, i, err)
			}
			if i == len(text)/2 {
				held = m.Clone()
			}
		}
		if !m.CanEnd() {
			t.Fatalf("%q may not end", text)
		}
		if err := held.Advance([]byte(text[min(len(text), len(text)/2+1):])); len(text) > 1 && err != nil {
			t.Fatal(err)
		}
	}
	if small.auto.era < 10 {
		t.Errorf("the collection was dropped %d times, want many", small.auto.era)
	}
	if small.auto.kept > 2*20000 {
		t.Errorf("%d bytes are kept, want little more than 20000", small.auto.kept)
	}
}
