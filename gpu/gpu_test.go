//go:build cgo

package gpu

import (
	"errors"
	"os"
	"testing"

	"cera/backend"
)

// open returns a device on the best adapter, software included. Without one the test is skipped, or fails where
// CERA_REQUIRE_GPU=1.
func open(t *testing.T, o Options) *Backend {
	t.Helper()
	o.Adapter, o.AllowSoftware = -1, true
	b, err := Open(o)
	if errors.Is(err, ErrNoDevice) && os.Getenv("CERA_REQUIRE_GPU") != "1" {
		t.Skipf("SKIPPED: %v; nothing of the GPU backend is tested here", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Flush(); err != nil && !b.closed {
			t.Errorf("error left over: %v", err)
		}
		b.Close()
	})
	return b
}

// full tells whether the tests are to run at length: every variant on every part of the suite, as "make test-all" has
// it. Without it each variant runs what no other test has it run, so that every kernel runs on every part all the same.
func full() bool { return os.Getenv("CERA_FULL") != "" }

// filled allocates [rows, n] with value f(row, column).
func filled(t *testing.T, b *Backend, name string, rows, n int, f func(r, i int) float32) backend.Tensor {
	t.Helper()
	x := b.Alloc(name, rows, n)
	data := make([]float32, rows*n)
	for r := range rows {
		for i := range n {
			data[r*n+i] = f(r, i)
		}
	}
	b.Upload(x, data)
	return x
}

// read returns t's values.
func read(t *testing.T, b *Backend, x backend.Tensor) []float32 {
	t.Helper()
	out := make([]float32, x.Rows*x.N)
	if err := b.Read(out, x); err != nil {
		t.Fatal(err)
	}
	return out
}

// noise is a deterministic value in [-1, 1).
func noise(seed, r, i int) float32 {
	h := uint32(seed)*2654435761 ^ uint32(r)*2246822519 ^ uint32(i)*3266489917
	h ^= h >> 15
	h *= 2246822519
	h ^= h >> 13
	return float32(int32(h)) / (1 << 31)
}
