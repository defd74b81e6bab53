package engine

import (
	"context"
	"time"
)

// firstPrompt is how many tokens BenchLoad's prompt has, where the context takes them.
const firstPrompt = 8

// LoadResult is what it took to make a model ready.
type LoadResult struct {
	Bytes      int64   `json:"bytes"`               // of the tensors that were loaded, as in the file
	Upload     float64 `json:"upload_seconds"`      // from the first of them to all being on the device, and the cache beside them
	Rate       float64 `json:"gb_per_s"`            // Bytes in Upload, in 10^9 bytes a second
	Open       float64 `json:"open_seconds"`        // that, and besides: the file, the device, the plan; kernels may still be on their way
	FirstToken float64 `json:"first_token_seconds"` // from the begin of opening to the first token after a prompt of eight
}

// took notes that the weights are there, now.
func (r *LoadResult) took(upload time.Time) {
	r.Upload = time.Since(upload).Seconds()
	r.Rate = float64(r.Bytes) / r.Upload / 1e9
}

// BenchLoad tells what loading the model took, and runs a prompt for the first token. Kernels are compiled when they are first
// run: only the first call on an engine, before anything else is run, gives a figure for the first token that is of use.
func (e *Engine) BenchLoad(ctx context.Context) (LoadResult, error) {
	r := e.loaded
	tokens := DefaultTokens(e.model.Vocab, min(firstPrompt, e.main.Ctx()))
	began := time.Now()
	if _, err := e.Greedy(ctx, tokens, 1); err != nil {
		return r, err
	}
	r.FirstToken = r.Open + time.Since(began).Seconds()
	e.Reset()
	return r, nil
}
