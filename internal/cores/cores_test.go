package cores

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// Every number is worked on once, in ranges of at most the grain.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 64, 1000} {
		for _, grain := range []int{1, 3, 64, 2000} {
			t.Run(fmt.Sprintf("%d by %d", n, grain), func(t *testing.T) {
				seen := make([]atomic.Int32, n)
				var made atomic.Int32
				Each(n, grain, func(w int) func(lo, hi int) {
					made.Add(1)
					if w < 0 || w >= Workers(n, grain) {
						t.Errorf("worker %d of %d", w, Workers(n, grain))
					}
					return func(lo, hi int) {
						if hi <= lo || hi-lo > grain {
							t.Errorf("range %d to %d", lo, hi)
						}
						for i := lo; i < hi; i++ {
							seen[i].Add(1)
						}
					}
				})
				for i := range seen {
					if c := seen[i].Load(); c != 1 {
						t.Errorf("%d was worked on %d times", i, c)
					}
				}
				if int(made.Load()) != Workers(n, grain) {
					t.Errorf("%d workers, expected %d", made.Load(), Workers(n, grain))
				}
			})
		}
	}
}

// A panic on any core is the caller's, after all have stopped.
func TestEachPanics(t *testing.T) {
	for _, at := range []int{0, 50, 99} {
		var running atomic.Int32
		func() {
			defer func() {
				if p := recover(); p != "wrong" {
					t.Errorf("at %d: recovered %v", at, p)
				}
			}()
			Each(100, 1, func(int) func(lo, hi int) {
				return func(lo, _ int) {
					running.Add(1)
					defer running.Add(-1)
					if lo == at {
						panic("wrong")
					}
				}
			})
			t.Errorf("at %d: no panic", at)
		}()
		if running.Load() != 0 {
			t.Errorf("at %d: %d are still running", at, running.Load())
		}
	}
}

// As many bytes are copied as both have, and none beside them is touched.
func TestCopy(t *testing.T) {
	for _, c := range []struct{ dst, src, grain int }{{0, 0, 1}, {5, 5, 2}, {1000, 700, 64}, {700, 1000, 64}, {3, 9, 100}} {
		dst, src := make([]byte, c.dst), make([]byte, c.src)
		for i := range src {
			src[i] = byte(i%250 + 1)
		}
		Copy(dst, src, c.grain)
		for i, got := range dst {
			want := byte(0)
			if i < len(src) {
				want = src[i]
			}
			if got != want {
				t.Fatalf("%+v: byte %d is %d, expected %d", c, i, got, want)
			}
		}
	}
}
