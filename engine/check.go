package engine

import (
	"context"
	"fmt"
	"runtime"

	"cera/check"
	"cera/cpu"
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
// recomputes each in float64. Where one fails, its block and the one before run again with every op captured: if an
// earlier op is wrong, that is the fault that is named.
func (e *Engine) Check(ctx context.Context, tokens []int32, drift Drift) (*check.Report, error) {
	report, _, err := e.checkNorms(ctx, tokens, drift)
	if err != nil || report.First == nil {
		return report, err
	}
	layer := report.First.Layer
	if layer < 0 {
		layer = e.model.Layers - 1
	}
	// The norm at the head of a block takes the MLP of the block before.
	err = e.checkOps(ctx, tokens, OpFilter{From: max(0, layer-1), To: layer + 1}, report, nil)
	return report, err
}

// CheckOps is Check for every op that the filter takes, and all norms. A run of the whole model is made for every block,
// so that no more than one block's tensors of the device are held; the reference run's are held for all.
func (e *Engine) CheckOps(ctx context.Context, tokens []int32, drift Drift, filter OpFilter) (*check.Report, error) {
	report, reference, err := e.checkNorms(ctx, tokens, drift, e.opSites(filter)...)
	if err != nil {
		return nil, err
	}
	return report, e.checkOps(ctx, tokens, filter, report, reference)
}

// checkNorms checks the norms, and returns the reference run with the norms and the further sites too, or nil.
func (e *Engine) checkNorms(ctx context.Context, tokens []int32, drift Drift, further ...string) (*check.Report, *trace.Trace, error) {
	sites := e.NormSites()
	want := map[string]bool{}
	for _, s := range sites {
		want[s.In], want[s.Delta], want[s.Stream], want[s.Site] = true, true, true, true
	}
	got, err := e.Capture(ctx, tokens, func(site string) bool { return want[site] })
	if err != nil {
		return nil, nil, err
	}
	names := further
	for _, s := range sites {
		names = append(names, s.Site)
	}
	reference, reason, err := e.reference(ctx, tokens, names, drift)
	if err != nil {
		return nil, nil, fmt.Errorf("reference run on the cpu: %w", err)
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
	}), reference, nil
}

// reference runs the same tokens on the cpu backend and returns what the sites hold there, or why there is nothing.
func (e *Engine) reference(ctx context.Context, tokens []int32, sites []string, drift Drift) (*trace.Trace, string, error) {
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
		want[s] = true
	}
	got, err := ref.Capture(ctx, tokens, func(site string) bool { return want[site] })
	if err != nil {
		return nil, "", err
	}
	return got.Trace, "", nil
}
