package sample_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/grammar"
	"cera/sample"
)

// A model of random logits under a schema writes documents that are valid by it, and the same for the same seed.
func TestWithGrammar(t *testing.T) {
	texts := []string{"{", "}", "\"", ":", ",", " ", "\n", "true", "false", "name", "id", "tags", "[", "]", "{\"",
		"\":", "\",", "\"]", "\"}", "</s>", "", "\xC3", "\xA9"}
	const end = 19
	for c := 'a'; c <= 'z'; c++ {
		texts = append(texts, string(c))
	}
	for c := '0'; c <= '9'; c++ {
		texts = append(texts, string(c), "1"+string(c))
	}
	v, err := grammar.NewVocabulary(texts, []int32{end})
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.JSONSchema([]byte(`{"type": "object", "required": ["name", "id"], "properties": {
		"name": {"type": "string", "minLength": 2, "maxLength": 8}, "id": {"type": "integer", "minimum": 10, "maximum": 1500},
		"tags": {"type": "array", "items": {"enum": ["a", "ab", "abc"]}, "maxItems": 3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := sample.Default()
	p.Temperature, p.RepeatPenalty, p.DRYMultiplier = 1.2, 1.1, 0.5
	run := func(s *sample.Sampler, seed uint64) []int32 {
		r := rand.New(rand.NewPCG(seed, 1))
		var ids []int32
		logits := make([]float32, len(texts)+10) // the model has rows that the tokenizer has not
		for {
			for i := range logits {
				logits[i] = float32(r.NormFloat64() * 3)
			}
			c, err := s.Sample(logits)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Accept(c.ID); err != nil {
				t.Fatal(err)
			}
			if c.ID == end {
				return ids
			}
			ids = append(ids, c.ID)
		}
	}
	constraint := g.Constrain(v)
	for seed := range uint64(60) {
		p.Seed = seed
		s, err := sample.New(p, len(texts)+10, sample.Options{
			Constraint: sample.Constrain(constraint.Clone()),
			TokenText: func(id int32) string {
				if int(id) < len(texts) {
					return texts[id]
				}
				return ""
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		branch := s.Clone()
		ids := run(s, seed)
		text := ""
		for _, id := range ids {
			text += texts[id]
		}
		var doc struct {
			Name *string
			ID   *int
			Tags []string
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Name == nil || len([]rune(*doc.Name)) < 2 ||
			doc.ID == nil || *doc.ID < 10 || *doc.ID > 1500 || len(doc.Tags) > 3 {
			t.Fatalf("%s: %v", text, err)
		}
		if again := run(branch, seed); !slices.Equal(again, ids) {
			t.Fatalf("a clone gave %v, want %v", again, ids)
		}
		s.Reset()
		if again := run(s, seed); !slices.Equal(again, ids) {
			t.Fatalf("after Reset: %v, want %v", again, ids)
		}
	}
}
