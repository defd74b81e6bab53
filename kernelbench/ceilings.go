package kernelbench

import (
	"math"

	"cera/backend"
)

// Ceilings are what the device does at most, measured in the same run as the kernels: memory by an elementwise pass that reads and
// writes two tensors each, arithmetic by a loop of float32 multiplications and additions.
type Ceilings struct {
	Passes []Pass  `json:"passes"`       // smallest first
	GBps   float64 `json:"gb_per_s"`     // of the largest pass
	TFLOPs float64 `json:"tflop_per_s"`  // 0: the backend has no such loop
	Checks []Check `json:"clock_checks"` // the same again, in the course of the run
	Drift  float64 `json:"clock_drift"`  // the largest difference of a check from the first, as a share of it
	Steady bool    `json:"clock_steady"` // Drift is within MaxDrift
}

// Pass is the elementwise pass over one number of bytes.
type Pass struct {
	Bytes float64 `json:"bytes"`
	Time  float64 `json:"us"`
}

// Check is a look at the ceilings after so many kernels.
type Check struct {
	After  int     `json:"after"`
	GBps   float64 `json:"gb_per_s"`
	TFLOPs float64 `json:"tflop_per_s"`
}

// MaxDrift is how far the ceilings may move in a run of which the numbers can be compared with each other.
const MaxDrift = 0.05

// passer is a backend with an elementwise pass, src += residual, dst = src / 2.
type passer interface {
	BenchPass(dst, src, residual backend.Tensor)
}

// multiplier is a backend with a loop of multiplications, which returns how many operations it runs.
type multiplier interface {
	BenchFMA(dst, x backend.Tensor, loops int) (flops float64)
}

// Bytes of the passes: each four times the one before.
const (
	firstPass = 16 << 10
	lastPass  = 1 << 30
)

// Sizes where the ops run on the processor's cores.
const (
	softwarePass    = 16 << 20
	softwareThreads = 1 << 12
)

func (c *Ceilings) measure(m *Meter) error {
	last := int64(lastPass)
	if m.Backend.Info().Software {
		last = softwarePass
	}
	last = min(last, 4*m.Backend.Info().MaxBytes)
	for bytes := int64(firstPass); bytes <= last; bytes *= 4 {
		us, moved, err := m.pass(bytes)
		if err != nil {
			return err
		}
		c.Passes = append(c.Passes, Pass{moved, us})
	}
	top := c.Passes[len(c.Passes)-1]
	c.GBps = top.Bytes / top.Time / 1e3
	var err error
	c.TFLOPs, err = m.multiply()
	c.Steady = true
	return err
}

// check measures the largest pass and the loop again.
func (c *Ceilings) check(m *Meter, after int) error {
	us, moved, err := m.pass(int64(c.Passes[len(c.Passes)-1].Bytes))
	if err != nil {
		return err
	}
	now := Check{After: after, GBps: moved / us / 1e3}
	if now.TFLOPs, err = m.multiply(); err != nil {
		return err
	}
	c.Checks = append(c.Checks, now)
	c.Drift = max(c.Drift, math.Abs(now.GBps/c.GBps-1))
	if c.TFLOPs > 0 {
		c.Drift = max(c.Drift, math.Abs(now.TFLOPs/c.TFLOPs-1))
	}
	c.Steady = c.Drift <= MaxDrift
	return nil
}

// pass returns the time of a pass that moves about so many bytes, and how many it moves.
func (m *Meter) pass(bytes int64) (us, moved float64, err error) {
	const n = 1024
	rows := int(bytes / (16 * n))
	w, err := PassCase(rows, n).Make(m.Backend)
	if err != nil {
		return 0, 0, err
	}
	defer w.Free()
	samples, err := m.Measure(w.Ops)
	if err != nil {
		return 0, 0, err
	}
	us, _, _ = middle(samples)
	return us, 16 * float64(rows) * n, nil
}

// PassCase is the elementwise pass over what AddRMSNorm moves on [rows, n]; of a backend without it, a GatedAct over as many
// bytes.
func PassCase(rows, n int) *Case {
	c := &Case{Kernel: "elementwise pass", Shape: dims(rows, n), Bytes: 16 * float64(rows) * float64(n)}
	c.Largest = 4 * int64(rows) * int64(n)
	c.Make = func(be backend.Backend) (*Work, error) {
		p, ok := be.(passer)
		return makeSets(be, sets(be, rows, 12*int64(rows)*int64(n), cycleBytes), func(a *arena) func() {
			if !ok { // three streams of longer rows in place of four
				n := (n*4 + 2) / 3
				x, y, z := a.spread(rows, n, 1), a.spread(rows, n, 1), a.alloc(rows, n)
				return func() { be.GatedAct(z, x, y, backend.SiLU) }
			}
			src, residual, dst := a.spread(rows, n, 1), a.spread(rows, n, 1e-3), a.alloc(rows, n)
			return func() { p.BenchPass(dst, src, residual) }
		})
	}
	return c
}

// multiply returns the rate of the loop of multiplications, in TFLOP/s; 0 without one.
func (m *Meter) multiply() (float64, error) {
	be, ok := m.Backend.(multiplier)
	if !ok {
		return 0, nil
	}
	threads, loops := 1<<20, 64
	if m.Backend.Info().Software {
		threads, loops = softwareThreads, 16
	}
	var flops float64
	w, err := makeSets(m.Backend, 1, func(a *arena) func() {
		x, dst := a.alloc(1, threads), a.alloc(1, threads)
		half := make([]float32, threads)
		for i := range half {
			half[i] = 0.5
		}
		m.Backend.Upload(x, half)
		return func() { flops = be.BenchFMA(dst, x, loops) }
	})
	if err != nil {
		return 0, err
	}
	defer w.Free()
	samples, err := m.Measure(w.Ops)
	if err != nil {
		return 0, err
	}
	us, _, _ := middle(samples)
	return flops / us / 1e6, nil
}

// passTime returns how long a pass over so many bytes takes, in microseconds, between what was measured.
func (c *Ceilings) passTime(bytes float64) float64 {
	p := c.Passes
	if len(p) == 0 {
		return 0
	}
	if bytes <= p[0].Bytes {
		return p[0].Time
	}
	for i := 1; i < len(p); i++ {
		if bytes <= p[i].Bytes {
			t := (bytes - p[i-1].Bytes) / (p[i].Bytes - p[i-1].Bytes)
			return p[i-1].Time + t*(p[i].Time-p[i-1].Time)
		}
	}
	last := p[len(p)-1]
	return last.Time * bytes / last.Bytes
}
