package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cera/backend"
	"cera/cpu"
	"cera/engine"
	"cera/gguf"
	"cera/gpu"
)

// TestConcurrentSessions lets many goroutines generate on sessions of one engine, some of them cancelled at any time,
// and closes the engine while they do: those that finish have the tokens of a run alone, the others end soon, and
// nothing stays.
func TestConcurrentSessions(t *testing.T) {
	const (
		workers = 8
		length  = 12 // of a continuation
	)
	rounds := int64(25) // finished before the engine is closed
	if full() {
		rounds = 60
	}
	eachDevice(t, func(t *testing.T, device string) {
		before := runtime.NumGoroutine()
		for _, model := range []string{"llama", "mixtral"} {
			path := "../testdata/archs/" + model + ".gguf"
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			var be backend.Backend = cpu.New()
			var card *gpu.Backend
			if device == "gpu" {
				if card, err = gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true}); err != nil {
					t.Fatal(err)
				}
				be = card
			}
			e, err := engine.New(f, be, engine.Options{UBatch: 4, Ctx: 64})
			if err != nil {
				t.Fatal(err)
			}
			vocab := e.Config().Vocab
			prompts := make([][]int32, 5)
			want := make([][]int32, len(prompts))
			for i := range prompts {
				for k := range 3 + 4*i {
					prompts[i] = append(prompts[i], int32((i*31+k*17+1)%vocab))
				}
				e.Reset()
				if want[i], err = e.Greedy(ctx, prompts[i], length); err != nil {
					t.Fatal(err)
				}
			}
			// One session more gives all its memory back.
			held := func() int64 {
				if card == nil {
					return 0
				}
				return card.Memory().Tensors
			}
			alone := held()
			s, err := e.NewSession(0)
			if err != nil {
				t.Fatal(err)
			}
			both := held()
			s.Close()
			if held() != alone || card != nil && both <= alone {
				t.Errorf("%d bytes before a session, %d with it, %d after", alone, both, held())
			}

			var finished, cancelled, closed atomic.Int64
			var running sync.WaitGroup
			work := func(seed uint64) error {
				rng := rand.New(rand.NewPCG(seed, 7))
				var s *engine.Session
				defer func() {
					if s != nil {
						s.Close()
					}
				}()
				for {
					if s == nil || rng.IntN(4) == 0 { // sessions come and go
						if s != nil {
							s.Close()
						}
						var err error
						if s, err = e.NewSession(64); err != nil {
							return err
						}
					}
					i := rng.IntN(len(prompts))
					c, cancel := context.WithCancel(ctx)
					if rng.IntN(3) == 0 {
						time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, cancel)
					}
					s.Truncate(0)
					var got []int32
					err := s.Greedy(c, prompts[i], length, func(ids []int32) bool {
						got = append(got, ids...)
						return true
					})
					cancel()
					switch {
					case errors.Is(err, context.Canceled):
						cancelled.Add(1)
						if !slices.Equal(got, want[i][:len(got)]) {
							return fmt.Errorf("prompt %d, cancelled: %v, expected the beginning of %v", i, got, want[i])
						}
					case err != nil:
						return err
					case !slices.Equal(got, want[i]):
						return fmt.Errorf("prompt %d: %v, expected %v", i, got, want[i])
					default:
						finished.Add(1)
					}
				}
			}
			for w := range workers {
				running.Go(func() {
					if err := work(uint64(w)); errors.Is(err, engine.ErrClosed) {
						closed.Add(1)
					} else {
						t.Errorf("worker %d: %v", w, err)
					}
				})
			}
			deadline := time.Now().Add(time.Minute)
			for finished.Load() < rounds && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			done := make(chan struct{})
			go func() { running.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				t.Fatal("workers still run 30 s after Close: a deadlock")
			}
			if closed.Load() != workers || finished.Load() < rounds || cancelled.Load() == 0 {
				t.Errorf("%d of %d workers ended by Close, %d runs finished, %d were cancelled", closed.Load(), workers,
					finished.Load(), cancelled.Load())
			}
			if _, err := e.NewSession(0); !errors.Is(err, engine.ErrClosed) {
				t.Errorf("a session after Close: %v", err)
			}
			if card != nil {
				if m := card.Memory(); m != (gpu.Memory{}) {
					t.Errorf("%+v is left on the device", m)
				}
			}
			t.Logf("%s: %d finished, %d cancelled", model, finished.Load(), cancelled.Load())
		}
		// Timers of cancels and the library's own threads may take a moment.
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	})
}
