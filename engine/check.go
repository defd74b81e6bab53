package engine

import (
	"context"
	"fmt"
	"runtime"

	"cera/backend"
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
	return report, e.checkOps(ctx, tokens, e.around(report.First.Layer), report, nil)
}

// around takes the ops of a block and of the one before, whose MLP the norm at the head of a block takes. -1 is what
// comes after the last block.
func (e *Engine) around(layer int) OpFilter {
	if layer < 0 {
		layer = e.model.Layers - 1
	}
	return OpFilter{From: max(0, layer-1), To: layer + 1}
}

// CheckOps is Check for every op that the filter takes, and all norms. A run of the whole model is made for every
// block, so that no more than one block's tensors of the device are held; the reference run's are held for all.
func (e *Engine) CheckOps(ctx context.Context, tokens []int32, drift Drift, filter OpFilter) (*check.Report, error) {
	report, reference, err := e.checkNorms(ctx, tokens, drift, e.opSites(filter)...)
	if err != nil {
		return nil, err
	}
	return report, e.checkOps(ctx, tokens, filter, report, reference)
}

// checkNorms checks the norms, and returns the reference run with the norms and the further sites too, or nil.
func (e *Engine) checkNorms(ctx context.Context, tokens []int32, drift Drift, further ...string) (*check.Report,
	*trace.Trace, error) {
	got, err := e.captureNorms(ctx, tokens)
	if err != nil {
		return nil, nil, err
	}
	reference, reason, err := e.reference(ctx, tokens, drift, further...)
	if err != nil {
		return nil, nil, err
	}
	return e.report(tokens, got, reference, reason), reference, nil
}

// captureNorms runs tokens and captures every norm with its inputs.
func (e *Engine) captureNorms(ctx context.Context, tokens []int32) (*Captured, error) {
	var names []string
	for _, s := range e.NormSites() {
		names = append(names, s.In, s.Delta, s.Stream, s.Site)
	}
	return e.Capture(ctx, tokens, among(names))
}

// report checks captured norms.
func (e *Engine) report(tokens []int32, got *Captured, reference *trace.Trace, reason string) *check.Report {
	return check.Norms(check.Input{
		Model:         e.file.Path,
		Info:          e.Info(),
		Sites:         e.NormSites(),
		Trace:         got.Trace,
		Tokens:        tokens,
		KV:            e.kv,
		FileWeights:   e.FileWeight,
		DeviceWeights: got.Weights,
		Reference:     reference,
		DriftReason:   reason,
	})
}

// among tells whether a name is in a list.
func among(names []string) func(name string) bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return func(name string) bool { return set[name] }
}

// reference runs the same tokens on the cpu backend and returns what the norms and the further sites hold there, or why
// there is nothing.
func (e *Engine) reference(ctx context.Context, tokens []int32, drift Drift, further ...string) (*trace.Trace, string,
	error) {
	if drift == DriftOff {
		return nil, "turned off", nil
	}
	cost := float64(e.model.MulAdds()) * float64(len(tokens)) / (referenceRate * float64(runtime.NumCPU()))
	if drift == DriftAuto && cost > driftBudget {
		return nil, fmt.Sprintf("the reference run would take about %.0f s; ask for it with --drift", cost), nil
	}
	names := further
	for _, s := range e.NormSites() {
		names = append(names, s.Site)
	}
	t, err := e.referenceRun(ctx, tokens, names)
	if err != nil {
		return nil, "", fmt.Errorf("reference run on the cpu: %w", err)
	}
	return t, "", nil
}

// likeness is a backend that takes only what another takes, so that both hold the same values.
type likeness struct {
	backend.Backend
	takes func(backend.Format) bool
}

func (l likeness) Takes(f backend.Format) bool { return l.takes(f) && l.Backend.Takes(f) }

func (e *Engine) referenceRun(ctx context.Context, tokens []int32, names []string) (*trace.Trace, error) {
	ref, err := New(e.file, likeness{cpu.New(), e.be.Takes},
		Options{UBatch: e.main.state.UBatch(), Ctx: len(tokens), KV: e.kv, ropeCtx: e.main.Ctx()})
	if err != nil {
		return nil, err
	}
	// The file belongs to e: release the rest alone.
	defer func() { ref.main.Close(); ref.model.Close(ref.be) }()
	got, err := ref.Capture(ctx, tokens, among(names))
	if err != nil {
		return nil, err
	}
	return got.Trace, nil
}
