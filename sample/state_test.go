package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// everything is a chain with every sampler in use.
func everything(seed uint64) Params {
	return Params{
		Seed: seed, Temperature: 0.9, TopK: 30, TopP: 0.97, MinP: 0.01, TypicalP: 0.98, TopNSigma: 4,
		XTCProbability: 0.3, XTCThreshold: 0.1, MinKeep: 2,
		RepeatLastN: 20, RepeatPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.2,
		DRYMultiplier: 0.8, DRYBase: 1.75, DRYAllowedLength: 2, DRYPenaltyLastN: 50, DRYBreakerTokens: []int32{3},
		LogitBias: map[int32]float32{1: 0.5, 2: -0.5, 9: float32(math.Inf(-1))},
	}
}

// generate goes on for n tokens on logits that depend on the step alone.
func generate(t testing.TB, s *Sampler, seed uint64, n int) []int32 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	logits := make([]float32, len(s.work))
	var ids []int32
	for range n {
		for i := range logits {
			logits[i] = float32(r.IntN(4000)-2000) / 512 // exact, and the same everywhere
		}
		id := mustSample(t, s, logits).ID
		if err := s.Accept(id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Ids that were drawn on amd64; they are the same on every platform.
func TestSeedOnEveryPlatform(t *testing.T) {
	mirostat := Params{Seed: 5, Temperature: 1.1, Mirostat: 2, MirostatTau: 3, MirostatEta: 0.1}
	tests := []struct {
		name string
		p    Params
		last []int32 // of 2000
		hash uint64
	}{
		{"everything", everything(1), []int32{42, 45, 53, 22, 3, 19, 56, 52}, 0xd38842e71e8dbd02},
		{"temperature", Params{Seed: 2, Temperature: 1}, []int32{30, 45, 11, 9, 57, 13, 30, 52}, 0xfe28a2f0fd24688d},
		{"mirostat", mirostat, []int32{35, 14, 27, 55, 15, 33, 25, 24}, 0x2085ddefeecd6418},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ids := generate(t, mustNew(t, test.p, 60, Options{}), 77, 2000)
			hash := uint64(14695981039346656037) // FNV-1a
			for _, id := range ids {
				hash = (hash ^ uint64(id)) * 1099511628211
			}
			if hash != test.hash || !slices.Equal(ids[1992:], test.last) {
				t.Errorf("hash %#x, last ids %v; want %#x, %v", hash, ids[1992:], test.hash, test.last)
			}
		})
	}
}

func TestSeedsAndReset(t *testing.T) {
	a := mustNew(t, everything(1), 60, Options{})
	want := generate(t, a, 5, 300)
	a.Reset()
	if got := generate(t, a, 5, 300); !slices.Equal(got, want) {
		t.Error("after Reset other ids came")
	}
	if got := generate(t, mustNew(t, everything(1), 60, Options{}), 5, 300); !slices.Equal(got, want) {
		t.Error("a second sampler of the same seed gave other ids")
	}
	if got := generate(t, mustNew(t, everything(2), 60, Options{}), 5, 300); slices.Equal(got, want) {
		t.Error("another seed gave the same ids")
	}
}

// A clone gives what the original gives, and neither sees what the other accepts.
func TestClone(t *testing.T) {
	for name, p := range map[string]Params{"everything": everything(1),
		"mirostat": {Mirostat: 2, MirostatTau: 4, MirostatEta: 0.3, Temperature: 1}} {
		t.Run(name, func(t *testing.T) {
			list := &only{}
			for i := range 1000 {
				list.list = append(list.list, int32(i%60))
			}
			a := mustNew(t, p, 60, Options{Constraint: Constrain(list)})
			generate(t, a, 9, 100)
			b, c := a.Clone(), a.Clone()
			want := generate(t, a, 10, 200)
			generate(t, b, 11, 50)
			if got := generate(t, c, 10, 200); !slices.Equal(got, want) {
				t.Errorf("a clone gave\n%v, want\n%v", got, want)
			}
			if list.accepted != 300 {
				t.Errorf("the first constraint has accepted %d tokens, want 300", list.accepted)
			}
			a.Reset()
			if list.accepted != 0 {
				t.Error("Reset did not reach the constraint")
			}
		})
	}
}

