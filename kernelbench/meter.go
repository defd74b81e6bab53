package kernelbench

import (
	"slices"
	"time"

	"cera/backend"
)

const (
	warmUp     = 150 * time.Millisecond // of work lifts the clocks of a device that was idle
	coolsAfter = 50 * time.Millisecond  // without work a device may count as idle
)

// Meter takes the time of ops with the device kept busy.
type Meter struct {
	Backend backend.Backend
	MinTime time.Duration // of one sample: a wait and the start after it cost part of a millisecond, which is not to count
	Samples int

	busy time.Time // when the device last worked
}

// Work is ops to run in turn, each on memory of its own where one on its own would be answered by a cache.
type Work struct {
	Ops  []func()
	free []func()
}

// Free gives back what the ops work on.
func (w *Work) Free() {
	for _, f := range slices.Backward(w.free) {
		f()
	}
	w.free = nil
}

// Measure returns what one of the ops takes, in microseconds, in each sample.
func (m *Meter) Measure(ops []func()) ([]float64, error) {
	be := m.Backend
	// What compiles a kernel is not to count. Twice: a backend may split work less once it knows how fast it is.
	for range 2 {
		for _, op := range ops {
			op()
		}
		if err := be.Flush(); err != nil {
			return nil, err
		}
	}
	// Recorded: the host would take longer for a small op than the device.
	again := be.Record(func() {
		for _, op := range ops {
			op()
		}
	})
	if err := be.Flush(); err != nil {
		return nil, err
	}
	run := func(rounds int) (time.Duration, error) {
		start := time.Now()
		for range rounds {
			again()
		}
		err := be.Flush()
		return time.Since(start), err
	}
	need := m.MinTime / 2
	if time.Since(m.busy) > coolsAfter && m.MinTime >= coolsAfter {
		need = warmUp
	}
	rounds, start := 1, time.Now()
	for {
		took, err := run(rounds)
		if err != nil {
			return nil, err
		}
		if time.Since(start) >= need && took >= m.MinTime/4 {
			rounds = max(1, int(float64(rounds)*float64(m.MinTime)/float64(took)+1))
			break
		}
		if took < m.MinTime {
			rounds *= 2
		}
	}
	samples := make([]float64, m.Samples)
	for i := range samples {
		took, err := run(rounds)
		if err != nil {
			return nil, err
		}
		samples[i] = float64(took.Nanoseconds()) / 1e3 / float64(rounds*len(ops))
	}
	m.busy = time.Now()
	return samples, nil
}

// middle returns the median of samples, the least and the most.
func middle(samples []float64) (median, least, most float64) {
	s := slices.Sorted(slices.Values(samples))
	return s[len(s)/2], s[0], s[len(s)-1]
}
