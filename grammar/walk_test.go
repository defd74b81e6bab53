package grammar

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// walker writes random texts of a grammar.
type walker struct {
	g     *Grammar
	r     *rand.Rand
	nodes []float64 // by node, the fewest bytes to the end of a character
	rules []float64 // by rule, the fewest bytes of a text
}

func newWalker(g *Grammar, r *rand.Rand) *walker {
	w := &walker{g: g, r: r, nodes: make([]float64, len(g.nodes)), rules: make([]float64, len(g.rules))}
	for i := range w.nodes { // a node comes after those it leads to
		w.nodes[i] = math.Inf(1)
		for _, b := range g.nodes[i] {
			next := 0.0
			if b.next != charEnd {
				next = w.nodes[b.next]
			}
			w.nodes[i] = min(w.nodes[i], 1+next)
		}
	}
	for i := range w.rules {
		w.rules[i] = math.Inf(1)
	}
	for changed := true; changed; {
		changed = false
		for i, r := range g.rules {
			for _, pos := range r.alts {
				if cost := w.rest(pos, 0); cost < w.rules[i] {
					w.rules[i], changed = cost, true
				}
			}
		}
	}
	return w
}

// rest returns the fewest bytes of an alternative from an item on.
func (w *walker) rest(pos, count int32) float64 {
	sum := 0.0
	for ; ; pos++ {
		in := w.g.code[pos]
		switch in.op {
		case opEnd:
			return sum
		case opClass:
			sum += w.nodes[in.arg]
		case opRule:
			sum += w.rules[in.arg]
		case opRep:
			if n := in.min - count; n > 0 {
				sum += float64(n) * w.rules[in.arg]
			}
		}
		count = 0
	}
}

// distance returns the fewest bytes to the end of the text.
func (w *walker) distance(s *state) float64 {
	if s.accept {
		return 0
	}
	best := math.Inf(1)
	for _, c := range s.configs {
		sum := w.nodes[c.node] + w.rest(c.f.pos+1, 0)
		for f := c.f.parent; f != nil; f = f.parent {
			sum += w.rest(f.pos, f.count)
		}
		best = min(best, sum)
	}
	return best
}

// text returns a random text, which tends to its end after some bytes.
func (w *walker) text(t testing.TB, soft int) string {
	t.Helper()
	text, err := w.tryText(soft)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tryText is text with an error for a grammar that is too ambiguous, or whose texts are very long. A text that comes to
// no end is a panic.
func (w *walker) tryText(soft int) (string, error) {
	a := &w.g.auto
	s, err := a.start()
	if err != nil {
		return "", err
	}
	var out []byte
	for {
		a.work = 0
		if len(out) >= soft && w.distance(s) > 3000 {
			return "", errors.New("the text would be long")
		}
		if s.accept && (len(s.configs) == 0 || len(out) >= soft || w.r.IntN(4) == 0) {
			return string(out), nil
		}
		var next byte
		if len(out) < soft {
			ranges := w.g.nodes[s.configs[w.r.IntN(len(s.configs))].node]
			b := ranges[w.r.IntN(len(ranges))]
			next = b.lo + byte(w.r.IntN(int(b.hi-b.lo)+1))
		} else {
			best := math.Inf(1)
			for _, n := range w.byKind() {
				to, err := a.advance(s, n)
				if err != nil {
					return "", err
				}
				if d := w.distance(to); d < best {
					best, next = d, n
				}
			}
			if best >= w.distance(s) {
				panic(fmt.Sprintf("after %q the text cannot come to its end: %v bytes, then %v", out, w.distance(s),
					best))
			}
		}
		if s, err = a.advance(s, next); err != nil {
			return "", err
		}
		if s.dead() {
			panic(fmt.Sprintf("after %q byte 0x%02x leads nowhere", out, next))
		}
		out = append(out, next)
	}
}

// byKind returns a byte of each kind.
func (w *walker) byKind() []byte {
	var list []byte
	for b := range 256 {
		if b == 0 || w.g.byteKind[b] != w.g.byteKind[b-1] {
			list = append(list, byte(b))
		}
	}
	return list
}

func mustParse(t testing.TB, src string) *Grammar {
	t.Helper()
	g, err := Parse(src)
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	return g
}

// matches reports whether a whole text is of the grammar.
func matches(g *Grammar, text string) bool {
	m := g.Matcher()
	return m.Advance([]byte(text)) == nil && m.CanEnd()
}
