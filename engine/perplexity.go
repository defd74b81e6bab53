package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cera/layers"
	"cera/tokenizer"
)

// Perplexity is how well a model foretells a text.
type Perplexity struct {
	Perplexity float64 // exp of the mean negative log-likelihood
	Error      float64 // its standard error
	Scored     int     // tokens
	Chunks     int
}

// Perplexity cuts tokens into chunks and scores the second half of each, as llama.cpp does: a chunk begins with the
// token that begins a text, where the tokenizer adds one. What is left at the end is not scored.
func (e *Engine) Perplexity(ctx context.Context, tokens []int32, chunk int, tok *tokenizer.Tokenizer,
	progress func(name string, done, all int64)) (*Perplexity, error) {
	chunks := len(tokens) / chunk
	if chunks == 0 {
		return nil, fmt.Errorf("%d tokens, expected at least one chunk of %d", len(tokens), chunk)
	}
	vocab := e.model.Vocab
	var sum, squares float64
	n := 0
	for i := range chunks {
		part := slices.Clone(tokens[i*chunk : (i+1)*chunk])
		next := tokens[i*chunk : (i+1)*chunk]
		if tok.AddsBOS() {
			part[0] = tok.BOS()
		}
		e.Reset()
		logits, err := e.Logits(ctx, part)
		if err != nil {
			return nil, err
		}
		for p := chunk / 2; p < chunk-1; p++ {
			nll := -logProb(logits[p*vocab:(p+1)*vocab], int(next[p+1]))
			sum += nll
			squares += nll * nll
			n++
		}
		progress("chunks", int64(i+1), int64(chunks))
	}
	mean := sum / float64(n)
	r := &Perplexity{Perplexity: math.Exp(mean), Scored: n, Chunks: chunks}
	if n > 1 {
		variance := math.Max(0, squares/float64(n)-mean*mean)
		r.Error = r.Perplexity * math.Sqrt(variance/float64(n-1))
	}
	return r, nil
}

// logProb is the logarithm of a token's probability.
func logProb(logits []float32, id int) float64 {
	top := float64(slices.Max(logits))
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return float64(logits[id]) - top - math.Log(sum)
}

// Embed returns the output of the last norm for each token of a fresh sequence, or, with mean, the mean of these; with
// normalize the rows have length 1.
func (e *Engine) Embed(ctx context.Context, tokens []int32, mean, normalize bool) ([][]float32, error) {
	got, err := e.Capture(ctx, tokens, among([]string{layers.SiteResultNorm}))
	if err != nil {
		return nil, err
	}
	data, count, n, _ := got.Trace.Data(layers.SiteResultNorm)
	var list [][]float32
	for r := range count {
		list = append(list, data[r*n:(r+1)*n])
	}
	if mean {
		row := make([]float32, n)
		for i := range row {
			var sum float64
			for _, r := range list {
				sum += float64(r[i])
			}
			row[i] = float32(sum / float64(count))
		}
		list = [][]float32{row}
	}
	if normalize {
		for _, row := range list {
			var sum float64
			for _, v := range row {
				sum += float64(v) * float64(v)
			}
			if sum > 0 {
				for i := range row {
					row[i] = float32(float64(row[i]) / math.Sqrt(sum))
				}
			}
		}
	}
	return list, nil
}
