package sample

import (
	"fmt"
	"math"
	"math/bits"
)

// history is the accepted tokens, as many of them as are needed.
type history struct {
	tokens []int32
	keep   int // -1 for all
}

// last returns the last n tokens, all for n < 0 and where there are fewer.
func (h *history) last(n int) []int32 {
	if n < 0 || n > len(h.tokens) {
		return h.tokens
	}
	return h.tokens[len(h.tokens)-n:]
}

// add appends a token. What is no longer needed goes when it is as much as what is.
func (h *history) add(id int32) {
	if h.keep == 0 {
		return
	}
	h.tokens = append(h.tokens, id)
	if h.keep > 0 && len(h.tokens) > h.keep && len(h.tokens)-h.keep >= h.keep {
		h.tokens = h.tokens[:copy(h.tokens, h.last(h.keep))]
	}
}

// remember adds a token to what the penalties and DRY look at.
func (s *Sampler) remember(id int32) {
	if s.counts != nil {
		if n := s.p.RepeatLastN; n > 0 && len(s.history.tokens) >= n {
			s.counts[s.history.last(n)[0]]--
		}
		s.counts[id]++
	}
	s.history.add(id)
}

// adjust sets work to the logits with bias, constraint, penalties and DRY. It returns how many tokens the constraint
// allows, -1 without one.
func (s *Sampler) adjust(logits []float32) (allowed int, err error) {
	for i, l := range logits {
		s.work[i] = float64(l)
	}
	for _, b := range s.bias {
		s.work[b.id] += b.value
	}
	allowed = -1
	if s.o.Constraint != nil {
		if allowed, err = s.constrain(); err != nil {
			return allowed, err
		}
	}
	if s.counts != nil {
		s.penalize()
	}
	if s.dry != nil {
		s.dry.penalize(s.work, s.history.last(s.p.DRYPenaltyLastN))
	}
	return allowed, nil
}

// constrain sets the logits of tokens that the constraint does not allow to -Inf.
func (s *Sampler) constrain() (allowed int, err error) {
	if s.mask == nil {
		s.mask = make([]uint64, (len(s.work)+63)/64)
	}
	if err := s.o.Constraint.Mask(s.mask); err != nil {
		return 0, fmt.Errorf("sample: %w", err)
	}
	if rest := len(s.work) % 64; rest != 0 {
		s.mask[len(s.mask)-1] &= 1<<rest - 1
	}
	for i, word := range s.mask {
		allowed += bits.OnesCount64(word)
		for banned := ^word; banned != 0; banned &= banned - 1 {
			id := 64*i + bits.TrailingZeros64(banned)
			if id >= len(s.work) {
				break
			}
			s.work[id] = math.Inf(-1)
		}
	}
	return allowed, nil
}

// penalize applies the repeat, frequency and presence penalties.
func (s *Sampler) penalize() {
	for id, n := range s.counts {
		if n == 0 {
			continue
		}
		l := s.work[id]
		if s.p.RepeatPenalty != 0 {
			if l <= 0 {
				l = float64(l * s.p.RepeatPenalty)
			} else {
				l /= s.p.RepeatPenalty
			}
		}
		s.work[id] = l - (float64(float64(n)*s.p.FrequencyPenalty) + s.p.PresencePenalty)
	}
}
