package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Constraint says which tokens may come next, as a grammar does.
type Constraint interface {
	// Mask sets bit id%64 of mask[id/64] for every token that may come next, and clears all others.
	Mask(mask []uint64) error
	// Accept goes on by one token. It leaves the constraint as it was if that token may not come next.
	Accept(id int32) error
	// Reset goes back to the start.
	Reset()
	// Clone returns a copy that goes on by itself.
	Clone() Constraint
}

// Constrain makes a Constraint of a type whose Clone returns that type.
func Constrain[T interface {
	Mask(mask []uint64) error
	Accept(id int32) error
	Reset()
	Clone() T
}](c T) Constraint {
	return constraint[T]{c, T.Clone}
}

type constraint[T interface {
	Mask(mask []uint64) error
	Accept(id int32) error
	Reset()
}] struct {
	c     T
	clone func(T) T
}

func (c constraint[T]) Mask(mask []uint64) error { return c.c.Mask(mask) }
func (c constraint[T]) Accept(id int32) error    { return c.c.Accept(id) }
func (c constraint[T]) Reset()                   { c.c.Reset() }
func (c constraint[T]) Clone() Constraint        { return constraint[T]{c.clone(c.c), c.clone} }

// Options are what the samplers need beside their parameters.
type Options struct {
	// Constraint, if there is one, says which tokens may come next. The Sampler owns it from then on.
	Constraint Constraint
	// TokenText returns the text of a token. Only DRYSequenceBreakers need it.
	TokenText func(id int32) string
}

// ErrNoCandidate is wrapped by the error of Sample if no token may come next.
var ErrNoCandidate = errors.New("no token may come next")

// Choice is the token that was picked.
type Choice struct {
	ID      int32
	LogProb float64       // the natural logarithm of its probability by the softmax of the logits as they were given
	Top     []Alternative // the likeliest tokens by that softmax, in descending order, Params.TopLogProbs of them
}

// Alternative is a token that might have been picked.
type Alternative struct {
	ID      int32   `json:"id"`
	LogProb float64 `json:"logprob"`
}

// Sampler picks tokens for one sequence. It is not for use by several goroutines at a time.
type Sampler struct {
	p    Params
	o    Options
	bias []bias

	draws rand.PCG // of the last step
	xtc   rand.PCG
	mu    float64 // Mirostat's bound of the surprise, in bits

	history history
	counts  []int32 // by id, how often the token is among the last RepeatLastN; nil without penalties
	dry     *dry    // nil without DRY

	work []float64   // [vocab] the logits as the samplers change them
	mask []uint64    // of the constraint
	set  set         // the candidates
	top  []candidate // for Choice.Top
	odds []float64   // of the candidates, for the draw
}

type bias struct {
	id    int32
	value float64
}

// sortedBias returns a map's entries in the order of their ids.
func sortedBias(m map[int32]float32) []bias {
	list := make([]bias, 0, len(m))
	for id, v := range m {
		list = append(list, bias{id, float64(v)})
	}
	slices.SortFunc(list, func(a, b bias) int { return int(a.id) - int(b.id) })
	return list
}

// New returns a Sampler for logits of vocab tokens. An error names the parameter, what was found and what was expected.
func New(p Params, vocab int, o Options) (*Sampler, error) {
	if vocab < 1 || vocab > math.MaxInt32 {
		return nil, fmt.Errorf("sample: the vocabulary has %d tokens, expected 1 to %d", vocab, math.MaxInt32)
	}
	if err := p.validate(vocab, o); err != nil {
		return nil, err
	}
	s := &Sampler{p: p, o: o, bias: sortedBias(p.LogitBias), work: make([]float64, vocab)}
	s.p.LogitBias = nil
	s.p.DRYSequenceBreakers = slices.Clone(p.DRYSequenceBreakers)
	s.p.DRYBreakerTokens = slices.Clone(p.DRYBreakerTokens)
	if p.usesPenalties() {
		s.counts = make([]int32, vocab)
	}
	if p.usesDRY() {
		s.dry = newDRY(&s.p, o.TokenText)
	}
	s.start()
	return s, nil
}

// start sets what Reset resets, but for the constraint.
func (s *Sampler) start() {
	s.draws.Seed(s.p.Seed, 0x9e3779b97f4a7c15)
	s.xtc.Seed(s.p.Seed, 0xbf58476d1ce4e5b9)
	s.mu = 2 * s.p.MirostatTau
	s.history = history{keep: s.window()}
	clear(s.counts)
}

