package engine

import (
	"context"
	"fmt"
	"runtime"

	"cera/check"
	"cera/cpu"
	"cera/layers"
	"cera/trace"
)

// Drift says whether a check compares with a full reference run on the cpu backend.
type Drift uint8

const (
	DriftAuto Drift = iota // if the run's estimated cost is under a minute
	DriftOn
	DriftOff
)

const (
	driftBudget = 60.0 // seconds
	// Multiply-adds a second that one core of the cpu backend does at least, decoding included.
	referenceRate = 2e8
)

// DefaultTokens returns n token ids that spread over a vocabulary, the same every time: for a check of the numbers
// any ids will do.
func DefaultTokens(vocab, n int) []int32 {
	tokens := make([]int32, n)
	// A multiplicative congruence visits small and large ids in no order that a bug could follow.
	id := uint64(1)
	for i := range tokens {
		tokens[i] = int32(id % uint64(vocab))
		id = id*6364136223846793005 + 1442695040888963407
		id ^= id >> 33
	}
	return tokens
}

// Check runs tokens as a fresh sequence, captures every norm with its inputs on the path that really ran, and
// recomputes each in float64.
func (e *Engine) Check(ctx context.Context, tokens []int32, drift Drift) (*check.Report, error) {
	sites := e.NormSites()
	want := map[string]bool{}
	for _, s := range sites {
		want[s.In], want[s.Delta], want[s.Stream], want[s.Site] = true, true, true, true
	}
	got, err := e.Capture(ctx, tokens, func(site string) bool { return want[site] })
	if err != nil {
		return nil, err
	}
	reference, reason, err := e.reference(ctx, tokens, sites, drift)
	if err != nil {
		return nil, fmt.Errorf("reference run on the cpu: %w", err)
	}
	return check.Norms(check.Input{
		Model:         e.file.Path,
		Info:          e.Info(),
		Sites:         sites,
		Trace:         got.Trace,
		Tokens:        tokens,
		FileWeights:   e.FileWeight,
		DeviceWeights: got.Weights,
		Reference:     reference,
		DriftReason:   reason,
	}), nil
}

// reference runs the same tokens on the cpu backend and returns the norms' outputs, or why there are none.
func (e *Engine) reference(ctx context.Context, tokens []int32, sites []layers.NormSite, drift Drift) (*trace.Trace, string, error) {
	if drift == DriftOff {
		return nil, "turned off", nil
	}
	c := e.model.Config
	perLayer := 2*c.Embd*c.HeadDim*(c.Heads+c.KVHeads) + 3*c.Embd*c.FF
	cost := float64(perLayer) * float64(c.Layers) * float64(len(tokens)) / (referenceRate * float64(runtime.NumCPU()))
	if drift == DriftAuto && cost > driftBudget {
		return nil, fmt.Sprintf("the reference run would take about %.0f s; ask for it with --drift", cost), nil
	}
	ref, err := New(e.file, cpu.New(), Options{UBatch: e.state.UBatch(), Ctx: len(tokens)})
	if err != nil {
		return nil, "", err
	}
	// The file belongs to e: release the rest alone.
	defer func() { ref.state.Close(); ref.model.Close(ref.be) }()
	want := map[string]bool{}
	for _, s := range sites {
		want[s.Site] = true
	}
	got, err := ref.Capture(ctx, tokens, func(site string) bool { return want[site] })
	if err != nil {
		return nil, "", err
	}
	return got.Trace, "", nil
}
