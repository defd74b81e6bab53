// Package engine loads a model onto a device, holds its KV cache, and runs token batches: plain, captured, or checked.
package engine

import (
	"context"
	"errors"
	"fmt"

	"cera/backend"
	"cera/gguf"
	"cera/layers"
	"cera/trace"
	"cera/weights"
)

// Options says where and how a model runs. The zero value is a good default.
type Options struct {
	Device   string                             // "auto" (or empty), "cpu" or "gpu"; see OpenDevice
	Adapter  *int                               // index into Adapters; nil: the best one
	Kernels  string                             // folder of WGSL files that replace the GPU's kernels of the same name; empty: none
	UBatch   int                                // tokens a forward pass takes at most; 0: 512
	Ctx      int                                // positions in the KV cache; 0: the model's, at most DefaultCtx
	Norms    layers.Norms                       // which fused norm kernel runs
	Progress func(name string, done, all int64) // called while weights are uploaded, in bytes
}

// ParseNorms reads the name of a norm kernel: auto, batch or arena.
func ParseNorms(s string) (layers.Norms, error) { return layers.ParseNorms(s) }

const (
	// DefaultCtx caps the KV cache where Options.Ctx is not given.
	DefaultCtx    = 4096
	defaultUBatch = 512
)

// DeviceError is a failure of the device, or that there is none, as against a bad file or bad arguments.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return e.Err.Error() }
func (e *DeviceError) Unwrap() error { return e.Err }

func deviceError(err error) error {
	if err == nil {
		return nil
	}
	return &DeviceError{err}
}

// Engine is a model on a device with one sequence. It is used by one goroutine at a time.
type Engine struct {
	file  *gguf.File
	be    backend.Backend
	model *layers.Model
	state *layers.State
	notes []string
	pos   int // tokens in the KV cache
}

