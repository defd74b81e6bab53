package backendtest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"cera/backend"
	"cera/weights"
)

// flushEvery is how many ops a benchmark records between two waits: enough to keep a device busy, few enough to stay
// clear of watchdogs.
const flushEvery = 64

// BenchAll runs the benchmarks on the backend that open returns. Memory-bound ops report GB/s of the tensors they must
// read and write once, beside "ceiling", a plain elementwise pass of the same run; matmul reports TFLOP/s.
func BenchAll(b *testing.B, open func(b *testing.B) backend.Backend) {
	be := open(b)
	for _, rows := range []int{1, 512, 16384} {
		b.Run(fmt.Sprintf("ceiling/%dx4096", rows), func(b *testing.B) { benchCeiling(b, be, rows, 4096) })
		b.Run(fmt.Sprintf("add_rmsnorm_batch/%dx4096", rows), func(b *testing.B) { benchAddRMSNorm(b, be, rows, 4096) })
		b.Run(fmt.Sprintf("fused_residual_rms_norm/%dx4096", rows), func(b *testing.B) { benchFusedNorm(b, be, rows, 4096) })
	}
	for _, n := range []int{4095, 5120, 7168, 8193, 16384} {
		b.Run(fmt.Sprintf("add_rmsnorm_batch/4096x%d", n), func(b *testing.B) { benchAddRMSNorm(b, be, 4096, n) })
	}
	for _, f := range []backend.Format{backend.F16, backend.Q8_0, backend.Q4_0} {
		for _, rows := range []int{1, 512} {
			b.Run(fmt.Sprintf("matmul/%s/%dx14336x4096", f, rows), func(b *testing.B) { benchMatMul(b, be, f, rows, 14336, 4096) })
		}
	}
}

// timed runs op b.N times with the device in step, after a warm-up that lifts its clocks, and reports the rate of what
// one op moves or computes, in units of 1e9.
func timed(b *testing.B, be backend.Backend, perOp float64, unit string, op func()) {
	b.Helper()
	if b.N > 1 {
		for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
			op()
			if err := be.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ResetTimer()
	for i := range b.N {
		op()
		if i%flushEvery == flushEvery-1 {
			if err := be.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := be.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(perOp*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}

// benchCeiling is an elementwise op over as many bytes as the norms move: three streams of 4/3 the rows.
func benchCeiling(b *testing.B, be backend.Backend, rows, n int) {
	total := max(1, rows*4/3)
	x, y, z := put(be, total, n, n, random(1, 1)), put(be, total, n, n, random(2, 1)), poisoned(be, total, n, n)
	timed(b, be, 3*4*float64(total*n), "GB/s", func() { be.GatedAct(z.t, x.t, y.t, backend.SiLU) })
	freeAll(x, y, z)
}

func benchAddRMSNorm(b *testing.B, be backend.Backend, rows, n int) {
	x, d, w, h := put(be, rows, n, n, random(1, 1)), put(be, rows, n, n, random(2, 1e-3)), put(be, 1, n, n, random(3, 1)), poisoned(be, rows, n, n)
	timed(b, be, 4*4*float64(rows*n), "GB/s", func() { be.AddRMSNorm(h.t, x.t, d.t, w.t, 1e-5) })
	freeAll(x, d, w, h)
}

func benchFusedNorm(b *testing.B, be backend.Backend, rows, n int) {
	arena := put(be, 3*rows+2, n, n, random(1, 1))
	view := func(lo, count int) backend.Tensor { return arena.t.Slice(lo, lo+count) }
	p := backend.FusedNorm{
		In: view(0, rows), Residual: view(rows, rows), Out: view(2*rows, rows), Sum: view(0, rows),
		Gamma: view(3*rows, 1), Beta: view(3*rows+1, 1), Eps: 1e-5,
	}
	timed(b, be, 4*4*float64(rows*n), "GB/s", func() { be.FusedResidualRMSNorm(p) })
	freeAll(arena)
}

// benchMatMul cycles through copies of the weight, so that no cache answers. The rows of a copy are 64 random ones again
// and again: zeros would run at another speed.
func benchMatMul(b *testing.B, be backend.Backend, f backend.Format, rows, m, k int) {
	values, value := make([]float32, 64*k), random(4, 1)
	for i := range values {
		values[i] = value(0, i)
	}
	some := make([]byte, 64*f.RowBytes(k))
	if err := weights.Encode(some, f, values); err != nil {
		b.Fatal(err)
	}
	ws := make([]backend.Weight, 4)
	for i := range ws {
		ws[i] = be.LoadWeight("bench", f, m, k, bytes.Repeat(some, m/64))
	}
	x, y := put(be, rows, k, k, random(1, 1)), poisoned(be, rows, m, m)
	i := 0
	unit, perOp := "GFLOP/s", 2*float64(rows)*float64(m)*float64(k)
	if rows == 1 {
		unit, perOp = "GB/s", float64(m*f.RowBytes(k))
	}
	timed(b, be, perOp, unit, func() { be.MatMul(y.t, x.t, ws[i%len(ws)]); i++ })
	for _, w := range ws {
		be.FreeWeight(w)
	}
	freeAll(x, y)
}

func freeAll(list ...*operand) {
	for _, o := range list {
		o.free()
	}
}