// What the caller changes after New does not matter.
func TestParamsAreCopied(t *testing.T) {
	p := everything(1)
	p.DRYSequenceBreakers = []string{"a"}
	o := Options{TokenText: func(id int32) string { return string('a' + id) }}
	a := mustNew(t, p, 60, o)
	want := generate(t, mustNew(t, p, 60, o), 5, 300)
	p.LogitBias[3], p.LogitBias[9], p.DRYBreakerTokens[0], p.DRYSequenceBreakers[0] = 9, 9, 7, "q"
	if got := generate(t, a, 5, 300); !slices.Equal(got, want) {
		t.Error("the sampler follows changes of its parameters")
	}
}

// Mirostat against its definition, step by step: surprise in bits, the bound, the draw, the bound's move.
func TestMirostat(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for round := range 30 {
		p := Params{Seed: r.Uint64(), Mirostat: 2, MirostatTau: 0.5 + 5*r.Float64(), MirostatEta: r.Float64() * 0.5,
			Temperature: 0.5 + r.Float64()}
		// What Mirostat replaces does nothing.
		p.TopK, p.TopP, p.MinP, p.TopNSigma, p.RepeatLastN, p.RepeatPenalty = 2, 0.1, 0.9, 0.1, -1, 3
		p.DRYMultiplier, p.DRYBase, p.DRYPenaltyLastN = 5, 2, -1
		vocab := 2 + r.IntN(300)
		s := mustNew(t, p, vocab, Options{})
		draws, mu := s.draws, 2*p.MirostatTau
		const steps = 400
		for step := range steps {
			logits := randomLogits(r, vocab)
			list := soften(slowCandidates(p, logits, nil, nil, func(int) bool { return true }, nil), p.Temperature)
			likeliest := 0
			for i, x := range list {
				if x.logit > list[likeliest].logit {
					likeliest = i
				}
			}
			kept := []token{}
			for _, x := range list {
				if -math.Log2(x.p) <= mu {
					kept = append(kept, x)
				}
			}
			if len(kept) == 0 {
				kept = append(kept, list[likeliest])
			}
			soften(kept, p.Temperature)
			picked := kept[0]
			u, sum := float64(draws.Uint64()>>11)/(1<<53), 0.0
			for _, picked = range kept {
				if sum += picked.p; sum > u {
					break
				}
			}
			if got := mustSample(t, s, logits).ID; int(got) != picked.id {
				t.Fatalf("round %d, step %d: got %d, want %d of %d kept, mu %v", round, step, got, picked.id, len(kept),
					mu)
			}
			if err := s.Accept(int32(picked.id)); err != nil {
				t.Fatal(err)
			}
			mu -= p.MirostatEta * (-math.Log2(picked.p) - p.MirostatTau)
		}
	}
}

// Mirostat brings the mean surprise to tau, where the distribution allows it.
func TestMirostatConverges(t *testing.T) {
	logits := make([]float32, 2000)
	for i := range logits {
		logits[i] = float32(-1.2 * math.Log(float64(i+1))) // Zipf's law
	}
	for _, tau := range []float64{1, 2, 3, 4} {
		s := mustNew(t, Params{Seed: 1, Temperature: 1, Mirostat: 2, MirostatTau: tau, MirostatEta: 0.05}, len(logits),
			Options{})
		for range 500 {
			mustSample(t, s, logits)
		}
		low, high := s.mu, s.mu
		for range 3000 {
			mustSample(t, s, logits)
			low, high = min(low, s.mu), max(high, s.mu)
		}
		// The mean surprise of these steps is tau + (change of mu) / (eta * steps), so that it is near tau as long as
		// mu stays where some tokens are kept and some are not: below the surprise of the rarest, above that of the
		// likeliest.
		sum := 0.0
		for _, l := range logits {
			sum += math.Exp(float64(l))
		}
		if rarest := math.Log2(sum) - float64(logits[len(logits)-1])/math.Ln2; low < math.Log2(sum) || high > rarest {
			t.Errorf("tau %v: mu went from %v to %v, want within %v to %v", tau, low, high, math.Log2(sum), rarest)
		}
	}
}