// window is how many accepted tokens must be kept, -1 for all.
func (s *Sampler) window() int {
	n := 0
	if s.counts != nil {
		n = s.p.RepeatLastN
	}
	if s.dry != nil && n >= 0 {
		if s.p.DRYPenaltyLastN < 0 {
			return -1
		}
		n = max(n, s.p.DRYPenaltyLastN)
	}
	return n
}

// Reset forgets the accepted tokens and starts the random numbers and the constraint again.
func (s *Sampler) Reset() {
	s.start()
	if s.o.Constraint != nil {
		s.o.Constraint.Reset()
	}
}

// Clone returns a Sampler in the same state: both pick the same tokens from then on, if they are given the same.
func (s *Sampler) Clone() *Sampler {
	c := *s
	c.history.tokens = slices.Clone(s.history.tokens)
	c.counts = slices.Clone(s.counts)
	if s.dry != nil {
		c.dry = newDRY(&c.p, s.o.TokenText)
	}
	if s.o.Constraint != nil {
		c.o.Constraint = s.o.Constraint.Clone()
	}
	c.work = make([]float64, len(s.work))
	c.mask, c.set, c.top, c.odds = nil, set{}, nil, nil
	return &c
}

// Accept tells the penalties, DRY and the constraint that the sequence goes on with a token. Nothing has changed if
// there is an error.
func (s *Sampler) Accept(id int32) error {
	if id < 0 || int(id) >= len(s.work) {
		return fmt.Errorf("sample: accepted token %d, expected 0 to %d", id, len(s.work)-1)
	}
	if s.o.Constraint != nil {
		if err := s.o.Constraint.Accept(id); err != nil {
			return fmt.Errorf("sample: %w", err)
		}
	}
	s.remember(id)
	return nil
}

// AcceptPrompt tells the penalties and DRY about tokens that were not sampled. The constraint does not hear of them.
func (s *Sampler) AcceptPrompt(ids ...int32) error {
	for i, id := range ids {
		if id < 0 || int(id) >= len(s.work) {
			return fmt.Errorf("sample: token %d of the prompt is %d, expected 0 to %d", i, id, len(s.work)-1)
		}
	}
	for _, id := range ids {
		s.remember(id)
	}
	return nil
}

// Sample picks a token by the model's logits, which are [vocab] f32 and are not changed. It does not accept the token.
func (s *Sampler) Sample(logits []float32) (Choice, error) {
	if len(logits) != len(s.work) {
		return Choice{}, fmt.Errorf("sample: found %d logits, expected %d", len(logits), len(s.work))
	}
	largest := float32(math.Inf(-1))
	for i, l := range logits {
		if l > largest {
			largest = l
		} else if l != l {
			return Choice{}, fmt.Errorf("sample: logits[%d] is NaN, expected a number", i)
		}
	}
	if math.IsInf(float64(largest), 1) {
		return Choice{}, fmt.Errorf("sample: logits[%d] is +Inf, expected a finite number or -Inf",
			slices.Index(logits, largest))
	}
	allowed, err := s.adjust(logits)
	if err != nil {
		return Choice{}, err
	}
	id, err := s.pick()
	if err != nil {
		if allowed >= 0 {
			err = fmt.Errorf("%w (the constraint allows %d)", err, allowed)
		}
		return Choice{}, err
	}
	return s.choice(id, logits, float64(largest)), nil
}

// choice measures the picked token by the softmax of the logits as they were given.
func (s *Sampler) choice(id int32, logits []float32, largest float64) Choice {
	sum := 0.0
	for _, l := range logits {
		sum += exp(float64(l) - largest)
	}
	scale := largest + log(sum)
	c := Choice{ID: id, LogProb: float64(logits[id]) - scale}
	if s.p.TopLogProbs > 0 {
		top := s.top[:0]
		for i, l := range logits {
			top = offer(top, s.p.TopLogProbs, candidate{float64(l), int32(i)})
		}
		slices.SortFunc(top, compare)
		s.top = top
		c.Top = make([]Alternative, len(top))
		for i, t := range top {
			c.Top[i] = Alternative{t.id, t.logit - scale}
		}
	}
	return c
}
