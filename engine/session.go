package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cera/layers"
)

// Session is one sequence on a loaded model: its KV cache and its activations. It is used by one goroutine at a time.
type Session struct {
	e      *Engine
	state  *layers.State
	tokens []int32 // in the cache

	decoder *layers.Decoder // nil before the first greedy step
}

// NewSession begins an empty sequence with room for ctx positions, 0 for as many as the engine's own has. Close
// releases its memory.
func (e *Engine) NewSession(ctx int) (*Session, error) {
	if ctx < 0 {
		return nil, fmt.Errorf("a context of %d positions is not possible", ctx)
	}
	if ctx == 0 {
		ctx = e.main.Ctx()
	}
	return e.session(min(e.main.state.UBatch(), ctx), ctx, e.main.state.Form())
}

// session allocates a sequence.
func (e *Engine) session(ubatch, ctx int, norms layers.Norms) (*Session, error) {
	if err := e.turn.take(); err != nil {
		return nil, err
	}
	defer e.turn.Unlock()
	state, err := layers.NewState(e.be, e.model, ubatch, ctx, norms, e.kv)
	if err != nil {
		// What could not be had stays the backend's error until it is asked for.
		return nil, deviceError(errors.Join(err, e.be.Flush()))
	}
	if err := e.be.Flush(); err != nil {
		state.Close()
		return nil, deviceError(err)
	}
	return &Session{e: e, state: state}, nil
}

// Close releases the session's memory. After the engine's Close it does nothing.
func (s *Session) Close() {
	if s.e.turn.take() == nil {
		s.state.Close()
		s.e.turn.Unlock()
	}
}

// Ctx returns how many positions the cache has.
func (s *Session) Ctx() int { return s.state.Ctx() }

// Tokens returns the tokens in the cache.
func (s *Session) Tokens() []int32 { return slices.Clone(s.tokens) }

// Len returns how many tokens the cache holds.
func (s *Session) Len() int { return len(s.tokens) }

// Truncate forgets all but the first n tokens; n beyond what there is forgets nothing.
func (s *Session) Truncate(n int) { s.tokens = s.tokens[:min(max(n, 0), len(s.tokens))] }

// Eval appends tokens to the sequence and returns the logits of the last, [Vocab].
func (s *Session) Eval(ctx context.Context, tokens []int32) ([]float32, error) {
	out := make([]float32, s.e.model.Vocab)
	last := len(s.tokens) + len(tokens)
	err := s.run(ctx, tokens, nil, func(rows int) error {
		if len(s.tokens)+rows < last {
			return nil
		}
		return s.e.be.Read(out, s.state.Logits(rows-1, rows, nil))
	})
	return out, err
}

// Set makes tokens the sequence and returns the logits of the last. What the sequence and tokens begin with in common
// stays in the cache and is not computed again: reused says how many tokens that are.
func (s *Session) Set(ctx context.Context, tokens []int32) (logits []float32, reused int, err error) {
	reused = s.keep(tokens)
	logits, err = s.Eval(ctx, tokens[reused:])
	return logits, reused, err
}

// Logits appends tokens to the sequence and returns the logits of each, [len(tokens), Vocab] row-major.
func (s *Session) Logits(ctx context.Context, tokens []int32) ([]float32, error) {
	vocab := s.e.model.Vocab
	out := make([]float32, 0, len(tokens)*vocab)
	err := s.run(ctx, tokens, nil, func(rows int) error {
		return s.slices(rows, func(lo, hi int) error {
			part := out[len(out) : len(out)+(hi-lo)*vocab]
			out = out[:len(out)+len(part)]
			return s.e.be.Read(part, s.state.Logits(lo, hi, nil))
		})
	})
	return out, err
}

// run passes tokens through the model in chunks, each followed by a call of done with its number of rows. The
// sequence advances by the chunks that were done.
func (s *Session) run(ctx context.Context, tokens []int32, probe layers.Probe, done func(rows int) error) error {
	if len(tokens) == 0 {
		return errors.New("no tokens")
	}
	if free := s.Ctx() - len(s.tokens); len(tokens) > free {
		return fmt.Errorf("%d tokens after %d do not fit the context of %d: ask for a longer one", len(tokens),
			len(s.tokens), s.Ctx())
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= s.e.model.Vocab {
			return fmt.Errorf("token %d is not in the vocabulary of %d", t, s.e.model.Vocab)
		}
	}
	for len(tokens) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := tokens[:min(len(tokens), s.state.UBatch())]
		if err := s.chunk(chunk, probe, done); err != nil {
			return err
		}
		tokens = tokens[len(chunk):]
	}
	return nil
}

// chunk runs one batch while it has the device.
func (s *Session) chunk(tokens []int32, probe layers.Probe, done func(rows int) error) error {
	if err := s.e.turn.take(); err != nil {
		return err
	}
	defer s.e.turn.Unlock()
	if err := s.state.Forward(tokens, len(s.tokens), probe); err != nil {
		return err
	}
	if err := done(len(tokens)); err != nil {
		return deviceError(err)
	}
	if err := s.e.be.Flush(); err != nil {
		return deviceError(err)
	}
	s.tokens = append(s.tokens, tokens...)
	return nil
}

// slices calls f for consecutive ranges of rows that fit one call of State.Logits.
func (s *Session) slices(rows int, f func(lo, hi int) error) error {
	step := s.state.LogitRows()
	for lo := 0; lo < rows; lo += step {
		if err := f(lo, min(lo+step, rows)); err != nil {
			return err
		}
	}
	return nil
}
