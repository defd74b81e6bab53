package tinymodel

import (
	"hash/fnv"
	"math/rand/v2"
)

// The values are integers taken through sums, products, quotients and square roots, each rounded before the next. That
// is plain IEEE arithmetic, the same on every platform: no logarithm, no cosine, no product that a compiler may fuse
// with a sum.

// stream returns the random numbers of one tensor.
func stream(seed uint64, tensor string) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(tensor))
	return rand.NewPCG(seed, h.Sum64())
}

// normal returns a roughly normal value of mean 0 and standard deviation 1, within ±3.5: the sum of four uniform 16-bit
// integers.
func normal(r *rand.PCG) float64 {
	u := r.Uint64()
	sum := int64(u&0xffff) + int64(u>>16&0xffff) + int64(u>>32&0xffff) + int64(u>>48)
	return float64(sum-2*0xffff) / 37837.2 // sqrt(4 · 2^32/12)
}

// uniform returns a value in [0, 1).
func uniform(r *rand.PCG) float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// gain fills v with norm weights, 0.8 to 1.2, no two alike.
func gain(v []float32, r *rand.PCG) {
	for i := range v {
		v[i] = float32(0.8 + float64(0.4*uniform(r)))
	}
}

// smallGain fills v with weights of a norm whose output is added to the stream.
func smallGain(v []float32, r *rand.PCG) {
	gain(v, r)
	for i := range v {
		v[i] *= delta // a power of two: exact
	}
}

// sinks fills v with values of standard deviation 1.
func sinks(v []float32, r *rand.PCG) { dense(v, r, 1) }

// bias fills v with values of standard deviation 0.1.
func bias(v []float32, r *rand.PCG) { dense(v, r, 0.1) }

// ropeFactors fills v with factors that grow from 1 to 8, the range of Llama 3.
func ropeFactors(v []float32, _ *rand.PCG) {
	for j := range v {
		v[j] = float32(1 + float64(7*j)/float64(max(len(v)-1, 1)))
	}
}

// shortFactors fills v with factors that grow from 1 to 1.5.
func shortFactors(v []float32, _ *rand.PCG) {
	for j := range v {
		v[j] = float32(1 + float64(j)/float64(2*max(len(v)-1, 1)))
	}
}

// dense fills v with values of the given standard deviation.
func dense(v []float32, r *rand.PCG, std float64) {
	for i := range v {
		v[i] = float32(std * normal(r))
	}
}
