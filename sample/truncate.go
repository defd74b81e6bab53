package sample

import "math"

// sigmaBound returns the lowest logit that top-n-sigma keeps: n standard deviations below the largest.
func sigmaBound(logits []float64, n float64) float64 {
	count, sum, largest := 0, 0.0, math.Inf(-1)
	for _, l := range logits {
		if !math.IsInf(l, -1) {
			count++
			sum += l
			largest = max(largest, l)
		}
	}
	mean := sum / float64(count)
	squares := 0.0
	for _, l := range logits {
		if !math.IsInf(l, -1) {
			squares += float64((l - mean) * (l - mean))
		}
	}
	return largest - float64(n*math.Sqrt(squares/float64(count)))
}

// typical keeps candidates in the order of how far their surprise -ln p is from the entropy, until their probabilities
// add up to more than limit.
func (s *set) typical(limit float64, minKeep int) {
	largest := s.largest()
	sum := s.sum(largest)
	logSum := log(sum)
	entropy := 0.0
	for _, c := range s.c {
		entropy += float64(exp(c.logit-largest) / sum * (logSum - (c.logit - largest)))
	}
	s.scores = s.scores[:0]
	for i, c := range s.c {
		score := math.Abs(logSum - (c.logit - largest) - entropy)
		s.scores = append(s.scores, candidate{-score, int32(i)})
	}
	total := 0.0
	s.spare = takeUntil(s.spare, s.scores, func(i int, score candidate) bool {
		total += exp(s.c[score.id].logit-largest) / sum
		return total > limit && i+1 >= minKeep
	})
	for i, score := range s.spare {
		s.spare[i] = s.c[score.id]
	}
	s.c, s.spare = s.spare, s.c
	s.sorted = false
}

// topP keeps the first candidates whose probabilities add up to at least limit.
func (s *set) topP(limit float64, minKeep int) {
	largest := s.largest()
	sum := s.sum(largest)
	total := 0.0
	done := func(i int, c candidate) bool {
		total += exp(c.logit-largest) / sum
		return total >= limit && i+1 >= minKeep
	}
	if !s.sorted {
		s.spare = takeUntil(s.spare, s.c, done)
		s.c, s.spare = s.spare, s.c
		s.sorted = true
		return
	}
	for i, c := range s.c {
		if done(i, c) {
			s.c = s.c[:i+1]
			return
		}
	}
}

// minP keeps candidates of at least ratio times the probability of the likeliest.
func (s *set) minP(ratio float64, minKeep int) {
	lowest := s.largest() + log(ratio)
	kept := 0
	for _, c := range s.c {
		if c.logit >= lowest {
			kept++
		}
	}
	if kept < minKeep {
		s.keepFirst(minKeep)
		return
	}
	kept = 0
	for _, c := range s.c {
		if c.logit >= lowest {
			s.c[kept] = c
			kept++
		}
	}
	s.c = s.c[:kept]
}

// xtc returns how many candidates XTC removes from the front, after putting all in order: those of a probability of at
// least threshold, but for the last of them.
func (s *set) xtc(threshold float64, minKeep int) int {
	s.keepFirst(len(s.c))
	largest := s.largest()
	sum := s.sum(largest)
	last := 0
	for last+1 < len(s.c) && exp(s.c[last+1].logit-largest)/sum >= threshold {
		last++
	}
	if len(s.c)-last < minKeep {
		return 0
	}
	return last
}
