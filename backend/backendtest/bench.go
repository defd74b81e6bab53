package backendtest

import (
	"fmt"
	"testing"
	"time"

	"cera/backend"
	"cera/kernelbench"
)

// BenchAll runs the benchmarks on the backend that open returns. Memory-bound ops report GB/s of the tensors they must
// read and write once, the norms beside "ceiling", an elementwise pass of the same run; matmul reports TFLOP/s.
func BenchAll(b *testing.B, open func(b *testing.B) backend.Backend) {
	be := open(b)
	BenchNorms(b, be, nil)
	for _, rows := range []int{1, 512, 16384} {
		b.Run(fmt.Sprintf("layer_norm/%dx4096", rows), func(b *testing.B) { benchCase(b, be, kernelbench.LayerNormCase(rows, 4096), nil) })
	}
	for _, f := range []backend.Format{backend.F16, backend.Q8_0, backend.Q4_0} {
		for _, rows := range []int{1, 512} {
			b.Run(fmt.Sprintf("matmul/%s/%dx14336x4096", f, rows), func(b *testing.B) {
				benchCase(b, be, kernelbench.MatMulCase(f, rows, 14336, 4096), nil)
			})
			b.Run(fmt.Sprintf("expert_matmul/%s/%dx8of64x1024x2048", f, rows), func(b *testing.B) {
				benchCase(b, be, kernelbench.ExpertShape{Rows: rows, Used: 8, Experts: 64, M: 1024, K: 2048}.Case(f), nil)
			})
		}
	}
	for _, rows := range []int{1, 512} {
		b.Run(fmt.Sprintf("route/%dx8of128", rows), func(b *testing.B) { benchRoute(b, be, rows, 8, 128) })
	}
	BenchAttention(b, be, AttentionBench{})
}

const (
	warmUp     = 100 * time.Millisecond // of work lifts the clocks of a device that was idle
	stayWarm   = 10 * time.Millisecond  // of work where it was not
	coolsAfter = 50 * time.Millisecond  // without work a device may count as idle
	// waitAfter is how much work lies between two waits: a wait and the start after it cost about a millisecond, which
	// is not to count; but nobody is to take the work for a hang.
	waitAfter = 250 * time.Millisecond
)

// lastBusy is when a benchmark last had work done.
var lastBusy time.Time

// warm runs op until the device is at full speed, and returns how many ops to record between two waits.
func warm(b *testing.B, be backend.Backend, op func()) (every int) {
	b.Helper()
	need := warmUp
	if time.Since(lastBusy) < coolsAfter {
		need = stayWarm
	}
	for ops, start := 1, time.Now(); ; ops *= 2 {
		lap := time.Now()
		for range ops {
			op()
		}
		if err := be.Flush(); err != nil {
			b.Fatal(err)
		}
		if time.Since(start) >= need {
			return max(1, int(waitAfter*time.Duration(ops)/time.Since(lap)))
		}
	}
}

// timed runs op b.N times with the device kept busy, and reports the time of one and the rate of what it moves or
// computes, in units of 1e9.
func timed(b *testing.B, be backend.Backend, perOp float64, unit string, op func()) {
	b.Helper()
	every := 1
	if b.N > 1 {
		every = warm(b, be, op)
	}
	b.ResetTimer()
	for i := range b.N {
		op()
		if i%every == every-1 {
			if err := be.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := be.Flush(); err != nil {
		b.Fatal(err)
	}
	lastBusy = time.Now()
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e6, "us")
	b.ReportMetric(perOp*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}

func freeAll(list ...*operand) {
	for _, o := range list {
		o.free()
	}
}
