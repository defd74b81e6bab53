//go:build cgo

package gpu

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// together works on ranges of at most grain that make up 0 to n, on all cores, each of which calls worker once for what works on a
// range. A panic becomes the caller's, once all have stopped: what is read may be mapped from a file that shrinks meanwhile, see
// gguf.File.View.
func together(n, grain int, worker func() func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+grain-1)/grain)
	panics := make([]any, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			debug.SetPanicOnFault(true) // of this goroutine, which ends here
			defer func() {
				if panics[i] = recover(); panics[i] != nil {
					next.Store(int64(n)) // the others need not go on
				}
			}()
			work := worker()
			for {
				hi := int(next.Add(int64(grain)))
				if hi-grain >= n {
					return
				}
				work(hi-grain, min(hi, n))
			}
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}
