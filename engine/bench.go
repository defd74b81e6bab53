package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"cera/backend"
	"cera/tinymodel"
	"cera/weights"
)

// WriteRandom writes a llama of a published shape, "1B" or "8B", with random weights in the format of a type's name.
func WriteRandom(w io.Writer, shape, typ string) (int64, error) {
	s, err := tinymodel.ShapeByName(shape)
	if err != nil {
		return 0, err
	}
	for _, f := range backend.AllFormats() {
		if f.String() != typ {
			continue
		}
		t, err := weights.TypeOf(f)
		if err != nil {
			return 0, err
		}
		return tinymodel.WriteShape(w, s, t, 1)
	}
	return 0, fmt.Errorf("type %q is not a weight format", typ)
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
}

// Bench measures prefill and greedy decoding, each after a run that warms up.
func (e *Engine) Bench(ctx context.Context, o BenchOptions, progress func(test string, run int)) ([]BenchResult, error) {
	var results []BenchResult
	measure := func(test string, tokens int, run func() error) error {
		r := BenchResult{Test: test, Tokens: tokens}
		for i := range o.Repetitions + 1 {
			progress(test, i)
			start := time.Now()
			if err := run(); err != nil {
				return fmt.Errorf("%s: %w", test, err)
			}
			took := time.Since(start).Seconds()
			if i > 0 {
				r.Rates = append(r.Rates, float64(tokens)/took)
				r.Seconds += took
			}
		}
		sorted := slices.Sorted(slices.Values(r.Rates))
		r.Median, r.Least, r.Most = sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]
		results = append(results, r)
		return nil
	}
	vocab := e.model.Vocab
	if o.Prompt > 0 {
		tokens := DefaultTokens(vocab, o.Prompt)
		err := measure(fmt.Sprintf("pp%d", o.Prompt), o.Prompt, func() error {
			e.Reset()
			_, err := e.Eval(ctx, tokens)
			return err
		})
		if err != nil {
			return results, err
		}
	}
	if o.Generate > 0 {
		name := fmt.Sprintf("tg%d", o.Generate)
		if o.Depth > 0 {
			name += fmt.Sprintf("@%d", o.Depth)
			e.Reset()
			if err := e.main.run(ctx, DefaultTokens(vocab, o.Depth), nil, func(int) error { return nil }); err != nil {
				return results, err
			}
		}
		err := measure(name, o.Generate, func() error {
			e.main.Truncate(o.Depth)
			return e.main.Greedy(ctx, []int32{1}, o.Generate, func([]int32) bool { return true })
		})
		if err != nil {
			return results, err
		}
	}
	return results, nil
}
