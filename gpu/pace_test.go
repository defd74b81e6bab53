//go:build cgo

package gpu

import (
	"testing"
	"time"

	"cera/backend"
	"cera/shaders"
)

// TestPace runs devices of known speeds by a clock of the test's own: no submit is longer than the limit, though
// kernels of half the speed are among the work, and once the speed is known submits are about as long as they are meant
// to be.
func TestPace(t *testing.T) {
	for _, rate := range []float64{1e10, 1e11, 1e13} { // multiplications a second
		now := time.Unix(0, 0)
		p := pace{now: func() time.Time { return now }}
		const overhead = 300 * time.Microsecond
		submits, waits := 0, 0
		var longest, busy time.Duration // busy: of the device, before it is idle
		submit := func() {
			took := time.Duration(p.work/rate*1e9) + overhead
			if submits%3 == 2 {
				took += took - overhead
			}
			longest, busy = max(longest, took), busy+took
			submits++
			if p.submitted() {
				now = now.Add(busy)
				busy = 0
				p.idle()
				p.measured++
				waits++
			}
		}
		for range 20000 {
			const work = 1e8
			if p.full(work) {
				submit()
			}
			p.work += work
		}
		if longest > submitLimit {
			t.Errorf("%g a second: a submit takes %v", rate, longest)
		}
		if waits > sure {
			t.Errorf("%g a second: %d submits were waited for", rate, waits)
		}
		if got := p.budget() / rate; got < submitTime.Seconds()/4 || got > 2*submitTime.Seconds() {
			t.Errorf("%g a second: a submit is meant to take %g s in the end", rate, got)
		}
	}
}

func TestWorkOf(t *testing.T) {
	grid := shaders.Grid{X: 3, Y: 2, Z: 1}
	for _, c := range []struct {
		params any
		want   float64
	}{
		{shaders.MatVecParams{K: 4096, M: 14336, Rows: 512}, 4096 * 14336 * 512},
		{shaders.MatVecPackedParams{K4: 1024, M: 128256, Tokens: 2}, 4096 * 128256 * 8},
		{shaders.ExpertMatMulParams{K: 10, M: 20, Slots: 30}, 6000},
		{shaders.ExpertPanelParams{Depth: 10, M: 4, Slots: 30}, 1200},
		{shaders.AttentionParams{Rows: 2, NHead: 32, HeadDim: 128, Positions: 4096}, 2 * 2 * 32 * 128 * 4096},
		{shaders.AttentionParams{Rows: 2, NHead: 32, HeadDim: 128, Positions: 4096, Window: 100},
			2 * 2 * 32 * 128 * 100},
		{shaders.AddParams{}, 6 * 256},
	} {
		if got := workOf(c.params, grid); got != c.want {
			t.Errorf("%+v: found %g, expected %g", c.params, got, c.want)
		}
	}
}

// A long recording goes to the device in several submits, products of many rows in several dispatches, and what comes
// out is the same to the bit.
func TestSubmitsAreShort(t *testing.T) {
	b := open(t, Options{MatVecRows: -1})
	const rows, n = 320, 512
	x := filled(t, b, "x", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	y := b.Alloc("y", rows, n)
	w := b.LoadWeight("w", backend.F32, n, n, encoded(backend.F32, n, n))
	run := func(rate float64) (out []float32, submits int) {
		b.pace = pace{rate: rate, measured: sure}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		b.pace.took = nil
		before := b.submits
		for range 4 {
			b.MatMul(y, x, w)
		}
		b.submit("test")
		return read(t, b, y), int(b.submits - before)
	}
	want, one := run(1e18)
	// 320 rows are 5 tiles; a rate at which a submit holds two of them.
	tile := float64(64 * n * n)
	got, many := run(2.5 * tile / submitTime.Seconds())
	sameBits(t, "in short submits", got, want)
	if one > 2 || many < 4*3 {
		t.Errorf("%d and %d submits, expected one or two and at least 12", one, many)
	}
	// Left to itself, it measures; on a software adapter a submit is then seldom longer than its limit.
	b.pace = pace{}
	longest := time.Duration(0)
	b.pace.took = func(_ float64, d time.Duration) { longest = max(longest, d) }
	for range 30 {
		b.MatMul(y, x, w)
		b.submit("test")
		b.idle()
	}
	if b.pace.rate == 0 || b.pace.measured == 0 {
		t.Errorf("the rate is %g after %d measurements", b.pace.rate, b.pace.measured)
	}
	t.Logf("%.3g multiplications a second, longest submit %v", b.pace.rate, longest)
	b.FreeWeight(w)
}
