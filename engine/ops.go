package engine

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"cera/check"
	"cera/layers"
	"cera/trace"
)

// OpFilter narrows a check of every op.
type OpFilter struct {
	From, To int      // blocks From to To-1; To 0 takes all
	Sites    []string // globs of path.Match; empty takes all
}

// takes says whether the filter takes an op of a block; what comes before or after the blocks goes with the first or
// the last.
func (f OpFilter) takes(op layers.OpSite, block int) bool {
	if f.To > 0 && (block < f.From || block >= f.To) {
		return false
	}
	for _, g := range f.Sites {
		if ok, _ := path.Match(g, op.Site); ok {
			return true
		}
	}
	return len(f.Sites) == 0
}

// chosen lists the ops that the filter takes.
func (e *Engine) chosen(filter OpFilter) []layers.OpSite {
	var list []layers.OpSite
	block := 0
	for _, op := range e.main.state.OpSites() {
		// Ops stand in forward order: one outside the blocks belongs to the block before it.
		if op.Layer >= 0 {
			block = op.Layer
		}
		if filter.takes(op, block) {
			list = append(list, op)
		}
	}
	return list
}

// opSites lists the outputs of the ops that the filter takes.
func (e *Engine) opSites(filter OpFilter) []string {
	var names []string
	for _, op := range e.chosen(filter) {
		names = append(names, op.Site)
	}
	return names
}

// checkOps runs tokens once for every block and adds the outcome of its ops to a report.
func (e *Engine) checkOps(ctx context.Context, tokens []int32, filter OpFilter, report *check.Report,
	reference *trace.Trace) error {
	chosen := e.chosen(filter)
	if len(chosen) == 0 {
		return fmt.Errorf("no op is in blocks %d to %d with sites %v", filter.From, filter.To-1, filter.Sites)
	}
	// Norms have a check of their own.
	chosen = slices.DeleteFunc(chosen, func(op layers.OpSite) bool { return op.Kind == layers.OpNorm })
	var list []check.OpReport
	for len(chosen) > 0 {
		n := 1
		for n < len(chosen) && chosen[n].Layer == chosen[0].Layer {
			n++
		}
		block, err := e.checkBlock(ctx, tokens, chosen[:n], reference)
		if err != nil {
			return err
		}
		list = append(list, block...)
		chosen = chosen[n:]
	}
	var order []string
	for _, op := range e.main.state.OpSites() {
		order = append(order, op.Site)
	}
	report.AddOps(list, order)
	return nil
}

// checkBlock checks ops that stand together.
func (e *Engine) checkBlock(ctx context.Context, tokens []int32, ops []layers.OpSite,
	reference *trace.Trace) ([]check.OpReport, error) {
	var names []string
	for _, op := range ops {
		names = append(append(names, op.Site), op.In...)
	}
	got, err := e.Capture(ctx, tokens, among(names))
	if err != nil {
		return nil, err
	}
	in := &check.Input{
		Sites: e.NormSites(), Trace: got.Trace, Tokens: tokens, KV: e.kv, FileWeights: e.FileWeight,
		Reference: reference, DriftReason: "there is no reference run of the ops",
	}
	reports := make([]check.OpReport, len(ops))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, op := range ops {
		slots <- struct{}{}
		wg.Go(func() {
			reports[i] = in.CheckOp(op)
			<-slots
		})
	}
	wg.Wait()
	return reports, nil
}
