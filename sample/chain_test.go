package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func mustNew(t testing.TB, p Params, vocab int, o Options) *Sampler {
	t.Helper()
	s, err := New(p, vocab, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSample(t testing.TB, s *Sampler, logits []float32) Choice {
	t.Helper()
	c, err := s.Sample(logits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func randomLogits(r *rand.Rand, n int) []float32 {
	l := make([]float32, n)
	scale := r.Float64()*4 + 0.1
	for i := range l {
		l[i] = float32(r.NormFloat64() * scale)
		if r.IntN(10) == 0 {
			l[i] = float32(math.Inf(-1))
		}
		if i > 0 && r.IntN(10) == 0 {
			l[i] = l[r.IntN(i)] // ties
		}
	}
	l[r.IntN(n)] = float32(r.NormFloat64())
	return l
}

// maybe returns v half of the time, and 0.
func maybe[T any](r *rand.Rand, v T) (w T) {
	if r.IntN(2) == 0 {
		return v
	}
	return w
}

func randomParams(r *rand.Rand, vocab int) Params {
	p := Params{
		Seed:             r.Uint64(),
		Temperature:      maybe(r, r.Float64()*3+0.01),
		TopK:             maybe(r, 1+r.IntN(vocab+3)),
		TopP:             maybe(r, r.Float64()),
		MinP:             maybe(r, r.Float64()*0.3),
		TypicalP:         maybe(r, r.Float64()),
		TopNSigma:        maybe(r, r.Float64()*3),
		XTCProbability:   maybe(r, r.Float64()),
		XTCThreshold:     r.Float64() * 0.3,
		MinKeep:          maybe(r, r.IntN(5)),
		RepeatLastN:      []int{-1, 0, 1, 7, 30}[r.IntN(5)],
		RepeatPenalty:    maybe(r, r.Float64()*2+0.1),
		FrequencyPenalty: maybe(r, r.NormFloat64()),
		PresencePenalty:  maybe(r, r.NormFloat64()),
		DRYMultiplier:    maybe(r, r.Float64()),
		DRYBase:          1 + r.Float64(),
		DRYAllowedLength: r.IntN(4),
		DRYPenaltyLastN:  []int{-1, 0, 1, 7, 30}[r.IntN(5)],
		LogitBias:        map[int32]float32{},
		TopLogProbs:      r.IntN(vocab + 1),
	}
	for range r.IntN(4) {
		p.LogitBias[int32(r.IntN(vocab))] = float32([]float64{1, -2.5, math.Inf(-1)}[r.IntN(3)])
		p.DRYBreakerTokens = append(p.DRYBreakerTokens, int32(r.IntN(vocab)))
		p.DRYSequenceBreakers = append(p.DRYSequenceBreakers, []string{"\n", "ab", "b\na", "xyxyx"}[r.IntN(4)])
	}
	return p
}

// The candidates that are left of random logits by random parameters are those of the slow sampler, in every step of a
// sequence, and the token is one of them.
func TestChainAgainstDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	texts := []string{"a", "b", "ab", "\n", "a\n", "\nb", "", "x", "y", "xy", "yx", "ba", "b\n"}
	for round := range 2000 {
		vocab := len(texts) + r.IntN(30)
		p := randomParams(r, vocab)
		all := append(slices.Clone(texts), make([]string, vocab-len(texts))...)
		r.Shuffle(vocab, func(i, j int) { all[i], all[j] = all[j], all[i] })
		list := r.Perm(vocab)[:1+r.IntN(vocab)]
		allowed := func(id int) bool { return slices.Contains(list, id) }
		c := &only{}
		for _, id := range list {
			c.list = append(c.list, int32(id))
		}
		s := mustNew(t, p, vocab, Options{TokenText: func(id int32) string { return all[id] },
			Constraint: Constrain(c)})
		var history []int32
		for range r.IntN(12) {
			history = append(history, int32(r.IntN(vocab)))
		}
		if err := s.AcceptPrompt(history...); err != nil {
			t.Fatal(err)
		}
		xtc := s.xtc
		few := 2 + r.IntN(6) // of few tokens, so that there are repetitions
		for step := range 20 {
			logits := randomLogits(r, vocab)
			want := slowCandidates(p, logits, history, all, allowed, &xtc)
			choice, err := s.Sample(logits)
			if err != nil {
				if len(want) > 0 {
					t.Fatalf("round %d, step %d: %v, want one of %v", round, step, err, want)
				}
				continue
			}
			if !slices.ContainsFunc(want, func(x token) bool { return x.id == int(choice.ID) }) {
				t.Fatalf("round %d, step %d, %+v: got %d, want one of %v", round, step, p, choice.ID, want)
			}
			// The same again, for the candidates themselves.
			if got := candidatesOf(t, s, logits); got != nil && !slices.Equal(got, idsOf(want)) &&
				p.XTCProbability == 0 {
				t.Fatalf("round %d, step %d, %+v: candidates %v, want %v", round, step, p, got, idsOf(want))
			}
			checkTop(t, choice, logits, p.TopLogProbs)
			id := int32(r.IntN(few))
			history = append(history, id)
			s.remember(id)
		}
	}
}

// candidatesOf returns the ids of what is left before the draw, in ascending order. XTC is not asked for.
func candidatesOf(t *testing.T, s *Sampler, logits []float32) []int {
	t.Helper()
	if s.p.XTCProbability > 0 {
		return nil
	}
	if _, err := s.adjust(logits); err != nil {
		t.Fatal(err)
	}
	s.collect()
	ids := []int{}
	for _, c := range s.truncate() {
		ids = append(ids, int(c.id))
	}
	slices.Sort(ids)
	return ids
}

func idsOf(list []token) []int {
	ids := []int{}
	for _, x := range list {
		ids = append(ids, x.id)
	}
	slices.Sort(ids)
	return ids
}

// checkTop holds the log-probabilities to the softmax of all logits.
func checkTop(t *testing.T, c Choice, logits []float32, n int) {
	t.Helper()
	largest, sum := float64(slices.Max(logits)), 0.0
	for _, l := range logits {
		sum += exp(float64(l) - largest)
	}
	want := func(id int32) float64 { return float64(logits[id]) - (largest + log(sum)) }
	if c.LogProb != want(c.ID) {
		t.Fatalf("log-probability %v of token %d, want %v", c.LogProb, c.ID, want(c.ID))
	}
	order := make([]int32, len(logits))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	if len(c.Top) != n {
		t.Fatalf("%d alternatives, want %d", len(c.Top), n)
	}
	for i, a := range c.Top {
		if a.ID != order[i] || a.LogProb != want(a.ID) {
			t.Fatalf("alternative %d is %+v, want token %d of %v", i, a, order[i], want(order[i]))
		}
	}
}

// Every truncating sampler by itself on large vocabularies, where partial selection is at work.
func TestTruncateLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, vocab := range []int{255, 256, 257, 6000} {
		for _, p := range []Params{
			{TopK: 1}, {TopK: 40}, {TopK: 256}, {TopK: 3000}, {TopK: math.MaxInt},
			{TopP: 0.5}, {TopP: 0.9}, {TopP: 0.999}, {TopP: 1 - 1e-9}, {TopP: 0.01, MinKeep: 700},
			{TypicalP: 0.3}, {TypicalP: 0.95}, {TypicalP: 0.01, MinKeep: 700},
			{MinP: 0.5}, {MinP: 0.001}, {MinP: 1}, {MinP: 1, MinKeep: 700},
			{TopNSigma: 0.5}, {TopNSigma: 3},
			{TopK: 1000, TypicalP: 0.9, TopP: 0.9, MinP: 0.01},
		} {
			t.Run(fmt.Sprintf("%d/%+v", vocab, p), func(t *testing.T) {
				p.Temperature = 1
				s := mustNew(t, p, vocab, Options{})
				for _, scale := range []float64{0, 0.1, 1, 5} {
					logits := make([]float32, vocab)
					for i := range logits {
						logits[i] = float32(r.NormFloat64() * scale)
					}
					got := candidatesOf(t, s, logits)
					want := idsOf(slowCandidates(p, logits, nil, nil, func(int) bool { return true }, nil))
					if !slices.Equal(got, want) {
						t.Fatalf("scale %v: %d candidates, want %d", scale, len(got), len(want))
					}
				}
			})
		}
	}
}
