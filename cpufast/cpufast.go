// Package cpufast is the cpu backend for speed: the ops that take the time accumulate in float32, in vectors where the
// processor has AVX2 or AVX-512 and the program was built with cgo, and in pure Go elsewhere. All other ops are the
// reference's, of package cpu. The result of an op does not depend on the number of cores.
package cpufast

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"cera/cpu"
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

// parallel calls do for 0 to n-1, on all cores, each of which takes the next as soon as it is done with one. A panic becomes the
// caller's, once all have stopped: a weight may be mapped from a file that shrinks meanwhile, see gguf.File.View.
func (f *fast) parallel(n int, do func(s *scratch, i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	for len(f.scratch) < workers {
		f.scratch = append(f.scratch, scratch{})
	}
	var next atomic.Int64
	panics := make([]any, workers)
	work := func(w int) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if panics[w] = recover(); panics[w] != nil {
				next.Store(int64(n)) // the others need not go on
			}
		}()
		s := &f.scratch[w]
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(s, i)
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { work(w) })
	}
	if workers > 0 {
		work(0)
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}
