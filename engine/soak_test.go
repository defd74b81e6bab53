package engine_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cera/backend"
	"cera/cpu"
	"cera/engine"
	"cera/gpu"
	"cera/tokenizer"
)

// What a soak allows. Figures are taken while nothing runs, after a garbage collection, from the end of the warm-up on.
const (
	soakShort   = 5 * time.Second
	soakWorkers = 3 // of each device
	// soakGrowth bounds how far the line that fits the resident memory best may rise from the first figure to the last:
	// a page lost in every request shows within minutes. What the allocators of the runtime and the driver keep for
	// later moves by a few MiB.
	soakGrowth = 16 << 20    // bytes
	soakJudged = time.Minute // from here on resident memory is judged
	// soakWorking bounds the growth of the device's working memory, which keeps buffers of sizes that were not needed
	// before.
	soakWorking = 4 << 20 // bytes
)

// soakFigures are what must stay flat.
type soakFigures struct {
	at         time.Duration
	resident   int64      // bytes, of the process
	device     gpu.Memory // bytes, as the backend counts them
	goroutines int
	files      int // open
}

// TestSoak sends mixed requests to the cpu and to the GPU from several goroutines at once: checks, texts greedy and
// drawn, turns of a talk, dumps, requests that are cancelled, and files that must be refused. Whatever comes out must
// be what came out the first time, every verdict PASS, and what the process holds must not grow. CERA_SOAK says how
// long, as 30m.
func TestSoak(t *testing.T) {
	length := soakShort
	if s := os.Getenv("CERA_SOAK"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil || length < soakShort {
			t.Fatalf("CERA_SOAK: %q is no time of at least %v", s, soakShort)
		}
	} else if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	s := &soak{t: t, bad: badFiles(t), counts: map[string]int{}}
	s.add("cpu", cpu.New())
	card, err := gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true})
	switch {
	case err == nil:
		s.add("gpu", card)
		s.card = card
	case os.Getenv("CERA_REQUIRE_GPU") != "":
		t.Fatal(err)
	default:
		t.Logf("SKIPPED, nothing was tested on the GPU: %v", err)
	}
	s.run(length)
}

type soak struct {
	t       *testing.T
	devices []*soakDevice
	card    *gpu.Backend // nil: none
	bad     []string

	gate     sync.RWMutex // held for reading by each request, for writing while figures are taken
	stopped  atomic.Bool
	mu       sync.Mutex
	counts   map[string]int // requests by kind
	failures int
}

// add makes a device ready: its model is loaded.
func (s *soak) add(name string, be backend.Backend) {
	f, err := engine.BuiltIn()
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := engine.New(f, be, engine.Options{UBatch: 32, Ctx: 128})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := e.Close(); err != nil {
			s.t.Error(err)
		}
	})
	d := &soakDevice{name: name, e: e, dir: s.t.TempDir(), bad: s.bad, want: map[string]string{}}
	// A whole batch, so that the room for products of many rows, which is kept, is there from the start.
	if _, err = e.Eval(ctx, engine.DefaultTokens(e.Config().Vocab, 32)); err != nil {
		s.t.Fatal(err)
	}
	e.Reset()
	if d.tok, err = e.Tokenizer(tokenizer.Options{}); err != nil {
		s.t.Fatal(err)
	}
	s.devices = append(s.devices, d)
}

func (s *soak) run(length time.Duration) {
	var running sync.WaitGroup
	for i, d := range s.devices {
		for w := range soakWorkers {
			running.Go(func() { s.work(d, uint64(i*soakWorkers+w)) })
		}
	}
	// A minute, or a tenth where that is less.
	every := min(time.Minute, length/10)
	start := time.Now()
	var figures []soakFigures
	for n := 1; time.Since(start) < length && !s.failed(); n++ {
		time.Sleep(time.Until(start.Add(time.Duration(n) * every)))
		f := s.measure()
		f.at = time.Since(start)
		figures = append(figures, f)
		s.mu.Lock()
		s.t.Logf("%8.0f s: resident %.1f MiB, device %.2f MiB weights, %.2f tensors, %.2f working, %d goroutines, %d "+
			"open files; requests %v",
			f.at.Seconds(), mib(f.resident), mib(f.device.Weights), mib(f.device.Tensors), mib(f.device.Working),
			f.goroutines, f.files, s.counts)
		s.mu.Unlock()
	}
	s.stopped.Store(true)
	running.Wait()
	if s.failed() {
		return
	}
	for _, kind := range soakKinds {
		if s.counts[kind] == 0 && length >= time.Minute {
			s.t.Errorf("no request of kind %q was made", kind)
		}
	}
	s.judge(figures[len(figures)/3:]) // the first third is the warm-up
}

