package backendtest

import (
	"fmt"
	"testing"

	"cera/backend"
)

// NormBench says what BenchNorms compares.
type NormBench struct {
	// Variants are ways of a backend to run its norms, tried in turn. Without any, it runs them as it does.
	Variants []NormVariant
	// Ceiling is an elementwise pass that reads src and residual and writes src and dst, all of one size and each a buffer
	// of its own: what a norm moves, and nothing else. Without it, it is a GatedAct over as many bytes.
	Ceiling func(dst, src, residual backend.Tensor)
}

// NormVariant is one way to run the norms.
type NormVariant struct {
	Name string
	Use  func(n int) bool // makes the backend run norms so from here on; false where it cannot with rows of n
}

// normBench is a benchmark of a norm kernel.
type normBench struct {
	name    string
	streams int // matrices that an op reads or writes
	own     int // matrices that it works on
	largest int // matrices in one buffer
	// op allocates what an op on [rows, n] works on.
	op func(be backend.Backend, rows, n int) (run func(), all []backend.Tensor)
}

// BenchNorms benchmarks the norms, each shape beside the ceiling, a line for each shape, kernel and variant. Where there are
// many rows, ops work on several sets of tensors in turn, beyond what a cache holds; with one row, each works on what the
// one before left, and its time is that of a step that depends on another.
func BenchNorms(b *testing.B, be backend.Backend, o NormBench) {
	kernels := []normBench{
		{"add_rmsnorm_batch", 4, 3, 1, addRMSNormOp},
		{"fused_residual_rms_norm", 4, 3, 4, fusedNormOp},
	}
	for _, s := range []struct{ rows, n int }{
		{1, 4096}, {512, 4096}, {16384, 4096},
		{4096, 4095}, {4096, 5120}, {4096, 7168}, {4096, 8193}, {4096, 16384},
	} {
		b.Run(fmt.Sprintf("%dx%d", s.rows, s.n), func(b *testing.B) {
			ceiling := normBench{"ceiling", 4, 3, 1, o.ceilingOp}
			if o.Ceiling == nil {
				ceiling.largest = 2
			}
			ceiling.bench(b, be, s.rows, s.n, []NormVariant{{"elementwise", func(int) bool { return true }}})
			for _, k := range kernels {
				k.bench(b, be, s.rows, s.n, o.Variants)
			}
		})
	}
	// The heads of a few hundred tokens.
	b.Run("32768x128", func(b *testing.B) {
		normBench{"rmsnorm_batch", 2, 2, 1, rmsNormOp}.bench(b, be, 32768, 128, o.Variants)
	})
}

const (
	cycleBytes = 512 << 20 // that the sets of tensors of a benchmark have together, several times what a cache holds
	maxSets    = 16
)

// bench runs one kernel on one shape in all variants.
func (k normBench) bench(b *testing.B, be backend.Backend, rows, n int, variants []NormVariant) {
	if len(variants) == 0 {
		variants = []NormVariant{{"chosen", func(int) bool { return true }}}
	}
	b.Run(k.name, func(b *testing.B) {
		bytes := 4 * int64(rows) * int64(n)
		if most := be.Info().MaxBytes; int64(k.largest)*bytes > most {
			b.Skipf("SKIPPED: %d matrices of %d bytes do not fit a tensor of %d", k.largest, bytes, most)
		}
		sets := 1
		if rows > 1 && !be.Info().Software {
			sets = max(1, min(maxSets, int(cycleBytes/(int64(k.own)*bytes))))
		}
		var ops []func()
		for range sets {
			run, all := k.op(be, rows, n)
			ops = append(ops, run)
			defer func() {
				for _, t := range all {
					be.Free(t)
				}
			}()
		}
		for _, v := range variants {
			if !v.Use(n) {
				continue
			}
			b.Run(v.Name, func(b *testing.B) {
				v.Use(n)
				// Recorded once: the host would take longer for an op on one row than the device.
				again := make([]func(), len(ops))
				for i, run := range ops {
					again[i] = be.Record(run)
				}
				if err := be.Flush(); err != nil { // what compiles a kernel is not to count
					b.Fatal(err)
				}
				i := 0
				timed(b, be, float64(k.streams)*float64(bytes), "GB/s", func() { again[i%len(again)](); i++ })
			})
		}
	})
}

// spread allocates [rows, n] and fills it with some random rows again and again.
func spread(be backend.Backend, rows, n int, scale float64) backend.Tensor {
	const some = 64
	t := be.Alloc("bench", rows, n)
	block := put(be, min(some, rows), n, n, random(1, scale))
	for lo := 0; lo < rows; lo += some {
		hi := min(lo+some, rows)
		be.Copy(t.Slice(lo, hi), block.t.Slice(0, hi-lo))
	}
	block.free()
	return t
}

func (o NormBench) ceilingOp(be backend.Backend, rows, n int) (func(), []backend.Tensor) {
	if o.Ceiling == nil {
		total := n * 4 / 3 // three streams of longer rows in place of four
		x, y, z := spread(be, rows, total, 1), spread(be, rows, total, 1), be.Alloc("bench", rows, total)
		return func() { be.GatedAct(z, x, y, backend.SiLU) }, []backend.Tensor{x, y, z}
	}
	src, residual, dst := spread(be, rows, n, 1), spread(be, rows, n, 1e-3), be.Alloc("bench", rows, n)
	return func() { o.Ceiling(dst, src, residual) }, []backend.Tensor{src, residual, dst}
}

func rmsNormOp(be backend.Backend, rows, n int) (func(), []backend.Tensor) {
	src, w, dst := spread(be, rows, n, 1), spread(be, 1, n, 1), be.Alloc("bench", rows, n)
	return func() { be.RMSNorm(dst, src, w, 1e-5) }, []backend.Tensor{src, w, dst}
}

func addRMSNormOp(be backend.Backend, rows, n int) (func(), []backend.Tensor) {
	src, residual, dst := spread(be, rows, n, 1), spread(be, rows, n, 1e-3), be.Alloc("bench", rows, n)
	w := spread(be, 1, n, 1)
	return func() { be.AddRMSNorm(dst, src, residual, w, 1e-5) }, []backend.Tensor{src, residual, dst, w}
}

func fusedNormOp(be backend.Backend, rows, n int) (func(), []backend.Tensor) {
	arena := spread(be, 3*rows+2, n, 1)
	view := func(lo, count int) backend.Tensor { return arena.Slice(lo, lo+count) }
	p := backend.FusedNorm{
		In: view(0, rows), Residual: view(rows, rows), Out: view(2*rows, rows), Sum: view(0, rows),
		Gamma: view(3*rows, 1), Beta: view(3*rows+1, 1), Eps: 1e-5,
	}
	return func() { be.FusedResidualRMSNorm(p) }, []backend.Tensor{arena}
}
