package storymodel

import (
	"hash/maphash"
	"strings"
)

// GrammarCounts says how varied the grammar's stories are.
type GrammarCounts struct {
	Stories  int            `json:"stories"`
	Distinct int            `json:"distinct"`
	Plots    map[string]int `json:"plots"`
	Words    struct {
		All      int `json:"all"`
		Distinct int `json:"distinct"`
		Least    int `json:"least"` // in a story
		Most     int `json:"most"`
	} `json:"words"`
	Bytes int `json:"bytes"`
	// Distinct sequences of so many words.
	Grams2 int `json:"distinct_2_grams"`
	Grams4 int `json:"distinct_4_grams"`
	Grams8 int `json:"distinct_8_grams"`
	// The share of the sequences of 8 words in as many again stories, at most 1000, that none of these stories has.
	New8 float64 `json:"new_8_grams"`
}

// CountGrammar counts over the first n stories to train on that the seed selects.
func CountGrammar(seed uint64, n int) GrammarCounts {
	c := GrammarCounts{Stories: n, Plots: map[string]int{}}
	texts, names := make([]string, n), make([]string, n)
	onAllCores(n, func(i int) { texts[i], names[i] = tell(trainSeed(seed, i)) })
	key := maphash.MakeSeed()
	grams := map[int]map[uint64]bool{2: {}, 4: {}, gram: {}}
	distinct, words := map[uint64]bool{}, map[string]bool{}
	for i, text := range texts {
		distinct[maphash.String(key, text)] = true
		c.Plots[names[i]]++
		c.Bytes += len(text)
		k := len(strings.Fields(text))
		c.Words.All += k
		if i == 0 || k < c.Words.Least {
			c.Words.Least = k
		}
		c.Words.Most = max(c.Words.Most, k)
		for _, w := range wordsOf(text) {
			words[strings.ToLower(w)] = true
		}
		for size, set := range grams {
			eachGram(key, text, size, func(h uint64) { set[h] = true })
		}
	}
	c.Distinct, c.Words.Distinct = len(distinct), len(words)
	c.Grams2, c.Grams4, c.Grams8 = len(grams[2]), len(grams[4]), len(grams[gram])
	all, fresh := 0, 0
	for _, text := range HeldOut(seed, min(n, 1000)) {
		eachGram(key, text, gram, func(h uint64) {
			all++
			if !grams[gram][h] {
				fresh++
			}
		})
	}
	if all > 0 {
		c.New8 = float64(fresh) / float64(all)
	}
	return c
}
