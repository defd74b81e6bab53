package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cera/backend"
	"cera/gpu"
	"cera/layers"
)

// ErrNoProfile says that the device cannot tell when an op begins and ends.
var ErrNoProfile = errors.New("it has no timestamps to profile with; choose a GPU with --device gpu")

// profiler is a backend whose commands can be timed; see gpu.Backend.
type profiler interface {
	Profile(on bool) error
	Mark(site string)
	MarkEnd()
	Timings() ([]gpu.Timing, error)
}

// Profile is where the time of one test of a benchmark went. Times are in microseconds.
type Profile struct {
	Test     string         `json:"test"`
	Passes   int            `json:"passes"`             // forward passes that were timed
	Commands int            `json:"commands"`           // dispatches, copies and clears of a pass
	Plain    float64        `json:"pass_us"`            // of a pass without a profile, by the host's clock
	Profiled float64        `json:"profiled_us"`        // of a pass with it, by the host's clock
	Busy     float64        `json:"busy_us"`            // of a pass, in commands
	Gaps     float64        `json:"gap_us"`             // of a pass, between commands of one submit
	Between  float64        `json:"between_submits_us"` // of a pass, between submits, where the device may wait for the host
	Ops      []ProfileOp    `json:"ops"`                // longest first
	Layers   []ProfileLayer `json:"layers"`             // in forward order
	Events   []ProfileEvent `json:"-"`                  // every command
}

// ProfileOp is what one kind of op took in all passes.
type ProfileOp struct {
	Op       string   `json:"op"`      // in words, as "matmul attn_q+attn_k+attn_v"
	Kernels  []string `json:"kernels"` // that ran for it
	Count    int      `json:"count"`   // how often it ran
	Commands int      `json:"commands"`
	Total    float64  `json:"total_us"`
	Share    float64  `json:"share"`     // of the time in commands, 0 to 1
	Median   float64  `json:"median_us"` // of one
	Gap      float64  `json:"gap_us"`    // before its commands, all of them together
	GBps     float64  `json:"gb_per_s"`  // of what it must read and write once; 0: not known
	TFLOPs   float64  `json:"tflop_per_s"`
}

// ProfileLayer is what one block took, on average over the passes.
type ProfileLayer struct {
	Layer    int     `json:"layer"`    // -1: before and after the blocks
	Commands float64 `json:"commands"` // of a pass
	Time     float64 `json:"us"`       // of a pass
	Gap      float64 `json:"gap_us"`   // before its commands, of a pass
}

// ProfileEvent is one command.
type ProfileEvent struct {
	gpu.Timing
	Name  string  // the op in words
	Layer int     // -1 outside the blocks
	Pass  int     // -1 before the first
	First bool    // of the commands of its op
	Gap   float64 // nanoseconds since the end of the one before, in the same submit
}

// runsAlone is how often the same work runs without a profile; the median counts.
const runsAlone = 3

// Profile runs the tests of a benchmark with every command timed by the device, each after a run that warms up. Timed
// commands have a pass of their own, which makes the gaps longer than they are: Plain says what the same work takes
// without. The error is a DeviceError around ErrNoProfile where the device has no timestamps.
func (e *Engine) Profile(ctx context.Context, o BenchOptions, progress func(test string)) ([]*Profile, error) {
	be, ok := e.be.(profiler)
	if !ok {
		return nil, deviceError(fmt.Errorf("%s: %w", e.Info().Adapter, ErrNoProfile))
	}
	var profiles []*Profile
	for _, t := range e.benchTests(ctx, o) {
		progress(t.name)
		p, err := e.profile(ctx, be, t)
		if err != nil {
			return profiles, fmt.Errorf("%s: %w", t.name, err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// locked runs f while it has the device.
func (e *Engine) locked(f func() error) error {
	if err := e.turn.take(); err != nil {
		return err
	}
	defer e.turn.Unlock()
	return f()
}

func (e *Engine) profile(ctx context.Context, be profiler, t benchTest) (*Profile, error) {
	if err := e.fill(ctx, t); err != nil {
		return nil, err
	}
	timed := func() (float64, error) {
		start := time.Now()
		err := t.run()
		return float64(time.Since(start).Nanoseconds()) / 1e3 / float64(t.passes), err
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	alone := make([]float64, runsAlone)
	for i := range alone {
		var err error
		if alone[i], err = timed(); err != nil {
			return nil, err
		}
	}
	slices.Sort(alone)

	w := &walks{be: be, sites: e.main.state.OpSites()}
	if err := e.locked(func() error { return be.Profile(true) }); err != nil {
		return nil, deviceError(err)
	}
	e.main.state.Watch(w.saw)
	timings, took, err := e.timedRuns(be, w, t, timed)
	e.main.state.Watch(nil)
	if off := e.locked(func() error { return be.Profile(false) }); err == nil {
		err = deviceError(off)
	}
	if err != nil {
		return nil, err
	}
	p := &Profile{Test: t.name, Passes: t.passes, Plain: alone[len(alone)/2], Profiled: took}
	e.analyze(p, t, w, timings)
	return p, nil
}

// timedRuns runs a test twice, for recordings are made anew in the first, and returns what the second took.
func (e *Engine) timedRuns(be profiler, w *walks, t benchTest, timed func() (float64, error),
) (timings []gpu.Timing, took float64, err error) {
	for range 2 {
		w.begin()
		if took, err = timed(); err != nil {
			return nil, 0, err
		}
		err = e.locked(func() (err error) {
			timings, err = be.Timings()
			return err
		})
		if err != nil {
			return nil, 0, deviceError(err)
		}
	}
	return timings, took, nil
}

// walks notes the sizes of what the walks through a model make, and marks the commands with it.
type walks struct {
	be    profiler
	sites []layers.OpSite
	words []map[string]int // of each walk since begin, by site
	last  []map[string]int // of those before: a replayed recording makes no walk
}

func (w *walks) begin() {
	w.be.MarkEnd()
	if len(w.words) > 0 {
		w.last, w.words = w.words, nil
	}
}

func (w *walks) saw(site string, t backend.Tensor) {
	if site == w.sites[0].Site {
		w.words = append(w.words, map[string]int{})
	}
	if len(w.words) > 0 {
		w.words[len(w.words)-1][site] = t.Rows * t.N
	}
	w.be.Mark(site)
}

// pass returns the sizes of a walk: those of its last recording where it was replayed.
func (w *walks) pass(i int) map[string]int {
	list := w.words
	if len(list) == 0 {
		list = w.last
	}
	return list[min(max(i, 0), len(list)-1)]
}

// opName says in words what the ops of sites do together.
func opName(ops []layers.OpSite, op string) string {
	if len(ops) == 0 {
		return op
	}
	var names []string
	product := "" // the words of products, which are joined
	for _, o := range ops {
		kind, weight, ok := strings.Cut(o.Op, "matmul ")
		switch last := len(names) - 1; {
		case slices.Contains(names, o.Op):
		case ok && product == kind && last >= 0:
			names[last] += "+" + weight
		default:
			names = append(names, o.Op)
		}
		product = ""
		if ok {
			product = kind
		}
	}
	return strings.Join(names, ", ")
}
