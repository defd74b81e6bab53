package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cera/backend"
	"cera/layers"
	"cera/sample"
)

// Steps of decoding that are submitted before their outcome is read: at first few, so that the first token shows early,
// then as many as take about stepTime.
const (
	firstSteps = 4
	mostSteps  = layers.MostAhead
	stepTime   = 60 * time.Millisecond
)

// Greedy appends tokens to the sequence and then n more, each the most likely after those before it. The choice is made
// on the device, several steps at a time: emit gets what they chose, in order, and ends the run by answering false;
// steps that ran past that are forgotten. The last token that emit gets is not in the cache yet.
func (s *Session) Greedy(ctx context.Context, tokens []int32, n int, emit func(chosen []int32) bool) error {
	return s.ahead(ctx, tokens, n, nil, emit)
}

// drawer draws tokens as a sampler says whose Ahead is true. The device draws from its largest logits; the sampler then
// confirms each draw from the same, and where it chooses otherwise, for the device's odds are rounded, the steps after
// that are forgotten: the text is what the sampler alone would have given.
type drawer struct {
	sampler *sample.Sampler
	params  backend.DrawParams // the sampler's, for the device
}

// ahead is Greedy with tokens that d draws, where it is not nil. It may have drawn for tokens after the one that emit
// refused.
func (s *Session) ahead(ctx context.Context, tokens []int32, n int, d *drawer, emit func(chosen []int32) bool) error {
	if len(tokens) == 0 {
		return errors.New("no tokens")
	}
	last := len(tokens) - 1
	if last > 0 {
		if err := s.run(ctx, tokens[:last], nil, func(int) error { return nil }); err != nil {
			return err
		}
	}
	next := tokens[last]
	if next < 0 || int(next) >= s.e.model.Vocab {
		return fmt.Errorf("token %d is not in the vocabulary of %d", next, s.e.model.Vocab)
	}
	if free := s.Ctx() - len(s.tokens); n > free {
		return fmt.Errorf("%d tokens after %d do not fit the context of %d: ask for a longer one", n, len(s.tokens)+1,
			s.Ctx())
	}
	for steps := firstSteps; n > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(steps, n)
		start := time.Now()
		chosen, err := s.steps(next, count, d)
		if err != nil {
			return err
		}
		if len(chosen) < count {
			steps = firstSteps // the device guesses badly
		} else if took := time.Since(start); took < stepTime {
			steps = min(2*steps, mostSteps)
		}
		n -= len(chosen)
		last := len(chosen) - 1
		s.tokens = append(append(s.tokens, next), chosen[:last]...)
		next = chosen[last]
		if !emit(chosen) {
			return nil
		}
	}
	return nil
}

// steps runs count steps from token next on and returns what each chose, up to the first draw that is corrected.
func (s *Session) steps(next int32, count int, d *drawer) ([]int32, error) {
	if err := s.e.turn.take(); err != nil {
		return nil, err
	}
	defer s.e.turn.Unlock()
	if s.decoder == nil {
		s.decoder = s.state.NewDecoder()
	}
	at := len(s.tokens)
	var draws *layers.Draws
	if d != nil {
		draws = &layers.Draws{DrawParams: d.params, U: d.sampler.Draws(count)}
	}
	s.decoder.Start(next, at, draws)
	for range count {
		s.decoder.Step()
	}
	chosen, err := s.decoder.History(at, at+count)
	if err != nil || d == nil {
		return chosen, deviceError(err)
	}
	ids, logits, err := s.decoder.Candidates(at, at+count)
	if err != nil {
		return nil, deviceError(err)
	}
	for i, guess := range chosen {
		if chosen[i], err = d.sampler.SampleTop(ids[i], logits[i]); err != nil {
			return nil, fmt.Errorf("after %d tokens: %w", at+i+1, err)
		}
		if chosen[i] != guess {
			return chosen[:i+1], nil
		}
	}
	return chosen, nil
}
