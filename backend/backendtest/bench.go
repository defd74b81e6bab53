package backendtest

import (
	"fmt"
	"testing"
	"time"

	"cera/backend"
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
		b.Run(fmt.Sprintf("layer_norm/%dx4096", rows), func(b *testing.B) { benchLayerNorm(b, be, rows, 4096) })
	}
	for _, n := range []int{4095, 5120, 7168, 8193, 16384} {
		b.Run(fmt.Sprintf("add_rmsnorm_batch/4096x%d", n), func(b *testing.B) { benchAddRMSNorm(b, be, 4096, n) })
	}
	for _, f := range []backend.Format{backend.F16, backend.Q8_0, backend.Q4_0} {
		for _, rows := range []int{1, 512} {
			b.Run(fmt.Sprintf("matmul/%s/%dx14336x4096", f, rows), func(b *testing.B) { benchMatMul(b, be, f, rows, 14336, 4096) })
			b.Run(fmt.Sprintf("expert_matmul/%s/%dx8of64x1024x2048", f, rows), func(b *testing.B) { benchExperts(b, be, f, rows, 8, 64, 1024, 2048) })
		}
	}
	for _, rows := range []int{1, 512} {
		b.Run(fmt.Sprintf("route/%dx8of128", rows), func(b *testing.B) { benchRoute(b, be, rows, 8, 128) })
	}
	for _, c := range []struct{ rows, ctx, window int }{{1, 4096, 0}, {1, 4096, 1024}, {512, 1024, 0}, {512, 1024, 128}} {
		b.Run(fmt.Sprintf("attention/%dof%d/window%d", c.rows, c.ctx, c.window), func(b *testing.B) { benchAttention(b, be, c.rows, c.ctx, c.window) })
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

func benchLayerNorm(b *testing.B, be backend.Backend, rows, n int) {
	x, w, bias := put(be, rows, n, n, random(1, 1)), put(be, 1, n, n, random(2, 1)), put(be, 1, n, n, random(3, 1))
	h := poisoned(be, rows, n, n)
	timed(b, be, 2*4*float64(rows*n), "GB/s", func() { be.LayerNorm(h.t, x.t, w.t, bias.t, 1e-5) })
	freeAll(x, w, bias, h)
}

func freeAll(list ...*operand) {
	for _, o := range list {
		o.free()
	}
}
