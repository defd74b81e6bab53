package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Steps of greedy decoding that are submitted before their outcome is read: at first few, so that the first token shows
// early, then as many as take about stepTime.
const (
	firstSteps = 4
	mostSteps  = 128
	stepTime   = 60 * time.Millisecond
)

// Greedy appends tokens to the sequence and then n more, each the most likely after those before it. The choice is made on
// the device, several steps at a time: emit gets what they chose, in order, and ends the run by answering false; steps that
// ran past that are forgotten. The last token that emit gets is not in the cache yet.
func (s *Session) Greedy(ctx context.Context, tokens []int32, n int, emit func(chosen []int32) bool) error {
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
		return fmt.Errorf("%d tokens after %d do not fit the context of %d: ask for a longer one", n, len(s.tokens)+1, s.Ctx())
	}
	for steps := firstSteps; n > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(steps, n)
		start := time.Now()
		chosen, err := s.steps(next, count)
		if err != nil {
			return err
		}
		if took := time.Since(start); took < stepTime {
			steps = min(2*steps, mostSteps)
		}
		n -= count
		s.tokens = append(append(s.tokens, next), chosen[:count-1]...)
		next = chosen[count-1]
		if !emit(chosen) {
			return nil
		}
	}
	return nil
}

// steps runs count steps from token next on and returns what each chose.
func (s *Session) steps(next int32, count int) ([]int32, error) {
	if err := s.e.turn.take(); err != nil {
		return nil, err
	}
	defer s.e.turn.Unlock()
	if s.decoder == nil {
		s.decoder = s.state.NewDecoder()
	}
	at := len(s.tokens)
	s.decoder.Start(next, at)
	for range count {
		s.decoder.Step()
	}
	chosen, err := s.decoder.History(at, at+count)
	return chosen, deviceError(err)
}
