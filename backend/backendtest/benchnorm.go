package backendtest

import (
	"fmt"
	"testing"

	"cera/backend"
	"cera/kernelbench"
)

// NormVariant is one way to run the norms.
type NormVariant struct {
	Name string
	Use  func(n int) bool // makes the backend run norms so from here on; false where it cannot with rows of n
}

// BenchNorms benchmarks the norms, each shape beside the ceiling, a line for each shape, kernel and variant: ways of a
// backend to run its norms, tried in turn; without any, it runs them as it does. Where there are many rows, ops work on
// several sets of tensors in turn, beyond what a cache holds; with one row, each works on what the one before left, and
// its time is that of a step that depends on another.
func BenchNorms(b *testing.B, be backend.Backend, variants []NormVariant) {
	of := func(n int) []variant {
		var list []variant
		for _, v := range variants {
			list = append(list, variant{v.Name, func() bool { return v.Use(n) }})
		}
		return list
	}
	for _, s := range []struct{ rows, n int }{
		{1, 4096}, {512, 4096}, {16384, 4096},
		{4096, 4095}, {4096, 5120}, {4096, 7168}, {4096, 8193}, {4096, 16384},
	} {
		b.Run(fmt.Sprintf("%dx%d", s.rows, s.n), func(b *testing.B) {
			b.Run("ceiling", func(b *testing.B) {
				benchCase(b, be, kernelbench.PassCase(s.rows, s.n),
					[]variant{{"elementwise", func() bool { return true }}})
			})
			for _, c := range []*kernelbench.Case{kernelbench.AddRMSNormCase(s.rows, s.n),
				kernelbench.FusedNormCase(s.rows, s.n)} {
				b.Run(c.Kernel, func(b *testing.B) { benchCase(b, be, c, of(s.n)) })
			}
		})
	}
	// The heads of a few hundred tokens.
	b.Run("32768x128/rmsnorm_batch", func(b *testing.B) {
		benchCase(b, be, kernelbench.RMSNormCase(32768, 128), of(128))
	})
}

// variant is one way of a backend to run a kernel; use makes it do so, and is false where it cannot.
type variant struct {
	name string
	use  func() bool
}

// benchCase runs one kernel on one shape in all variants.
func benchCase(b *testing.B, be backend.Backend, c *kernelbench.Case, variants []variant) {
	if len(variants) == 0 {
		variants = []variant{{"chosen", func() bool { return true }}}
	}
	unit, perOp := "GB/s", c.Bytes
	if c.Arithmetic {
		unit, perOp = "GFLOP/s", c.Flops
	}
	if most := be.Info().MaxBytes; c.Largest > most {
		b.Skipf("SKIPPED: a tensor of %d bytes does not fit the largest of %d", c.Largest, most)
	}
	w, err := c.Make(be)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Free()
	for _, v := range variants {
		if !v.use() {
			continue
		}
		b.Run(v.name, func(b *testing.B) {
			v.use()
			// Recorded once: the host would take longer for an op on one row than the device.
			again := make([]func(), len(w.Ops))
			for i, run := range w.Ops {
				again[i] = be.Record(run)
			}
			if err := be.Flush(); err != nil { // what compiles a kernel is not to count
				b.Fatal(err)
			}
			i := 0
			timed(b, be, perOp, unit, func() { again[i%len(again)](); i++ })
		})
	}
}
