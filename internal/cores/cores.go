// Package cores shares work out among the processor's cores.
package cores

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Workers returns how many workers Each has for n in ranges of grain.
func Workers(n, grain int) int { return min(runtime.GOMAXPROCS(0), (n+grain-1)/grain) }

// Each works on ranges of at most grain that make up 0 to n, on all cores, each of which takes the next range as soon as
// it is done with one. It calls worker once for each of Workers, the first on the caller's goroutine, for what works on a
// range. A panic becomes the caller's, once all have stopped, and a fault of mapped memory is one: what is read may be
// mapped from a file that shrinks meanwhile, see gguf.File.View.
func Each(n, grain int, worker func(w int) func(lo, hi int)) {
	workers := Workers(n, grain)
	panics := make([]any, workers)
	var next atomic.Int64
	work := func(w int) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if panics[w] = recover(); panics[w] != nil {
				next.Store(int64(n)) // the others need not go on
			}
		}()
		do := worker(w)
		for lo := int(next.Add(int64(grain))) - grain; lo < n; lo = int(next.Add(int64(grain))) - grain {
			do(lo, min(lo+grain, n))
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

// Copy copies src to the start of dst, or as much of it as dst holds, in ranges of at most grain bytes on all cores.
func Copy(dst, src []byte, grain int) {
	n := min(len(dst), len(src))
	Each(n, grain, func(int) func(lo, hi int) {
		return func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) }
	})
}