// Open loads the model at path onto the device that o asks for. Close releases both.
func Open(path string, o Options) (*Engine, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	e, err := Load(f, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	return e, nil
}

// Load is Open for a file that is open already; Close closes it. On an error the file stays open.
func Load(f *gguf.File, o Options) (*Engine, error) {
	// The file is bound before a device is opened, so that a bad file is told from a missing device.
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	be, err := OpenDevice(o)
	if err != nil {
		return nil, err
	}
	e, err := start(f, r, be, o)
	if err != nil {
		be.Close()
		return nil, err
	}
	return e, nil
}

// New loads a model onto a given backend; Options.Device and Adapter are not used. Close closes the file and the
// backend. On an error both stay open.
func New(f *gguf.File, be backend.Backend, o Options) (*Engine, error) {
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	return start(f, r, be, o)
}

// start loads a resolved model onto a backend.
func start(f *gguf.File, r *Resolved, be backend.Backend, o Options) (*Engine, error) {
	e := &Engine{file: f, be: be, model: r.model, notes: r.Binding.Notes(be.Takes)}
	progress := o.Progress
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	err := r.Binding.Load(be, func(done, total int64, name string) { progress(name, done, total) })
	if err != nil {
		return nil, deviceError(fmt.Errorf("%s: %w", f.Path, err))
	}
	ubatch, ctx := o.UBatch, o.Ctx
	if ubatch == 0 {
		ubatch = defaultUBatch
	}
	if ctx == 0 {
		ctx = min(r.Config.Ctx, DefaultCtx)
	}
	e.state, err = layers.NewState(be, e.model, min(ubatch, ctx), ctx, o.Norms)
	if err == nil {
		err = be.Flush()
	}
	if err != nil {
		e.model.Close(be)
		return nil, deviceError(fmt.Errorf("%s: %w", f.Path, err))
	}
	return e, nil
}

// Close releases the model, its device and its file.
func (e *Engine) Close() error {
	e.state.Close()
	e.model.Close(e.be)
	e.be.Close()
	return e.file.Close()
}

// Info describes the device.
func (e *Engine) Info() backend.Info { return e.be.Info() }

// Config returns the architecture's row with the file's hyperparameters.
func (e *Engine) Config() layers.Config { return e.model.Config }

// NormSites lists the norms of the path that runs, in forward order.
func (e *Engine) NormSites() []layers.NormSite { return e.state.NormSites() }

// Pos returns how many tokens the KV cache holds.
func (e *Engine) Pos() int { return e.pos }

// Reset forgets the sequence.
func (e *Engine) Reset() { e.pos = 0 }

// Eval appends tokens to the sequence and returns the logits of the last, [Vocab].
func (e *Engine) Eval(ctx context.Context, tokens []int32) ([]float32, error) {
	out := make([]float32, e.model.Vocab)
	err := e.run(ctx, tokens, nil, func(rows int) error {
		return e.be.Read(out, e.state.Logits(rows-1, rows, nil))
	})
	return out, err
}

// Logits appends tokens to the sequence and returns the logits of each, [len(tokens), Vocab] row-major.
func (e *Engine) Logits(ctx context.Context, tokens []int32) ([]float32, error) {
	out := make([]float32, 0, len(tokens)*e.model.Vocab)
	err := e.run(ctx, tokens, nil, func(rows int) error {
		return e.slices(rows, func(lo, hi int) error {
			part := out[len(out) : len(out)+(hi-lo)*e.model.Vocab]
			out = out[:len(out)+len(part)]
			return e.be.Read(part, e.state.Logits(lo, hi, nil))
		})
	})
	return out, err
}

// Greedy appends n tokens to the sequence, each the most likely after tokens and those before it.
func (e *Engine) Greedy(ctx context.Context, tokens []int32, n int) ([]int32, error) {
	var ids []int32
	for len(ids) < n {
		logits, err := e.Eval(ctx, tokens)
		if err != nil {
			return ids, err
		}
		best := 0
		for i, v := range logits {
			if v > logits[best] {
				best = i
			}
		}
		tokens = []int32{int32(best)}
		ids = append(ids, int32(best))
	}
	return ids, nil
}

// Captured is what a run left behind.
type Captured struct {
	Trace   *trace.Trace
	Weights map[string][]float32 // norm weights as read back from the device, by norm site
}

// Capture runs tokens as a fresh sequence and captures the sites that want accepts, and the logits of every token
// where it accepts "logits".
func (e *Engine) Capture(ctx context.Context, tokens []int32, want func(site string) bool) (*Captured, error) {
	rec := trace.NewRecorder(e.be, want)
	defer rec.Close()
	tr := trace.New()
	tr.Tokens = tokens
	if err := e.record(ctx, tokens, want, rec, tr); err != nil {
		return nil, err
	}
	return &Captured{tr, rec.Weights()}, nil
}

// run passes tokens through the model in chunks, each followed by a call of done with its number of rows. The
// sequence advances by the chunks that were done.
func (e *Engine) run(ctx context.Context, tokens []int32, probe layers.Probe, done func(rows int) error) error {
	if len(tokens) == 0 {
		return errors.New("no tokens")
	}
	if free := e.state.Ctx() - e.pos; len(tokens) > free {
		return fmt.Errorf("%d tokens after %d do not fit the context of %d: ask for a longer one", len(tokens), e.pos, e.state.Ctx())
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= e.model.Vocab {
			return fmt.Errorf("token %d is not in the vocabulary of %d", t, e.model.Vocab)
		}
	}
	for len(tokens) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := tokens[:min(len(tokens), e.state.UBatch())]
		if err := e.state.Forward(chunk, e.pos, probe); err != nil {
			return err
		}
		if err := done(len(chunk)); err != nil {
			return deviceError(err)
		}
		if err := e.be.Flush(); err != nil {
			return deviceError(err)
		}
		e.pos += len(chunk)
		tokens = tokens[len(chunk):]
	}
	return nil
}

// slices calls f for consecutive ranges of rows that fit one call of State.Logits.
func (e *Engine) slices(rows int, f func(lo, hi int) error) error {
	step := e.state.LogitRows()
	for lo := 0; lo < rows; lo += step {
		if err := f(lo, min(lo+step, rows)); err != nil {
			return err
		}
	}
	return nil
}

// FileWeight decodes a tensor of the file to the values that the backend holds: rounded to F16 where it does not take the
// tensor's format.
func (e *Engine) FileWeight(name string) ([]float32, error) {
	return weights.DecodeHeld(e.file, name, e.be.Takes)
}
