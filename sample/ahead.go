package sample

import (
	"fmt"
	"math"
)

// MostAhead is the largest TopK for which Ahead answers true.
const MostAhead = 64

// plain tells whether a token depends on nothing but the model's logits, the likeliest of which always may come, and a
// random number.
func (s *Sampler) plain() bool {
	p := &s.p
	return p.Mirostat == 0 && p.TopLogProbs == 0 && !p.usesTypical() && !p.usesXTC() && !p.usesPenalties() &&
		!p.usesDRY() &&
		len(s.bias) == 0 && s.o.Constraint == nil
}

// Greedy tells whether the token is the model's likeliest, whatever came before.
func (s *Sampler) Greedy() bool { return s.p.Temperature == 0 && s.plain() }

// Ahead tells whether a token is drawn from nothing but the TopK largest logits and a random number that Draws knows
// beforehand. A device can then guess several tokens one after the other, from which SampleTop says what is right.
func (s *Sampler) Ahead() bool {
	p := &s.p
	return p.Temperature > 0 && p.TopK > 0 && p.TopK <= MostAhead && p.TopNSigma == 0 && s.plain()
}

// Draws returns the random numbers of the next n draws, in [0, 1). They stay to be drawn.
func (s *Sampler) Draws(n int) []float64 {
	ahead := s.draws
	u := make([]float64, n)
	for i := range u {
		u[i] = uniform(&ahead)
	}
	return u
}

// SampleTop picks what Sample would, where Ahead is true: from the TopK largest logits, all of a smaller vocabulary, in
// descending order, and from their ids, the lower first of equals. More of them do no harm.
func (s *Sampler) SampleTop(ids []int32, logits []float32) (int32, error) {
	if !s.Ahead() {
		return 0, fmt.Errorf("sample: the parameters need all logits, found %d", len(logits))
	}
	want := min(s.p.TopK, len(s.work))
	if len(ids) < want || len(logits) != len(ids) {
		return 0, fmt.Errorf("sample: found the %d largest logits and %d ids, expected %d of each", len(logits),
			len(ids), want)
	}
	c := s.set.c[:0]
	for i, l := range logits[:want] {
		if l != l || math.IsInf(float64(l), 1) {
			return 0, fmt.Errorf("sample: the logit of token %d is %v, expected a finite number or -Inf", ids[i], l)
		}
		x := candidate{float64(l), ids[i]}
		if x.id < 0 || int(x.id) >= len(s.work) {
			return 0, fmt.Errorf("sample: ids[%d] is %d, expected 0 to %d", i, x.id, len(s.work)-1)
		}
		if i > 0 && !before(candidate{float64(logits[i-1]), ids[i-1]}, x) {
			return 0, fmt.Errorf("sample: the logit of token %d, %v, is out of order after that of token %d, %v", x.id,
				l, ids[i-1], logits[i-1])
		}
		if !math.IsInf(x.logit, -1) {
			c = append(c, x)
		}
	}
	s.set.c, s.set.sorted = c, true
	if len(c) == 0 {
		return 0, s.noCandidate()
	}
	return s.draw(s.truncate()).id, nil
}
