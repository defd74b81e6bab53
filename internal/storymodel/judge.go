package storymodel

import (
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

type rule struct {
	name string
	bad  *regexp.Regexp
}

// rules are what no story breaks. A program that only runs the model does without them.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		{"doubled space", regexp.MustCompile(`  |^ | $`)},
		{"doubled mark", regexp.MustCompile(`[.,!?:]{2}`)},
		{"space before a mark", regexp.MustCompile(` [.,!?:]`)},
		{"no space after a mark", regexp.MustCompile(`[.,!?:][A-Za-z]`)},
		{"small letter at the start of a sentence", regexp.MustCompile(`^[a-z]|[.!?] [a-z]|(^| )"[a-z]`)},
		{"capital in the middle of a word", regexp.MustCompile(`[a-z][A-Z]`)},
		{"wrong article", regexp.MustCompile(`\b[Aa] [aeiou]|\b[Aa]n [^aeiou]`)},
		{"doubled word", regexp.MustCompile(
			`\b(the the|a a|an an|and and|to to|was was|in in|of of|his his|her his|his her|he he|she she)\b`)},
		{"article before a pronoun", regexp.MustCompile(`\b([Tt]he|[Aa]n?) (his|her|he|she|him|it)\b`)},
		{"strange character", regexp.MustCompile(`[^A-Za-z .,!?:'"]`)},
		{"no sentence mark at the end", regexp.MustCompile(`[^.!?"]$|[^.!?]"$`)},
	}
})

// Faults returns what is wrong with the form of a story, nothing for one of the grammar.
func Faults(text string) (faults []string) {
	for _, r := range rules() {
		if m := r.bad.FindString(text); m != "" {
			faults = append(faults, r.name+": "+m)
		}
	}
	if f := quotes(text); f != "" {
		faults = append(faults, f)
	}
	return faults
}

// quotes says what is wrong with the quotation marks of a text: they open after a space and close after a mark, in
// turn.
func quotes(text string) string {
	open := false
	for i := range len(text) {
		if text[i] != '"' {
			continue
		}
		after := i == 0 || text[i-1] == ' '
		switch {
		case after && open:
			return "a quotation opens within another"
		case !after && !open:
			return "a quotation closes that is not open"
		case open && !strings.ContainsRune(".,!?", rune(text[i-1])):
			return "a quotation closes without a mark"
		}
		open = !open
	}
	if open {
		return "a quotation stays open"
	}
	return ""
}

// Judge knows the stories that a model was trained on, and says how a set of texts compares with them.
type Judge struct {
	seed    maphash.Seed
	stories map[uint64]bool // hashes
	grams   map[uint64]bool // of 8 words
	words   map[string]bool
}

// gram is the length of the word sequences that are looked up among those of the training stories.
const gram = 8

// NewJudge reads the first n stories that data of the seed is made of.
func NewJudge(seed uint64, n int) *Judge {
	j := &Judge{seed: maphash.MakeSeed(), stories: map[uint64]bool{}, grams: map[uint64]bool{},
		words: map[string]bool{}}
	for _, text := range tellAll(n, func(i int) uint64 { return trainSeed(seed, i) }) {
		j.stories[maphash.String(j.seed, text)] = true
		j.eachGram(text, func(h uint64) { j.grams[h] = true })
		for _, w := range wordsOf(text) {
			j.words[strings.ToLower(w)] = true
		}
	}
	return j
}

func (j *Judge) eachGram(text string, do func(uint64)) { eachGram(j.seed, text, gram, do) }

// eachGram calls do with the hash of every sequence of so many words.
func eachGram(seed maphash.Seed, text string, size int, do func(uint64)) {
	f := strings.Fields(text)
	for i := size; i <= len(f); i++ {
		do(maphash.String(seed, strings.Join(f[i-size:i], " ")))
	}
}

// wordsOf returns the words without marks.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || strings.ContainsRune(".,!?:\"", r) })
}

// Measures describes a set of stories. Shares are of 1.
type Measures struct {
	Stories      int     `json:"stories"`
	Distinct     int     `json:"distinct"`
	MeanWords    float64 `json:"mean_words"`
	Faultless    float64 `json:"faultless"`      // share of the stories in whose form nothing is wrong; see Faults
	KnownWords   float64 `json:"known_words"`    // share of the words, names included, that training stories have
	NamesAStory  float64 `json:"names_a_story"`  // different names in a story
	StrayNames   float64 `json:"stray_names"`    // share of the stories with a name that comes only once
	KnownGrams   float64 `json:"known_8_grams"`  // share of the sequences of 8 words that training stories have
	CopiedWhole  int     `json:"copied_whole"`   // stories that are among those to train on
	DistinctGram float64 `json:"distinct_grams"` // share of the sequences of 8 words that come once in this set
}

// Measure looks at a set of stories.
func (j *Judge) Measure(texts []string) Measures {
	m := Measures{Stories: len(texts)}
	distinct, own := map[string]bool{}, map[uint64]int{}
	var words, known, grams, knownGrams, names int
	for _, text := range texts {
		distinct[text] = true
		if j.stories[maphash.String(j.seed, text)] {
			m.CopiedWhole++
		}
		if len(Faults(text)) == 0 {
			m.Faultless++
		}
		for _, w := range wordsOf(text) {
			words++
			if j.words[strings.ToLower(w)] {
				known++
			}
		}
		j.eachGram(text, func(h uint64) {
			grams++
			own[h]++
			if j.grams[h] {
				knownGrams++
			}
		})
		counts := namesOf(text)
		names += len(counts)
		for _, n := range counts {
			if n == 1 {
				m.StrayNames++
				break
			}
		}
	}
	once := 0
	for _, n := range own {
		if n == 1 {
			once++
		}
	}
	n := math.Max(1, float64(len(texts)))
	m.Distinct = len(distinct)
	m.MeanWords = float64(words) / n
	m.Faultless /= n
	m.KnownWords = float64(known) / math.Max(1, float64(words))
	m.NamesAStory = float64(names) / n
	m.StrayNames /= n
	m.KnownGrams = float64(knownGrams) / math.Max(1, float64(grams))
	m.DistinctGram = float64(once) / math.Max(1, float64(grams))
	return m
}

// notNames are the words with a capital that are no names.
var notNames = strings.Fields("I Mom Dad Grandma Grandpa Mama Papa Uncle Aunt Miss")

// namesOf counts the names of a story: words with a capital that stand within a sentence somewhere.
func namesOf(text string) map[string]int {
	within, all := map[string]bool{}, map[string]int{}
	start := true
	for w := range strings.SplitSeq(text, " ") {
		bare := strings.TrimSuffix(strings.Trim(w, ".,!?:\""), "'s")
		if strings.HasPrefix(w, "\"") {
			start = true
		}
		if bare != "" && bare[0] >= 'A' && bare[0] <= 'Z' && !slices.Contains(notNames, bare) {
			all[bare]++
			if !start {
				within[bare] = true
			}
		}
		w = strings.TrimSuffix(w, "\"")
		start = w != "" && strings.ContainsRune(".!?", rune(w[len(w)-1]))
	}
	counts := map[string]int{}
	for name := range within {
		counts[name] = all[name]
	}
	return counts
}
