//go:build cgo

package gpu

import (
	"math"
	"testing"
	"time"

	"cera/backend"
)

// TestLongSubmit records work for which a software adapter needs more than the five seconds after which the library's
// own wait takes it for done: the result must be that of the finished work.
func TestLongSubmit(t *testing.T) {
	b := open(t, Options{MatVecRows: -1})
	const rows, n = 256, 1024
	x := filled(t, b, "x", rows, n, func(r, i int) float32 { return noise(1, r, i) })
	data := make([]byte, n*n*4)
	for i := range data {
		if data[i] = byte(i * 7); i%4 == 3 {
			data[i] = 0x3f | byte(i)&0x80 // finite, about 1
		}
	}
	w := b.LoadWeight("w", backend.F32, n, n, data)
	y := b.Alloc("y", rows, n)
	run := func() time.Duration {
		start := time.Now()
		b.MatMul(y, x, w)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	run()
	once := run()
	want := read(t, b, y)
	zero := b.Alloc("zero", rows, n)

	const long = 6500 * time.Millisecond
	count := min(int(long/once)+1, maxRecorded/2) // one submit, on any device
	b.Copy(y, zero)
	b.pace = pace{rate: 1e18, measured: sure} // however long it takes
	for range count {
		b.MatMul(y, x, w)
	}
	start := time.Now()
	got := read(t, b, y)
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("after %v in one submit, word %d is %g, want %g", time.Since(start), i, got[i], want[i])
		}
	}
	t.Logf("one submit of %d matmuls took %v", count, time.Since(start))
	b.FreeWeight(w)
	for _, x := range []backend.Tensor{x, y, zero} {
		b.Free(x)
	}
}
