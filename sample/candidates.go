package sample

import (
	"cmp"
	"slices"
)

// candidate is a token that may still be picked.
type candidate struct {
	logit float64
	id    int32
}

// before reports whether a comes before b in the order of candidates: the larger logit, then the lower id.
func before(a, b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

func compare(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.id, b.id))
}

// offer adds c to a heap of the first k candidates in order, whose root is the last of them.
func offer(heap []candidate, k int, c candidate) []candidate {
	if len(heap) < k {
		heap = append(heap, c)
		for i := len(heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if !before(heap[parent], heap[i]) {
				break
			}
			heap[parent], heap[i] = heap[i], heap[parent]
			i = parent
		}
		return heap
	}
	if !before(c, heap[0]) {
		return heap
	}
	heap[0] = c
	for i := 0; ; {
		child := 2*i + 1
		if child >= k {
			break
		}
		if child+1 < k && before(heap[child], heap[child+1]) {
			child++
		}
		if !before(heap[i], heap[child]) {
			break
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
	return heap
}

// first puts the first k candidates in order into dst.
func first(dst, from []candidate, k int) []candidate {
	dst = dst[:0]
	if k >= len(from) {
		dst = append(dst, from...)
	} else {
		for _, c := range from {
			dst = offer(dst, k, c)
		}
	}
	slices.SortFunc(dst, compare)
	return dst
}

// takeUntil puts candidates of from into dst, in order, up to the first for which done is true. It sorts no more than
// it takes, or some times that.
func takeUntil(dst, from []candidate, done func(i int, c candidate) bool) []candidate {
	for k, i := min(256, len(from)), 0; ; k = min(8*k, len(from)) {
		dst = first(dst, from, k)
		for ; i < k; i++ {
			if done(i, dst[i]) {
				return dst[:i+1]
			}
		}
		if k == len(from) {
			return dst
		}
	}
}

// set is what the truncating samplers work on. It has at least one candidate.
type set struct {
	c      []candidate
	sorted bool        // c is in order
	spare  []candidate // for copies, swapped with c
	scores []candidate
}

// largest returns the largest logit.
func (s *set) largest() float64 {
	if s.sorted {
		return s.c[0].logit
	}
	m := s.c[0].logit
	for _, c := range s.c[1:] {
		m = max(m, c.logit)
	}
	return m
}

// sum returns the sum of exp(logit - largest): the softmax's denominator.
func (s *set) sum(largest float64) float64 {
	sum := 0.0
	for _, c := range s.c {
		sum += exp(c.logit - largest)
	}
	return sum
}

// keepFirst drops all but the first k candidates in order.
func (s *set) keepFirst(k int) {
	if !s.sorted {
		s.spare = first(s.spare, s.c, k)
		s.c, s.spare = s.spare, s.c
		s.sorted = true
	}
	s.c = s.c[:min(k, len(s.c))]
}
