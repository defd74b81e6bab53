package engine

import (
	"cmp"
	"fmt"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/gpu"
	"cera/layers"
	"cera/weights"
)

// PlanSchema names the form of Plan's JSON.
const PlanSchema = "cera-plan-1"

// Plan says how much memory a model takes on a device with one sequence, before anything is uploaded. Sizes are in
// bytes.
type Plan struct {
	Schema      string       `json:"schema"`
	Model       string       `json:"model"`
	Device      backend.Info `json:"device"`
	Ctx         int          `json:"ctx"`
	UBatch      int          `json:"ubatch"`
	KVType      string       `json:"kv_type"`
	Weights     int64        `json:"weights_bytes"`     // matrices as the device holds them, norms and biases
	KV          int64        `json:"kv_bytes"`          // of one sequence
	Activations int64        `json:"activations_bytes"` // of one sequence: tables of rotations and what decoding on the device keeps, too
	Working     int64        `json:"working_bytes"`     // of the device's own, at most
	Total       int64        `json:"total_bytes"`
	Loading     int64        `json:"loading_bytes"`          // at most until all is loaded; see planner.weights
	Budget      int64        `json:"budget_bytes,omitempty"` // Options.GPUMemory
	Fits        bool         `json:"fits"`                   // within the budget, or there is none
	Advice      []string     `json:"advice,omitempty"`       // what would fit, where this does not
}

// Need is how much memory there must be: the more of Total and Loading.
func (p *Plan) Need() int64 { return max(p.Total, p.Loading) }

// MemoryError says that a model does not fit the budget.
type MemoryError struct{ Plan *Plan }

func (e *MemoryError) Error() string {
	p := e.Plan
	text := fmt.Sprintf("%s needs %s on %s (weights %s, KV cache of %d positions %s, activations %s, working memory "+
		"up to %s), "+
		"the budget is %s", p.Model, Size(p.Need()), p.Device.Adapter, Size(p.Weights), p.Ctx, Size(p.KV),
		Size(p.Activations),
		Size(p.Working), Size(p.Budget))
	return text + "; what would do: " + strings.Join(p.Advice, ", or ")
}

// Size writes a number of bytes with three figures and a unit of 1024.
func Size[N int | int64 | uint64](bytes N) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(bytes), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	switch {
	case i == 0 || v >= 99.95: // what rounds to four figures has one less after the point
		return fmt.Sprintf("%.0f %s", v, units[i])
	case v >= 9.995:
		return fmt.Sprintf("%.1f %s", v, units[i])
	}
	return fmt.Sprintf("%.2f %s", v, units[i])
}

// NewPlan plans the memory of the model in f on the device that o asks for, which is opened and closed again.
func NewPlan(f *gguf.File, o Options) (*Plan, error) {
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	be, err := OpenDevice(o)
	if err != nil {
		return nil, err
	}
	defer be.Close()
	return plan(f, r, be, o)
}

// shape returns the sizes that o asks for of a model.
func (o Options) shape(c layers.Config) (ubatch, ctx int) {
	ctx = cmp.Or(o.Ctx, min(c.Ctx, DefaultCtx))
	return min(cmp.Or(o.UBatch, defaultUBatch), ctx), ctx
}

// holder tells how a device holds weights, and bounds what they pass through on their way and its working memory. The cpu
// holds them as they are in the file, and works on the stack.
type holder interface {
	WeightBytes(f backend.Format, rows, n int) (int64, error)
	StagingBytes(largest int64) int64
	WorkingBytes(gpu.Work) int64
}

// plan adds up what a model takes on a backend.
func plan(f *gguf.File, r *Resolved, be backend.Backend, o Options) (*Plan, error) {
	ubatch, ctx := o.shape(r.Config)
	p := &planner{file: f, r: r, be: be, o: o, ubatch: ubatch}
	out := &Plan{
		Schema: PlanSchema, Model: f.Path, Device: be.Info(), Ctx: ctx, UBatch: ubatch,
		KVType: strings.ToLower(o.KV.String()), Fits: true,
	}
	var err error
	if out.Weights, out.Loading, err = p.weights(p.held); err != nil {
		return nil, deviceError(fmt.Errorf("%s: %w", f.Path, err))
	}
	s, err := p.session(ctx, o.KV)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	for _, t := range []sized{s.largest,
		{fmt.Sprintf("%s of %d positions", s.rows.name, ctx), s.rows.bytes * int64(ctx)}} {
		if most := be.Info().MaxBytes; most > 0 && t.bytes > most {
			return nil, deviceError(&gpu.LimitError{What: t.name, Limit: "maxStorageBufferBindingSize", Need: t.bytes,
				Have: most})
		}
	}
	out.KV, out.Activations, out.Working = s.kv, s.other, p.working(ctx)
	out.Total = out.Weights + out.KV + out.Activations + out.Working
	if _, ok := be.(holder); ok && o.GPUMemory > 0 {
		out.Budget = o.GPUMemory
		if out.Fits = out.Need() <= out.Budget; !out.Fits {
			out.Advice, err = p.advice(out)
		}
	}
	return out, err
}

