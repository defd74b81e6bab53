package sample

import (
	"math/rand/v2"
	"testing"
)

// One token of a vocabulary of 128 Ki, of logits as a language model gives them: a few large ones and a long tail.
func BenchmarkSample(b *testing.B) {
	const vocab = 128 << 10
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(r.NormFloat64()*2 - 4)
	}
	for range 50 {
		logits[r.IntN(vocab)] = float32(8 + 6*r.Float64())
	}
	full := everything(1)
	full.RepeatLastN, full.DRYPenaltyLastN = -1, -1
	probs := Default()
	probs.TopLogProbs = 20
	for _, bench := range []struct {
		name string
		p    Params
	}{
		{"greedy", Params{}},
		{"default", Default()},
		{"default with 20 alternatives", probs},
		{"temperature alone", Params{Temperature: 1}},
		{"top-k 1000", Params{Temperature: 1, TopK: 1000}},
		{"top-p alone", Params{Temperature: 1, TopP: 0.95}},
		{"min-p alone", Params{Temperature: 1, MinP: 0.05}},
		{"typical alone", Params{Temperature: 1, TypicalP: 0.95}},
		{"mirostat", Params{Temperature: 1, Mirostat: 2, MirostatTau: 5, MirostatEta: 0.1}},
		{"everything after 4096 tokens", full},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := mustNew(b, bench.p, vocab, Options{})
			for range 4096 {
				s.remember(int32(r.IntN(vocab)))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Sample(logits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
