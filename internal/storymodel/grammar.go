package storymodel

import (
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Story returns the story of a seed: 60 to 200 words in one paragraph of plain ASCII, ending with a full stop, an
// exclamation mark or a question mark. The same seed gives the same text on every platform.
func Story(seed uint64) string {
	text, _ := tell(seed)
	return text
}

// Bounds on the words of a story. Of a seed's tellings the first within them counts.
const (
	minWords = 60
	maxWords = 200
)

// tell returns the story of a seed and the name of its plot.
func tell(seed uint64) (text, plot string) {
	for try := uint64(0); ; try++ {
		s := newTeller(seed, try)
		p := plots[s.intn(len(plots))]
		s.begin(p.suits)
		p.tell(s)
		text = s.out.String()
		if n := strings.Count(text, " ") + 1; n >= minWords && n <= maxWords {
			return text, p.name
		}
	}
}

// teller writes one story. What stays the same through it (who, what, where) is bound to slots before the first
// sentence that uses it; everything else is chosen afresh for each sentence.
type teller struct {
	rng   *rand.PCG
	slots []slot
	out   strings.Builder

	kids     bool // the hero is a child, else an animal that talks
	hero     person
	friend   person
	helper   person
	place    place
	object   thing
	hobby    hobby
	hobbyIn  bool // the story has told what the hero loves to do
	friendIn bool // the friend has been named
	parentIn bool // m was there and knows what happened
}

type slot struct{ key, text string }

// newTeller returns a teller whose choices depend on seed and try alone.
func newTeller(seed, try uint64) *teller { return &teller{rng: rand.NewPCG(seed, try)} }

// intn returns a number from 0 to n-1. It is taken from the generator's bits directly, which are fixed for all versions
// of the library.
func (s *teller) intn(n int) int {
	hi, _ := bits.Mul64(s.rng.Uint64(), uint64(n))
	return int(hi)
}

// chance is true in percent of 100 cases.
func (s *teller) chance(percent int) bool { return s.intn(100) < percent }

func pick[T any](s *teller, list []T) T { return list[s.intn(len(list))] }

// put binds a slot. The text may use other slots and alternatives; they are resolved at each use.
func (s *teller) put(key, text string) {
	for i := range s.slots {
		if s.slots[i].key == key {
			s.slots[i].text = text
			return
		}
	}
	s.slots = append(s.slots, slot{key, text})
}

// say adds one of the variants to the story.
func (s *teller) say(variants ...string) {
	var b strings.Builder
	s.expand(&b, pick(s, variants))
	if s.out.Len() > 0 {
		s.out.WriteByte(' ')
	}
	s.out.WriteString(capitalise(b.String()))
}

// maybe is say in percent of 100 cases.
func (s *teller) maybe(percent int, variants ...string) {
	if s.chance(percent) {
		s.say(variants...)
	}
}

// text returns a template with its alternatives chosen, for what must stay the same through a story.
func (s *teller) text(template string) string {
	var b strings.Builder
	s.expand(&b, template)
	return b.String()
}

// expand writes a template: {key} is a slot, [a|b] one of its alternatives, which may be nested and empty.
func (s *teller) expand(b *strings.Builder, t string) {
	for {
		i := strings.IndexAny(t, "{[")
		if i < 0 {
			b.WriteString(t)
			return
		}
		b.WriteString(t[:i])
		if t[i] == '{' {
			end := strings.IndexByte(t[i:], '}')
			if end < 0 {
				b.WriteString(t[i:])
				return
			}
			s.slot(b, t[i+1:i+end])
			t = t[i+end+1:]
			continue
		}
		alternatives, rest := split(t[i+1:])
		s.expand(b, pick(s, alternatives))
		t = rest
	}
}

// split cuts what follows an opening bracket into its alternatives and the text after the closing one.
func split(t string) (alternatives []string, rest string) {
	depth, start := 0, 0
	for i := range len(t) {
		switch t[i] {
		case '[':
			depth++
		case '|':
			if depth == 0 {
				alternatives = append(alternatives, t[start:i])
				start = i + 1
			}
		case ']':
			if depth == 0 {
				return append(alternatives, t[start:i]), t[i+1:]
			}
			depth--
		}
	}
	return append(alternatives, t[start:]), ""
}

// slot writes what key is bound to. A key with a capital letter, or one after its dot, gives the text with a capital:
// {H.He}, {O.the}. A key without binding is written as it stands, and no story has a brace otherwise.
func (s *teller) slot(b *strings.Builder, key string) {
	if t, ok := s.lookup(key); ok {
		s.expand(b, t)
		return
	}
	if lower := strings.ToLower(key); lower != key {
		if t, ok := s.lookup(lower); ok {
			var part strings.Builder
			s.expand(&part, t)
			b.WriteString(upperFirst(part.String()))
			return
		}
	}
	b.WriteString("{" + key + "}")
}

func (s *teller) lookup(key string) (string, bool) {
	for i := range s.slots {
		if s.slots[i].key == key {
			return s.slots[i].text, true
		}
	}
	for i := range phrases {
		if phrases[i].key == key {
			return phrases[i].text, true
		}
	}
	return "", false
}

// capitalise gives every sentence of a text a capital letter: the first one, and what follows a sentence mark and a
// space, also within a quotation. After a closing quote the sentence may go on, so templates write that capital
// themselves.
func capitalise(t string) string {
	b := []byte(t)
	start := true
	for i, c := range b {
		switch {
		case c == '.' || c == '!' || c == '?':
			start = true
		case c == ' ':
			start = start && i > 0 && b[i-1] != '"'
		case c == '"':
			// An opening quote leaves the start of a sentence open; a closing one is followed by a space.
			start = start || i > 0 && b[i-1] == ' '
		default:
			if start && c >= 'a' && c <= 'z' {
				b[i] = c - 'a' + 'A'
			}
			start = false
		}
	}
	return string(b)
}

func upperFirst(t string) string {
	if t != "" && t[0] >= 'a' && t[0] <= 'z' {
		return string(t[0]-'a'+'A') + t[1:]
	}
	return t
}

// article puts "a" or "an" before a noun phrase.
func article(phrase string) string {
	if strings.ContainsRune("aeiou", rune(phrase[0])) {
		return "an " + phrase
	}
	return "a " + phrase
}
