package engine_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cera/backend"
	"cera/engine"
	"cera/gguf"
	"cera/trace"
	"cera/weights"
)

var ctx = context.Background()

// eachDevice runs f on both cpu backends and on the best GPU adapter, software included.
func eachDevice(t *testing.T, f func(t *testing.T, device string)) {
	for _, device := range []string{"cpu", "cpu-fast", "gpu"} {
		t.Run(device, func(t *testing.T) {
			needDevice(t, device)
			f(t, device)
		})
	}
}

// full tells whether the tests are to run at length, as "make test-all" has it. Without it a software adapter, on which
// most of the time goes, is given a part of what the cpu is given.
func full() bool { return os.Getenv("CERA_FULL") != "" }

// needDevice skips a test whose device is not there, or fails it where CERA_REQUIRE_GPU is set.
func needDevice(t *testing.T, device string) {
	t.Helper()
	be, err := engine.OpenDevice(engine.Options{Device: device})
	if err == nil {
		be.Close()
		return
	}
	if errors.Is(err, engine.ErrNoDevice) && os.Getenv("CERA_REQUIRE_GPU") == "" {
		t.Skipf("SKIPPED, nothing was tested on the GPU: %v", err)
	}
	t.Fatal(err)
}

// shared returns a path beside the project, or skips: those files are not part of it.
func shared(t *testing.T, path string) string {
	t.Helper()
	path = filepath.Join("../../shared", path)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return path
}

func open(t *testing.T, path string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func readTrace(t *testing.T, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// nmse returns the squared error of got over the square of want.
func nmse(got, want []float32) float64 {
	var e, s float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		e += d * d
		s += float64(want[i]) * float64(want[i])
	}
	return e / s
}

// sameTrace compares every site of want, by our name of it, with got's and returns the largest error.
func sameTrace(t *testing.T, got, want *trace.Trace, limit func(site string) float64) float64 {
	t.Helper()
	compared, worst := 0, 0.0
	for _, site := range want.Sites() {
		g, rows, n, ok := got.Data(trace.SiteName(site))
		w, wantRows, wantN, _ := want.Data(site)
		if !ok {
			t.Errorf("%s: not captured", site)
			continue
		}
		if rows != wantRows || n != wantN {
			t.Errorf("%s: [%d, %d], want [%d, %d]", site, rows, n, wantRows, wantN)
			continue
		}
		compared++
		e := nmse(g, w)
		worst = math.Max(worst, e)
		if l := limit(site); !(e <= l) {
			t.Errorf("%s: NMSE %.3g, limit %.3g", site, e, l)
		}
	}
	if compared == 0 {
		t.Error("no site was compared")
	}
	return worst
}

// within is one limit for every site.
func within(limit float64) func(string) float64 { return func(string) float64 { return limit } }

func everySite(string) bool { return true }

// written writes a file into the test's folder.
func written(t *testing.T, w *gguf.Writer) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// halved re-encodes F32 data.
func halved(t *testing.T, typ gguf.Type, data []byte) []byte {
	t.Helper()
	values := make([]float32, len(data)/4)
	if err := weights.Decode(values, backend.F32, data); err != nil {
		t.Fatal(err)
	}
	f, err := weights.FormatOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, f.RowBytes(len(values)))
	if err := weights.Encode(out, f, values); err != nil {
		t.Fatal(err)
	}
	return out
}
