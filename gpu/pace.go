//go:build cgo

package gpu

import (
	"time"

	"cera/shaders"
)

// Submits are kept short, so that the watchdog of a desktop, which ends work of seconds, never sees one, and so that
// what the desktop itself draws gets its turn. How long work takes is not known beforehand: it is counted in
// multiplications, and how many of these the device does in a second is measured on submits that are waited for.
const (
	// submitTime is what a submit is meant to take. Kernels differ by a few times in how fast they multiply: the limit
	// is submitLimit.
	submitTime  = 50 * time.Millisecond
	submitLimit = 200 * time.Millisecond
	// slowest is what is assumed before anything was measured, in multiplications a second: a tenth of a small GPU.
	slowest = 2e9
	// sure is how often the rate is measured by waiting for a submit before it is believed. A first submit is too short
	// to tell, and the ones after it are as long as the ones before them allow.
	sure = 4
)

// pace is how fast a device works, as far as it is known.
type pace struct {
	rate     float64                             // multiplications a second
	measured int                                 // submits that were waited for on purpose
	work     float64                             // recorded and not yet submitted
	flying   float64                             // submitted since the device was idle
	since    time.Time                           // when that began
	now      func() time.Time                    // of tests
	took     func(work float64, d time.Duration) // called after each submit that was waited for; of tests
}

func (p *pace) clock() time.Time {
	if p.now != nil {
		return p.now()
	}
	return time.Now()
}

// budget returns how much work one submit takes.
func (p *pace) budget() float64 {
	rate := p.rate
	if rate == 0 {
		rate = slowest
	}
	return rate * submitTime.Seconds()
}

// full tells whether what is recorded is to be submitted before more work is added.
func (p *pace) full(more float64) bool { return p.work > 0 && p.work+more > p.budget() }

// submitted notes that what was recorded is on its way, and tells whether it is to be waited for.
func (p *pace) submitted() bool {
	if p.flying == 0 {
		p.since = p.clock()
	}
	long := p.work >= p.budget()/2
	p.flying += p.work
	p.work = 0
	return long && p.measured < sure
}

// idle notes that the device has done everything. The time since the first submit is at least what the work took: a
// higher rate than the one known is true, a lower one only where the work was long enough for the rest not to count.
func (p *pace) idle() {
	if p.flying == 0 {
		return
	}
	work, took := p.flying, p.clock().Sub(p.since)
	p.flying = 0
	if p.took != nil {
		p.took(work, took)
	}
	if took <= 0 {
		return
	}
	if rate := work / took.Seconds(); rate > p.rate || took > submitTime {
		p.rate = rate
	}
}

// memoryBound is how many rows a matrix could be multiplied with while it is read from memory, at least.
const memoryBound = 8

// workOf estimates the multiplications of a dispatch with these parameters. Kernels without products count their
// threads.
func workOf(params any, grid shaders.Grid) float64 {
	product := func(n ...uint32) float64 {
		v := 1.0
		for _, x := range n {
			v *= float64(x)
		}
		return v
	}
	switch p := params.(type) {
	case shaders.MatVecParams:
		return product(p.K, p.M, max(p.Rows, memoryBound))
	case shaders.MatMulPanelParams:
		return product(p.Depth, p.M, p.Rows)
	case shaders.MatVecPackedParams:
		return product(4, p.K4, p.M, max(p.Tokens, memoryBound))
	case shaders.ExpertMatMulParams:
		return product(p.K, p.M, p.Slots)
	case shaders.ExpertVecParams:
		return product(4, p.K4, p.M, grid.Z)
	case shaders.ExpertPanelParams:
		return product(p.Depth, p.M, p.Slots)
	case shaders.AttentionParams:
		positions := p.Positions
		if p.Window > 0 {
			positions = min(positions, p.Window)
		}
		return product(2, p.Rows, p.NHead, p.HeadDim, positions)
	case shaders.BenchFMAParams: // a few times as fast as a product, which waits for memory
		return product(16, p.Count, p.Loops)
	case shaders.BenchPassParams: // as long as a product takes where each word is used by a few rows
		return product(4*memoryBound, p.Fours)
	}
	return 256 * product(grid.X, grid.Y, grid.Z)
}