// planner holds what a plan is made from.
type planner struct {
	file   *gguf.File
	r      *Resolved
	be     backend.Backend
	o      Options
	ubatch int
}

// held is the format in which the device holds a tensor of the file.
func (p *planner) held(t *gguf.Tensor) (backend.Format, error) {
	f, err := weights.FormatOf(t.Type)
	return weights.Held(f, p.be.Takes), err
}

// weights adds up the tensors that the model takes, matrices in the formats that as gives, and how much there is at most
// while they are uploaded, or then some of them stored together (Model.Join).
func (p *planner) weights(as func(*gguf.Tensor) (backend.Format, error)) (total, loading int64, err error) {
	sizes := map[string]int64{}
	for _, s := range p.r.model.Slots() {
		t, ok := p.file.Tensor(s.Name)
		if !ok || !s.Found {
			continue
		}
		size := int64(s.Rows) * int64(s.N) * 4
		if s.Matrix != nil {
			format, err := as(t)
			if err != nil {
				return 0, 0, fmt.Errorf("tensor %q: %w", s.Name, err)
			}
			if size, err = p.matrix(format, s.Rows, s.N); err != nil {
				return 0, 0, fmt.Errorf("tensor %q: %w", s.Name, err)
			}
			sizes[s.Name] = size
		}
		total += size
	}
	h, ok := p.be.(holder)
	if !ok {
		return total, total, nil
	}
	var largest, together int64
	for _, size := range sizes {
		largest = max(largest, size)
	}
	for i := range p.r.model.Blocks {
		b := &p.r.model.Blocks[i]
		together = max(together, sizes[b.Q.Name]+sizes[b.K.Name]+sizes[b.V.Name], sizes[b.Gate.Name]+sizes[b.Up.Name])
	}
	return total, total + max(together, h.StagingBytes(largest)), nil
}

func (p *planner) matrix(f backend.Format, rows, n int) (int64, error) {
	if h, ok := p.be.(holder); ok {
		return h.WeightBytes(f, rows, n)
	}
	return int64(rows) * int64(f.RowBytes(n)), nil
}

// working bounds the device's own memory.
func (p *planner) working(ctx int) int64 {
	h, ok := p.be.(holder)
	if !ok {
		return 0
	}
	c, heads := p.r.Config, 0
	for _, s := range c.Shapes {
		heads = max(heads, s.Heads)
	}
	rows, m, n := min(p.ubatch, ctx), 0, 0
	for _, s := range p.r.model.Slots() {
		if s.Matrix != nil && s.Found {
			m, n = max(m, s.Rows), max(n, s.N)
		}
	}
	return h.WorkingBytes(gpu.Work{
		Rows: rows, Positions: ctx, Heads: heads, HeadDim: c.HeadDim, ReadWords: max(c.Vocab, rows*c.Vocab, ctx), Vocab: c.Vocab,
		Slots: rows * c.ExpertsUsed, Experts: c.Experts, MatrixN: n, MatrixM: m,
	})
}

// session returns what a sequence allocates. Everything of it grows evenly with the context once that is longer than a
// batch and than what the decoder runs ahead, so that long contexts are not tried out.
func (p *planner) session(ctx int, kv backend.Format) (tally, error) {
	ubatch := min(p.ubatch, ctx)
	base := ctx
	if most := max(ubatch, layers.MostAhead); ctx > most+1 {
		base = most
	}
	at, err := p.tally(ubatch, base, kv)
	if err != nil || base == ctx {
		return at, err
	}
	next, err := p.tally(ubatch, base+1, kv)
	more := int64(ctx - base)
	at.kv += more * (next.kv - at.kv)
	at.other += more * (next.other - at.other)
	return at, err
}

func (p *planner) tally(ubatch, ctx int, kv backend.Format) (tally, error) {
	c := &counter{}
	s, err := layers.NewState(c, p.r.model, ubatch, ctx, p.o.Norms, kv)
	if err == nil {
		s.NewDecoder()
	}
	return c.tally, err
}
