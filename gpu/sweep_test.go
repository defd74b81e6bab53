//go:build cgo

package gpu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"cera/backend"
	"cera/shaders"
)

// TestSweep measures the variants of the matrix products on this machine's GPU, a line each, where CERA_SWEEP is set:
// for the choice in MatMul. Weights are several copies in turn, so that no cache holds them, and the card is kept busy.
func TestSweep(t *testing.T) {
	if os.Getenv("CERA_SWEEP") == "" {
		t.Skip("SKIPPED: a measurement, not a test; set CERA_SWEEP=1")
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	const copies = 256 << 20 // bytes of weights in turn
	for _, f := range []backend.Format{backend.Q4_0, backend.Q8_0, backend.Q4_K, backend.F16} {
		for _, s := range []struct{ k, m int }{{4096, 14336}, {14336, 4096}, {4096, 4096}, {4096, 6144}, {2048, 2048},
			{2048, 8192}, {8192, 2048}} {
			data := make([]byte, s.m*f.RowBytes(s.k))
			for i := range data {
				data[i] = byte(rng.Uint32()) & 0x3f // halves that are finite and not subnormal
				if data[i] < 8 {
					data[i] |= 8
				}
			}
			var ws []backend.Weight
			for range max(2, copies/len(data)) {
				ws = append(ws, b.LoadWeight("w", f, s.m, s.k, data))
			}
			x, dst := b.Alloc("x", 512, s.k), b.Alloc("dst", 512, s.m)
			measure := func(rows, ops int) float64 {
				times := make([]float64, 0, 5)
				for run := range 6 {
					start := time.Now()
					for i := range ops {
						b.MatMul(dst.Slice(0, rows), x.Slice(0, rows), ws[i%len(ws)])
					}
					if err := b.Flush(); err != nil {
						t.Fatal(err)
					}
					if run > 0 { // the first warms up
						times = append(times, time.Since(start).Seconds()/float64(ops)*1e6)
					}
				}
				slices.Sort(times)
				return times[len(times)/2]
			}
			for _, threads := range []int{32, 64, 128} {
				line := fmt.Sprintf("%v %d -> %d, 1 token, %3d threads:", f, s.k, s.m, threads)
				for _, rows := range []int{1, 2, 4} {
					b.tune = tuning{threads: threads, rows: rows}
					us := measure(1, 400)
					line += fmt.Sprintf("  %d rows %6.1f us %5.0f GB/s", rows, us, float64(len(data))/us/1e3)
				}
				fmt.Println(line)
			}
			b.tune = tuning{}
			if s.m == 14336 {
				fmt.Printf("%v %d -> %d, 8 tokens: %6.1f us\n", f, s.k, s.m, measure(8, 100))
				for _, tile := range []shaders.Tile{{Rows: 64, Cols: 64, Depth: 8}, {Rows: 64, Cols: 128, Depth: 8},
					{Rows: 64, Cols: 128, Depth: 16}, {Rows: 128, Cols: 128, Depth: 8}, {Rows: 128, Cols: 128, Depth: 16}} {
					b.tune.tile = tile
					us := measure(512, 10)
					fmt.Printf("%v %d -> %d, 512 tokens, tile %+v: %6.0f us %5.1f TFLOP/s\n", f, s.k, s.m, tile, us,
						2*512*float64(s.k)*float64(s.m)/us/1e6)
				}
				b.tune = tuning{}
			}
			for _, w := range ws {
				b.FreeWeight(w)
			}
			b.Free(x)
			b.Free(dst)
		}
	}
}
