package sample

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// largest returns the k largest logits and their ids, as a device finds them.
func largest(logits []float32, k int) (ids []int32, top []float32) {
	for i := range logits {
		ids = append(ids, int32(i))
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(logits[b], logits[a]) })
	ids = ids[:min(k, len(ids))]
	for _, id := range ids {
		top = append(top, logits[id])
	}
	return ids, top
}

// SampleTop picks what Sample picks, and uses the random numbers that Draws tells beforehand.
func TestSampleTop(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for round := range 60 {
		p := Params{Seed: r.Uint64(), Temperature: 0.1 + 3*r.Float64(), TopK: 1 + r.IntN(MostAhead), MinKeep: r.IntN(4)}
		p.TopP, p.MinP = []float64{0, 0.3, 0.95, 1}[r.IntN(4)], []float64{0, 0.05, 0.6}[r.IntN(3)]
		vocab := 1 + r.IntN(200)
		a, b := mustNew(t, p, vocab, Options{}), mustNew(t, p, vocab, Options{})
		if !a.Ahead() {
			t.Fatalf("%+v: Ahead is false", p)
		}
		for step := range 100 {
			logits := randomLogits(r, vocab)
			if step%9 == 0 {
				logits[r.IntN(vocab)] = float32(math.Inf(-1))
			}
			ids, top := largest(logits, MostAhead)
			u := b.Draws(2)[0]
			want, wantErr := a.Sample(logits)
			got, err := b.SampleTop(ids, top)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("round %d, step %d: error %v, want %v", round, step, err, wantErr)
			}
			if err == nil && got != want.ID {
				t.Fatalf("round %d, step %d: got %d, want %d", round, step, got, want.ID)
			}
			if err == nil && b.Draws(1)[0] == u {
				t.Fatalf("round %d, step %d: no random number was used", round, step)
			}
		}
	}
}

func TestAhead(t *testing.T) {
	ok := Params{Temperature: 1, TopK: 40}
	with := func(f func(*Params)) Params {
		p := ok
		f(&p)
		return p
	}
	for name, c := range map[string]struct {
		p      Params
		o      Options
		want   bool
		greedy bool // at a temperature of 0
	}{
		"plain":           {ok, Options{}, true, true},
		"the defaults":    {Default(), Options{TokenText: func(int32) string { return "" }}, true, true},
		"greedy":          {Params{}, Options{}, false, true},
		"all candidates":  {with(func(p *Params) { p.TopK = 0 }), Options{}, false, true},
		"many candidates": {with(func(p *Params) { p.TopK = MostAhead + 1 }), Options{}, false, true},
		"typical":         {with(func(p *Params) { p.TypicalP = 0.5 }), Options{}, false, false},
		"sigma":           {with(func(p *Params) { p.TopNSigma = 1 }), Options{}, false, true},
		"xtc": {with(func(p *Params) { p.XTCProbability, p.XTCThreshold = 1, 0.1 }), Options{}, false,
			false},
		"penalties": {with(func(p *Params) { p.RepeatLastN, p.RepeatPenalty = 9, 1.1 }), Options{}, false,
			false},
		"dry": {with(func(p *Params) { p.DRYMultiplier, p.DRYBase, p.DRYPenaltyLastN = 1, 2, -1 }),
			Options{}, false, false},
		"mirostat":          {with(func(p *Params) { p.Mirostat, p.MirostatTau = 2, 3 }), Options{}, false, false},
		"bias":              {with(func(p *Params) { p.LogitBias = map[int32]float32{1: 1} }), Options{}, false, false},
		"log-probabilities": {with(func(p *Params) { p.TopLogProbs = 1 }), Options{}, false, false},
	} {
		s := mustNew(t, c.p, 5, c.o)
		if got := s.Ahead(); got != c.want {
			t.Errorf("%s: Ahead is %v, want %v", name, got, c.want)
		}
		if got := s.Greedy(); got != (c.greedy && c.p.Temperature == 0) {
			t.Errorf("%s: Greedy is %v", name, got)
		}
		c.p.Temperature = 0
		if got := mustNew(t, c.p, 5, c.o).Greedy(); got != c.greedy {
			t.Errorf("%s, at a temperature of 0: Greedy is %v, want %v", name, got, c.greedy)
		}
	}
}

func TestSampleTopRejects(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := Params{Temperature: 1, TopK: 3}
	for name, c := range map[string]struct {
		p    Params
		ids  []int32
		top  []float32
		want string
	}{
		"needs all":     {Params{Temperature: 1}, []int32{1}, []float32{1}, "need all logits"},
		"too few":       {p, []int32{1, 2}, []float32{2, 1}, "the 2 largest logits and 2 ids, expected 3"},
		"not as many":   {p, []int32{1, 2, 3}, []float32{2, 1}, "the 2 largest logits and 3 ids"},
		"NaN":           {p, []int32{1, 2, 3}, []float32{nan, 1, 0}, "the logit of token 1 is NaN"},
		"infinity":      {p, []int32{4, 2, 3}, []float32{inf, 1, 0}, "the logit of token 4 is +Inf"},
		"no such token": {p, []int32{1, 5, 3}, []float32{2, 1, 0}, "ids[1] is 5, expected 0 to 4"},
		"out of order":  {p, []int32{1, 2, 3}, []float32{2, 1, 1.5}, "token 3, 1.5, is out of order"},
		"equals":        {p, []int32{1, 3, 2}, []float32{2, 1, 1}, "token 2, 1, is out of order"},
		"none":          {p, []int32{0, 1, 2}, []float32{-inf, -inf, -inf}, "no token may come next"},
	} {
		if _, err := mustNew(t, c.p, 5, Options{}).SampleTop(c.ids, c.top); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to contain %q", name, err, c.want)
		}
	}
}
