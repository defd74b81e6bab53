package backendtest

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"cera/backend"
)

// SameOnCores calls run on one core and on several: what it returns must be the same numbers, bit for bit.
func SameOnCores(t *testing.T, run func() []float32) {
	t.Helper()
	on := func(cores int) []float32 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		return run()
	}
	one := on(1)
	for _, cores := range []int{2, 3, 16} {
		for i, v := range on(cores) {
			if v != v || math.Float32bits(v) != math.Float32bits(one[i]) {
				t.Fatalf("word %d is %g on %d cores, %g on one", i, v, cores, one[i])
			}
		}
	}
}

// NormalTensor allocates [rows, n] values of a normal distribution.
func NormalTensor(be backend.Backend, rng *rand.Rand, rows, n int) backend.Tensor {
	data := make([]float32, rows*n)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	x := be.Alloc("x", rows, n)
	be.Upload(x, data)
	return x
}