func (s *soak) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures > 0
}

// work makes requests until the soak ends or one goes wrong.
func (s *soak) work(d *soakDevice, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano())))
	for !s.stopped.Load() && !s.failed() {
		s.gate.RLock()
		kind := soakKinds[rng.IntN(len(soakKinds))]
		err := d.request(kind, rng)
		s.gate.RUnlock()
		s.mu.Lock()
		s.counts[kind]++
		if err != nil {
			s.failures++
			s.t.Errorf("%s, %s: %v", d.name, kind, err)
		}
		s.mu.Unlock()
	}
}

// measure takes the figures while no request runs.
func (s *soak) measure() soakFigures {
	s.gate.Lock()
	defer s.gate.Unlock()
	time.Sleep(20 * time.Millisecond) // timers of cancels that fired end their goroutines
	debug.FreeOSMemory()              // after a collection
	f := soakFigures{resident: resident(s.t), goroutines: runtime.NumGoroutine(), files: openFiles(s.t)}
	if s.card != nil {
		f.device = s.card.Memory()
	}
	return f
}

// judge holds figures to being flat.
func (s *soak) judge(figures []soakFigures) {
	first, last := figures[0], figures[len(figures)-1]
	for _, f := range figures {
		if f.goroutines > first.goroutines || f.files > first.files {
			s.t.Errorf("after %v: %d goroutines and %d open files, %d and %d after the warm-up", f.at, f.goroutines,
				f.files, first.goroutines, first.files)
		}
		if f.device.Weights != first.device.Weights || f.device.Tensors != first.device.Tensors ||
			f.device.Working > first.device.Working+soakWorking {
			s.t.Errorf("after %v: device memory %+v, %+v after the warm-up", f.at, f.device, first.device)
		}
	}
	slope := risePerSecond(figures)
	rise := slope * (last.at - first.at).Seconds()
	s.t.Logf("resident memory: %+.3f MiB a minute, %+.2f MiB in all after the warm-up, at most %d", slope*60/(1<<20),
		rise/(1<<20), soakGrowth>>20)
	// In seconds a heap that settles, or other tests' before, rises as fast as a leak would.
	if rise > soakGrowth && last.at-first.at >= soakJudged {
		s.t.Errorf("resident memory rises by %.1f MiB in %v, at most %d are allowed", rise/(1<<20), last.at-first.at,
			soakGrowth>>20)
	}
}

// risePerSecond is the slope of the line that fits the resident memory best, by least squares, in bytes a second.
func risePerSecond(figures []soakFigures) float64 {
	var x, y float64
	for _, f := range figures {
		x += f.at.Seconds() / float64(len(figures))
		y += float64(f.resident) / float64(len(figures))
	}
	var xy, xx float64
	for _, f := range figures {
		dx := f.at.Seconds() - x
		xy += dx * (float64(f.resident) - y)
		xx += dx * dx
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}

// TestRisePerSecond: a leak is seen among figures that go up and down.
func TestRisePerSecond(t *testing.T) {
	for name, c := range map[string]struct{ leak, noise float64 }{
		"flat": {0, 1e6}, "leak": {5e5, 1e6}, "falling": {-1e5, 0},
	} {
		var figures []soakFigures
		for i := range 40 {
			sign := float64(1 - 2*(i/2%2))
			figures = append(figures, soakFigures{at: time.Duration(i) * time.Second,
				resident: int64(1e8 + c.leak*float64(i) + c.noise*sign)})
		}
		if got := risePerSecond(figures); got < c.leak-2e4 || got > c.leak+2e4 {
			t.Errorf("%s: %v bytes a second, expected %v", name, got, c.leak)
		}
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// resident returns the resident memory of this process in bytes, or 0 where the system does not tell.
func resident(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// openFiles counts the open files of this process; 0 where the system does not tell.
func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}
