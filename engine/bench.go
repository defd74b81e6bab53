package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"cera/tinymodel"
)

// WriteRandom writes a llama of a published shape, "1B" or "8B", with random weights in a format by its name, or in the mix Q4_K_M
// or Q5_K_M.
func WriteRandom(w io.Writer, shape, typ string) (int64, error) {
	s, err := tinymodel.ShapeByName(shape)
	if err != nil {
		return 0, err
	}
	mix, err := tinymodel.MixByName(typ)
	if err != nil {
		return 0, err
	}
	return tinymodel.WriteShape(w, s, mix, 1)
}

// BenchOptions says what Bench measures.
type BenchOptions struct {
	Prompt      int // tokens of one prefill; 0: none
	Generate    int // tokens of one run of decoding; 0: none
	Depth       int // tokens in the cache before a run of decoding
	Repetitions int
}

// BenchResult is one line of a benchmark.
type BenchResult struct {
	Test    string    `json:"test"`          // "pp512", "tg128", "tg128@16384"
	Tokens  int       `json:"tokens"`        // of a run
	Rates   []float64 `json:"tokens_per_s"`  // of each run, in the order of the runs
	Median  float64   `json:"median"`        // tokens/s
	Least   float64   `json:"least"`         //
	Most    float64   `json:"most"`          //
	Seconds float64   `json:"total_seconds"` // of all runs
	// dispatches, copies and clears of a forward pass; 0: the device does not count them
	Commands float64 `json:"commands,omitempty"`
}

// benchTest is something to measure.
type benchTest struct {
	name   string
	tokens int // of a run
	passes int // forward passes of a run
	depth  int // tokens in the cache before a run
	run    func() error
}

// benchTests lists what o asks for. Before the first run of one, fill must have been called.
func (e *Engine) benchTests(ctx context.Context, o BenchOptions) []benchTest {
	var tests []benchTest
	vocab := e.model.Vocab
	if o.Prompt > 0 {
		tokens, ubatch := DefaultTokens(vocab, o.Prompt), e.main.state.UBatch()
		tests = append(tests, benchTest{
			name: fmt.Sprintf("pp%d", o.Prompt), tokens: o.Prompt, passes: (o.Prompt + ubatch - 1) / ubatch,
			run: func() error {
				e.Reset()
				_, err := e.Eval(ctx, tokens)
				return err
			},
		})
	}
	if o.Generate > 0 {
		name := fmt.Sprintf("tg%d", o.Generate)
		if o.Depth > 0 {
			name += fmt.Sprintf("@%d", o.Depth)
		}
		tests = append(tests, benchTest{
			name: name, tokens: o.Generate, passes: o.Generate, depth: o.Depth,
			run: func() error {
				e.main.Truncate(o.Depth)
				return e.main.Greedy(ctx, []int32{1}, o.Generate, func([]int32) bool { return true })
			},
		})
	}
	return tests
}

// fill puts the tokens into the cache that a test wants there.
func (e *Engine) fill(ctx context.Context, t benchTest) error {
	if t.depth == 0 {
		return nil
	}
	e.Reset()
	return e.main.run(ctx, DefaultTokens(e.model.Vocab, t.depth), nil, func(int) error { return nil })
}

// commands returns how many commands the device got so far; 0 where it does not count them.
func (e *Engine) commands() uint64 {
	if c, ok := e.be.(interface{ Commands() uint64 }); ok {
		return c.Commands()
	}
	return 0
}

// Bench measures prefill and greedy decoding, each after a run that warms up.
func (e *Engine) Bench(ctx context.Context, o BenchOptions, progress func(test string, run int)) ([]BenchResult,
	error) {
	var results []BenchResult
	for _, t := range e.benchTests(ctx, o) {
		if err := e.fill(ctx, t); err != nil {
			return results, err
		}
		r := BenchResult{Test: t.name, Tokens: t.tokens}
		for i := range o.Repetitions + 1 {
			progress(t.name, i)
			before := e.commands()
			start := time.Now()
			if err := t.run(); err != nil {
				return results, fmt.Errorf("%s: %w", t.name, err)
			}
			took := time.Since(start).Seconds()
			if i > 0 {
				r.Rates = append(r.Rates, float64(t.tokens)/took)
				r.Seconds += took
				r.Commands = float64(e.commands()-before) / float64(t.passes)
			}
		}
		sorted := slices.Sorted(slices.Values(r.Rates))
		r.Median, r.Least, r.Most = sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]
		results = append(results, r)
	}
	return results, nil
}
