// Package cpufast is the cpu backend for speed: the ops that take the time accumulate in float32, in vectors where the
// processor has AVX2 or AVX-512 and the program was built with cgo, and in pure Go elsewhere. All other ops are the
// reference's, of package cpu. The result of an op does not depend on the number of cores.
package cpufast

import (
	"cera/cpu"
	"cera/internal/cores"
)

// New returns a backend on the best kernels that this processor runs.
func New() *cpu.Backend {
	if all := vectors(); len(all) > 0 {
		return open(&all[0])
	}
	return open(nil)
}

// open returns a backend on v, or in pure Go where v is nil.
func open(v *vector) *cpu.Backend {
	f := &fast{v: v}
	k := cpu.Kernels{Backend: "cpu-fast", Driver: "pure Go, float32 accumulation", Pack: f.pack, MatMul: f.matmul}
	if v != nil {
		k.Driver = v.name + ", float32 accumulation"
		k.Attend, k.Act = f.attend, v.act
	}
	return cpu.NewWith(k)
}

// fast holds what the kernels of one backend keep between ops.
type fast struct {
	v       *vector
	scratch []scratch // of each worker
	columns []float32 // x as the vector kernels read it
	pieces  []piece   // of the products that run
}

// scratch is the memory of one worker.
type scratch struct {
	row, panel, scores []float32
	_                  [64]byte // neighbours write to other cache lines
}

// sized returns n words of *s, which grows where it is shorter. What they hold is arbitrary.
func sized(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	return (*s)[:n]
}

// parallel calls do for 0 to n-1, on all cores; see cores.Each.
func (f *fast) parallel(n int, do func(s *scratch, i int)) {
	for len(f.scratch) < cores.Workers(n, 1) {
		f.scratch = append(f.scratch, scratch{})
	}
	cores.Each(n, 1, func(w int) func(lo, hi int) {
		s := &f.scratch[w]
		return func(i, _ int) { do(s, i) }
	})
}
