package engine

import (
	"context"
	"fmt"

	"cera/check"
	"cera/trace"
)

// defaultChunk is how many tokens a batch of the chunked path has; a number that divides no size in use.
const defaultChunk = 7

// CheckPaths runs the same tokens as one batch, in chunks, and token by token, on the device and the weights that are
// loaded, checks the norms of each path as Check does, and compares the paths site by site. chunk is the size of the
// chunks, at least 2 and less than the number of tokens; 0 takes 7, or less for few tokens. Where something differs,
// the blocks around it run again on every path with every op captured.
//
// The sequence and the KV cache of e stay as they are.
func (e *Engine) CheckPaths(ctx context.Context, tokens []int32, drift Drift, chunk int) (*check.PathsReport, error) {
	paths, err := e.paths(tokens, chunk)
	if err != nil {
		return nil, err
	}
	var reference *trace.Trace
	var reason string
	for i := range paths {
		err := e.along(paths[i].UBatch, len(tokens), func(p *Engine) error {
			got, err := p.captureNorms(ctx, tokens)
			if err != nil {
				return err
			}
			if i == 0 {
				if reference, reason, err = p.reference(ctx, tokens, drift); err != nil {
					return err
				}
			}
			paths[i].Trace = got.Trace
			paths[i].Report = p.report(tokens, got, reference, reason)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i].Name, err)
		}
	}
	report := check.Paths(e.NormSites(), paths, e.kv)
	layer, found := faultLayer(report)
	if !found {
		return report, nil
	}
	for _, path := range report.Paths {
		err := e.along(path.UBatch, len(tokens), func(p *Engine) error {
			return p.checkOps(ctx, tokens, e.around(layer), path.Report, nil)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Name, err)
		}
	}
	report.Judge()
	return report, nil
}

// faultLayer is the block of the first difference, or else of the first fault of a path.
func faultLayer(r *check.PathsReport) (layer int, found bool) {
	if r.First != nil {
		return r.First.Layer, true
	}
	for _, p := range r.Paths {
		if p.Report.First != nil {
			return p.Report.First.Layer, true
		}
	}
	return 0, false
}

// paths lists the ways to batch the tokens that differ.
func (e *Engine) paths(tokens []int32, chunk int) ([]check.Path, error) {
	n := len(tokens)
	switch {
	case n < 2:
		return nil, fmt.Errorf("%d tokens have one path alone: give at least 2", n)
	case n > e.main.Ctx():
		return nil, fmt.Errorf("%d tokens do not fit the context of %d: ask for a longer one", n, e.main.Ctx())
	case chunk != 0 && (chunk < 2 || chunk >= n):
		return nil, fmt.Errorf("chunks of %d tokens: expected 2 to %d, as one batch takes all %d and the tokens run "+
			"one by one too", chunk, n-1, n)
	case chunk == 0:
		chunk = min(defaultChunk, (n+1)/2)
	}
	paths := []check.Path{{Name: "one batch", UBatch: n}}
	if chunk > 1 {
		paths = append(paths, check.Path{Name: fmt.Sprintf("chunks of %d", chunk), UBatch: chunk})
	}
	return append(paths, check.Path{Name: "token by token", UBatch: 1}), nil
}

// along calls f with an engine that shares the weights of e and has its own state.
func (e *Engine) along(ubatch, ctx int, f func(p *Engine) error) error {
	s, err := e.session(ubatch, ctx, e.main.state.Form())
	if err != nil {
		return err
	}
	defer s.Close()
	p := *e
	p.main, s.e = s, &p
	return f(&p)
}
