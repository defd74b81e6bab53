// Package kernelbench measures the kernels of a backend one by one, in the shapes of a model, beside the ceilings of the device:
// how fast it moves memory, and how fast it multiplies.
package kernelbench

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"cera/backend"
)

// Options say what Run measures. The zero value of a field is a good default.
type Options struct {
	Shapes  []Shape
	Only    string        // glob over the names of cases, as "8B/matvec/*"; * stands for slashes too
	MinTime time.Duration // of one sample; 0: 60 ms
	Samples int           // of each case; 0: 5

	// Rows of the norms, tokens of a prompt and positions in the cache. nil: 1, 512, 4096; 512; 128, 4096.
	NormRows []int
	Prompts  []int
	Depths   []int
	Formats  []backend.Format // of matrices; nil: all that the backend takes

	Progress func(name string, i, n int) // called before each case; may be nil
}

// Shape is that of a model's blocks.
type Shape struct {
	Name                           string
	Dim, FF, Heads, KVHeads, Vocab int
	HeadDim                        int
	Experts, ExpertsUsed           int              // of a mixture, each FF wide; 0: a plain MLP
	Main                           []backend.Format // of products with several forms; nil: those of MainFormats
	Act                            backend.Activation
}

// Report is what was measured.
type Report struct {
	Device   string   `json:"device"`
	Ceilings Ceilings `json:"ceilings"`
	Kernels  []Result `json:"kernels"`
}

// Result is one case. Times are in microseconds.
type Result struct {
	Model   string    `json:"model"`
	Kernel  string    `json:"kernel"` // as "matvec Q4_0"
	Shape   string    `json:"shape"`  // rows × columns, or in words
	Samples []float64 `json:"samples_us"`
	Median  float64   `json:"median_us"`
	Least   float64   `json:"least_us"`
	Most    float64   `json:"most_us"`
	Bytes   float64   `json:"bytes"` // that must be read and written at least
	Flops   float64   `json:"flop"`  // operations of products; 0 where there are none
	GBps    float64   `json:"gb_per_s"`
	TFLOPs  float64   `json:"tflop_per_s"`
	Bound   string    `json:"bound"`             // "memory" or "arithmetic": which ceiling it is put beside
	Ceiling float64   `json:"ceiling"`           // in GB/s of a pass over as many bytes, or in TFLOP/s; 0: not known
	Share   float64   `json:"share"`             // of the ceiling
	Skipped string    `json:"skipped,omitempty"` // why it was not measured
}

// Case is a kernel on one shape.
type Case struct {
	Model, Kernel, Shape string
	Bytes, Flops         float64 // of one op: what it must move at least, and operations of products
	Arithmetic           bool    // bound by arithmetic, not by memory
	Largest              int64   // bytes of its largest tensor
	Make                 func(be backend.Backend) (*Work, error)
}

// Name is what Options.Only is matched with.
func (c *Case) Name() string {
	return strings.Join([]string{c.Model, strings.ReplaceAll(c.Kernel, " ", "/"), strings.ReplaceAll(c.Shape, " ", "/")}, "/")
}

// matches tells whether a glob takes the case.
func (c *Case) matches(glob string) bool {
	if glob == "" {
		return true
	}
	ok, _ := path.Match(strings.ReplaceAll(glob, "/", "\x00"), strings.ReplaceAll(c.Name(), "/", "\x00"))
	return ok
}

// checkEvery is how many cases lie between two looks at the ceilings.
const checkEvery = 24

// Run measures the cases of o. A case that does not fit the device is in the report with the reason; any other error ends it.
func Run(ctx context.Context, be backend.Backend, o Options) (*Report, error) {
	o.defaults(be)
	if _, err := path.Match(o.Only, ""); err != nil {
		return nil, fmt.Errorf("%q is no glob: %w", o.Only, err)
	}
	var cases []*Case
	for _, s := range o.Shapes {
		cases = append(cases, o.cases(be, s)...)
	}
	cases = slices.DeleteFunc(cases, func(c *Case) bool { return !c.matches(o.Only) })
	if len(cases) == 0 {
		return nil, fmt.Errorf("no kernel's name is like %q; names are like 8B/matvec/Q4_0/14336x4096", o.Only)
	}
	m := &Meter{Backend: be, MinTime: o.MinTime, Samples: o.Samples}
	if o.Progress != nil {
		o.Progress("ceilings", 0, len(cases))
	}
	r := &Report{Device: be.Info().Adapter, Kernels: []Result{}}
	if err := r.Ceilings.measure(m); err != nil {
		return nil, fmt.Errorf("ceilings: %w", err)
	}
	for i, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(c.Name(), i+1, len(cases))
		}
		res, err := m.result(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
		r.Kernels = append(r.Kernels, res)
		if i%checkEvery == checkEvery-1 || i == len(cases)-1 {
			if err := r.Ceilings.check(m, i+1); err != nil {
				return nil, fmt.Errorf("ceilings: %w", err)
			}
		}
	}
	for i := range r.Kernels {
		r.Kernels[i].compare(&r.Ceilings)
	}
	return r, nil
}

func (o *Options) defaults(be backend.Backend) {
	if o.MinTime == 0 {
		o.MinTime = 60 * time.Millisecond
	}
	if o.Samples == 0 {
		o.Samples = 5
	}
	if o.NormRows == nil {
		o.NormRows = []int{1, 512, 4096}
	}
	if o.Prompts == nil {
		o.Prompts = []int{512}
	}
	if o.Depths == nil {
		o.Depths = []int{128, 4096}
	}
	if o.Formats == nil {
		o.Formats = backend.Formats()
	}
	o.Formats = slices.DeleteFunc(slices.Clone(o.Formats), func(f backend.Format) bool { return !be.Takes(f) })
}

// result measures a case.
func (m *Meter) result(c *Case) (Result, error) {
	r := Result{Model: c.Model, Kernel: c.Kernel, Shape: c.Shape, Bytes: c.Bytes, Flops: c.Flops, Bound: "memory", Samples: []float64{}}
	if c.Arithmetic {
		r.Bound = "arithmetic"
	}
	if most := m.Backend.Info().MaxBytes; c.Largest > most {
		r.Skipped = fmt.Sprintf("a tensor of %d bytes is larger than the device's largest of %d", c.Largest, most)
		return r, nil
	}
	w, err := c.Make(m.Backend)
	if err != nil {
		return r, err
	}
	defer w.Free()
	if r.Samples, err = m.Measure(w.Ops); err != nil {
		return r, err
	}
	r.Median, r.Least, r.Most = middle(r.Samples)
	r.GBps, r.TFLOPs = r.Bytes/r.Median/1e3, r.Flops/r.Median/1e6
	return r, nil
}

// compare puts a result beside the ceiling.
func (r *Result) compare(c *Ceilings) {
	if r.Skipped != "" {
		return
	}
	rate := r.GBps
	if r.Bound == "arithmetic" {
		rate, r.Ceiling = r.TFLOPs, c.TFLOPs
	} else if us := c.passTime(r.Bytes); us > 0 {
		r.Ceiling = r.Bytes / us / 1e3
	}
	if r.Ceiling > 0 {
		r.Share = rate / r.Ceiling
	}
}
