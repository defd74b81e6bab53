// Package engine loads a model onto a device, holds its KV cache, and runs token batches: plain, captured, or checked.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cera/backend"
	"cera/gguf"
	"cera/layers"
	"cera/trace"
	"cera/weights"
)

// Options says where and how a model runs. The zero value is a good default.
type Options struct {
	Device  string         // "auto" (or empty), "cpu", "cpu-fast" or "gpu"; see OpenDevice
	Adapter *int           // index into Adapters; nil: the best one
	Kernels string         // folder of WGSL files that replace the GPU's kernels of the same name; empty: none
	UBatch  int            // tokens a forward pass takes at most; 0: 512
	Ctx     int            // positions in the KV cache; 0: the model's, at most DefaultCtx
	Norms   layers.Norms   // which fused norm kernel runs
	KV      backend.Format // what the KV cache holds: F32 or F16

	// GPUMemory is the budget in bytes of a model on a GPU with one sequence, compared with its Plan before the upload; 0:
	// none, for no device says how much of its memory is free.
	GPUMemory int64

	ropeCtx  int                                // chooses the rope factors in place of Ctx; 0: Ctx does
	Progress func(name string, done, all int64) // called while weights are uploaded, in bytes
}

// ParseNorms reads the name of a norm kernel: auto, batch or arena.
func ParseNorms(s string) (layers.Norms, error) { return layers.ParseNorms(s) }

// ParseKV reads the type of the KV cache's values: f32 or f16.
func ParseKV(s string) (backend.Format, error) { return layers.ParseKV(s) }

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

// Engine is a model on a device with a sequence of its own; NewSession gives further ones. Several goroutines may use the
// sessions of one engine, each by one at a time: they take turns on the device.
type Engine struct {
	file  *gguf.File
	be    backend.Backend
	model *layers.Model
	notes []string
	main  *Session
	kv    backend.Format // of every session
	turn  *turn

	loaded LoadResult // but for the first token
}

// turn lets one goroutine use the device at a time.
type turn struct {
	sync.Mutex
	closed bool
}

// ErrClosed says that the engine was closed.
var ErrClosed = errors.New("the engine is closed")

// take waits for the device. The caller gives it back with Unlock unless there is an error.
func (t *turn) take() error {
	t.Lock()
	if t.closed {
		t.Unlock()
		return ErrClosed
	}
	return nil
}

// Open loads the model at path onto the device that o asks for. Close releases both.
func Open(path string, o Options) (*Engine, error) {
	return OpenContext(context.Background(), path, o)
}

// OpenContext is Open until ctx ends, which is looked at between two tensors: what was uploaded is then freed, and the error is
// the context's.
func OpenContext(ctx context.Context, path string, o Options) (*Engine, error) {
	began := time.Now()
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	e, err := load(ctx, f, o, began)
	if err != nil {
		f.Close()
		return nil, err
	}
	return e, nil
}

// Load is Open for a file that is open already; Close closes it. On an error the file stays open.
func Load(f *gguf.File, o Options) (*Engine, error) {
	return LoadContext(context.Background(), f, o)
}

// LoadContext is to Load what OpenContext is to Open.
func LoadContext(ctx context.Context, f *gguf.File, o Options) (*Engine, error) {
	return load(ctx, f, o, time.Now())
}

func load(ctx context.Context, f *gguf.File, o Options, began time.Time) (*Engine, error) {
	// The file is bound before a device is opened, so that a bad file is told from a missing device.
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	be, err := OpenDevice(o)
	if err != nil {
		return nil, err
	}
	e, err := start(ctx, f, r, be, o, began)
	if err != nil {
		be.Close()
		return nil, err
	}
	return e, nil
}

// New loads a model onto a given backend; Options.Device and Adapter are not used. Close closes the file and the
// backend. On an error both stay open.
func New(f *gguf.File, be backend.Backend, o Options) (*Engine, error) {
	return NewContext(context.Background(), f, be, o)
}

// NewContext is to New what OpenContext is to Open.
func NewContext(ctx context.Context, f *gguf.File, be backend.Backend, o Options) (*Engine, error) {
	began := time.Now()
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	return start(ctx, f, r, be, o, began)
}

// start loads a resolved model onto a backend.
func start(ctx context.Context, f *gguf.File, r *Resolved, be backend.Backend, o Options, began time.Time) (*Engine, error) {
	e := &Engine{file: f, be: be, model: r.model, notes: r.Binding.Notes(be.Takes), kv: o.KV, turn: new(turn)}
	if _, ok := be.(holder); ok { // what does not fit is refused before anything is uploaded
		p, err := plan(f, r, be, o)
		if err != nil {
			return nil, err
		}
		if !p.Fits {
			return nil, deviceError(&MemoryError{p})
		}
	}
	if !be.Info().Software { // where kernels run on the processor, compiling more of them than are used is no gain
		prepare(ctx, f, be, o)
	}
	upload := time.Now()
	err := r.Binding.Load(ctx, be, func(done, total int64, name string) {
		e.loaded.Bytes = total
		if o.Progress != nil {
			o.Progress(name, done, total)
		}
	})
	if bad := (*weights.FileError)(nil); errors.As(err, &bad) {
		return nil, err
	}
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return nil, fmt.Errorf("load %s: %w", f.Path, err)
	}
	if err != nil {
		return nil, deviceError(fmt.Errorf("%s: %w", f.Path, err))
	}
	if err := e.begin(o, r.Config); err != nil { // waits for the device
		e.model.Close(be)
		return nil, deviceError(fmt.Errorf("%s: %w", f.Path, err))
	}
	e.loaded.took(upload)
	e.loaded.Open = time.Since(began).Seconds()
	return e, nil
}

