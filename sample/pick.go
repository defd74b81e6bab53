package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// pick runs the samplers from top-n-sigma on over the adjusted logits.
func (s *Sampler) pick() (int32, error) {
	p := &s.p
	if p.Temperature == 0 && p.Mirostat == 0 && !p.usesTypical() && !p.usesXTC() {
		return s.greedy() // the other samplers always keep the first candidate
	}
	s.collect()
	if len(s.set.c) == 0 {
		return 0, s.noCandidate()
	}
	if p.Mirostat == 2 {
		return s.mirostat(), nil
	}
	return s.draw(s.truncate()).id, nil
}

// truncate runs the samplers from typical to XTC and returns the candidates that are left.
func (s *Sampler) truncate() []candidate {
	p, set := &s.p, &s.set
	if p.usesTypical() {
		set.typical(p.TypicalP, p.MinKeep)
	}
	if p.TopP > 0 && p.TopP < 1 {
		set.topP(p.TopP, p.MinKeep)
	}
	if p.MinP > 0 {
		set.minP(p.MinP, p.MinKeep)
	}
	skip := 0
	if p.usesXTC() && len(set.c) > 1 && uniform(&s.xtc) < p.XTCProbability {
		skip = set.xtc(p.XTCThreshold, p.MinKeep)
	}
	return set.c[skip:]
}

// collect makes the candidates of the adjusted logits, through top-n-sigma and top-k.
func (s *Sampler) collect() {
	lowest, k := math.Inf(-1), 0
	if s.p.Mirostat == 0 {
		k = s.p.TopK
		if s.p.TopNSigma > 0 {
			lowest = sigmaBound(s.work, s.p.TopNSigma)
		}
	}
	c := s.set.c[:0]
	for id, l := range s.work {
		switch {
		case l < lowest || math.IsInf(l, -1):
		case k > 0:
			c = offer(c, k, candidate{l, int32(id)})
		default:
			c = append(c, candidate{l, int32(id)})
		}
	}
	s.set.c, s.set.sorted = c, false
	if k > 0 {
		s.set.keepFirst(k)
	}
}

// greedy returns the first candidate.
func (s *Sampler) greedy() (int32, error) {
	best := 0
	for id, l := range s.work {
		if l > s.work[best] {
			best = id
		}
	}
	if math.IsInf(s.work[best], -1) {
		return 0, s.noCandidate()
	}
	return int32(best), nil
}

func (s *Sampler) noCandidate() error {
	return fmt.Errorf("sample: %w: all %d are banned or have a logit of -Inf", ErrNoCandidate, len(s.work))
}

// uniform returns a random number in [0, 1), a multiple of 2**-53.
func uniform(r *rand.PCG) float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// draw takes a candidate at random by the softmax of logit / Temperature. It uses one random number, also where there
// is only one candidate, so that the numbers of later draws are known beforehand.
func (s *Sampler) draw(c []candidate) candidate {
	best := c[0]
	for _, x := range c[1:] {
		if before(x, best) {
			best = x
		}
	}
	if s.p.Temperature == 0 {
		return best
	}
	sum := 0.0
	s.odds = s.odds[:0]
	for _, x := range c {
		p := exp((x.logit - best.logit) / s.p.Temperature)
		s.odds = append(s.odds, p)
		sum += p
	}
	target := float64(uniform(&s.draws) * sum)
	sum = 0
	for i, p := range s.odds {
		if sum += p; sum > target {
			return c[i]
		}
	}
	return best // not reached but where the target was rounded up to the sum
}

// mirostat keeps the candidates whose surprise is at most mu, draws one, and moves mu by how far its surprise is from
// tau. As in llama.cpp that surprise is measured among the kept candidates.
func (s *Sampler) mirostat() int32 {
	set := &s.set
	largest := set.largest()
	t := s.p.Temperature
	if t == 0 {
		set.keepFirst(1)
		t = 1
	}
	// surprise returns that of a candidate, in bits, by the logarithm of the softmax's denominator.
	surprise := func(c candidate, logSum float64) float64 { return (logSum - (c.logit-largest)/t) / math.Ln2 }
	logSum := func(kept []candidate) float64 {
		sum := 0.0
		for _, c := range kept {
			sum += exp((c.logit - largest) / t)
		}
		return log(sum)
	}
	all := logSum(set.c)
	kept := 0
	for i, c := range set.c {
		if surprise(c, all) <= s.mu {
			set.c[i], set.c[kept] = set.c[kept], c
			kept++
		}
	}
	if kept == 0 {
		set.keepFirst(1)
		kept = 1
	}
	c := s.draw(set.c[:kept])
	s.mu -= float64(s.p.MirostatEta * (surprise(c, logSum(set.c[:kept])) - s.p.MirostatTau))
	return c.id
}