// begin makes the engine's own sequence, once its weights are there.
func (e *Engine) begin(o Options, c layers.Config) error {
	e.model.Join(e.be)
	ubatch, positions := o.shape(c)
	e.model.LongContext = cmp.Or(o.ropeCtx, positions) > e.model.Ropes[0].OrigCtx
	var err error
	e.main, err = e.session(ubatch, positions, o.Norms)
	return err
}

// preparer is a backend that compiles kernels beforehand.
type preparer interface {
	Prepare(f func(sketch backend.Backend))
}

// prepare has a backend that compiles kernels compile those that a prompt and greedy decoding of a file will run, on all cores,
// while weights are uploaded: the first run would compile one after the other.
func prepare(ctx context.Context, f *gguf.File, be backend.Backend, o Options) {
	p, ok := be.(preparer)
	if !ok {
		return
	}
	p.Prepare(func(sketch backend.Backend) {
		r, err := Resolve(f)
		if err != nil {
			return
		}
		r.Binding.Outline(sketch)
		e := &Engine{file: f, be: sketch, model: r.model, kv: o.KV, turn: new(turn)}
		if e.begin(o, r.Config) != nil {
			return
		}
		for _, n := range []int{e.main.state.UBatch(), firstPrompt} {
			// What is computed, and errors of that, are nothing: no op runs.
			_, _ = e.Greedy(ctx, DefaultTokens(e.model.Vocab, min(n, e.main.Ctx()-1)), 1)
			e.Reset()
		}
	})
}

// Close releases the model, its sessions, its device and its file. What still runs on a session ends with ErrClosed.
func (e *Engine) Close() error {
	if err := e.turn.take(); err != nil {
		return nil
	}
	defer e.turn.Unlock()
	e.turn.closed = true
	e.main.state.Close()
	e.model.Close(e.be)
	e.be.Close()
	return e.file.Close()
}

// Info describes the device.
func (e *Engine) Info() backend.Info { return e.be.Info() }

// Config returns the architecture's row with the file's hyperparameters.
func (e *Engine) Config() layers.Config { return e.model.Config }

// NormSites lists the norms of the path that runs, in forward order.
func (e *Engine) NormSites() []layers.NormSite { return e.main.state.NormSites() }

// Session returns the engine's own sequence. It lives as long as the engine: closing it is the engine's.
func (e *Engine) Session() *Session { return e.main }

// Pos returns how many tokens the engine's own sequence holds.
func (e *Engine) Pos() int { return len(e.main.tokens) }

// Reset forgets the engine's own sequence.
func (e *Engine) Reset() { e.main.Truncate(0) }

// Eval is Session.Eval of the engine's own sequence.
func (e *Engine) Eval(ctx context.Context, tokens []int32) ([]float32, error) {
	return e.main.Eval(ctx, tokens)
}

// Logits is Session.Logits of the engine's own sequence.
func (e *Engine) Logits(ctx context.Context, tokens []int32) ([]float32, error) {
	return e.main.Logits(ctx, tokens)
}

// Greedy appends n tokens to the engine's own sequence, each the most likely after tokens and those before it.
func (e *Engine) Greedy(ctx context.Context, tokens []int32, n int) ([]int32, error) {
	var ids []int32
	err := e.main.Greedy(ctx, tokens, n, func(chosen []int32) bool {
		ids = append(ids, chosen...)
		return true
	})
	return ids, err
}

// Captured is what a run left behind.
type Captured struct {
	Trace   *trace.Trace
	Weights map[string][]float32 // norm weights as read back from the device, by norm site
}

// Capture runs tokens as a fresh sequence and captures the sites that want accepts, and the logits of every token
// where it accepts "logits".
func (e *Engine) Capture(ctx context.Context, tokens []int32, want func(site string) bool) (*Captured, error) {
	tr := trace.New()
	tr.Tokens = tokens
	weights, err := e.record(ctx, tokens, want, tr)
	if err != nil {
		return nil, err
	}
	return &Captured{tr, weights}, nil
}

// FileWeight decodes a tensor of the file to the values that the backend holds: rounded to F16 where it does not take the
// tensor's format.
func (e *Engine) FileWeight(name string) ([]float32, error) {
	return weights.DecodeHeld(e.file, name, e.be.Takes)
}
