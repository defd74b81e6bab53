package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cera/backend"
	"cera/weights"
)

// meanCodes are those of formats that weights.Encode does not write and that subtract minima, which are to make up for them.
var meanCodes = map[backend.Format]float64{backend.Q2_K: 1.5, backend.Q5_K: 15.5}

// CanWrite tells whether WriteShape writes a format.
func CanWrite(f backend.Format) bool {
	return slices.Contains(backend.Formats(), f) || weights.CanEncode(f)
}

// randomMatrix returns rows of n values of about the given standard deviation, encoded. Where there is an encoder they are those of
// dense, else blocks of random codes with a scale that fits.
func randomMatrix(f backend.Format, rows, n int, r *rand.PCG, std float64) ([]byte, error) {
	data, values := make([]byte, rows*f.RowBytes(n)), make([]float32, rows*n)
	if weights.CanEncode(f) {
		dense(values, r, std)
		return data, weights.Encode(data, f, values)
	}
	if !CanWrite(f) {
		return nil, fmt.Errorf("format %v is not written", f)
	}
	for i := range data {
		data[i] = byte(r.Uint64())
	}
	// First with scales of one, which tells how large they are to be.
	if err := scaleBlocks(data, f, 1); err != nil {
		return nil, err
	}
	if err := weights.Decode(values, f, data); err != nil {
		return nil, err
	}
	squares := 0.0
	for _, v := range values {
		squares += float64(v) * float64(v)
	}
	return data, scaleBlocks(data, f, std/math.Sqrt(squares/float64(len(values))))
}

// scaleBlocks gives all blocks a scale.
func scaleBlocks(data []byte, f backend.Format, scale float64) error {
	halves := make([]byte, 4) // a scale and, where there are minima, that of these
	if err := weights.Encode(halves, backend.F16, []float32{float32(scale), float32(scale * meanCodes[f])}); err != nil {
		return err
	}
	for b := data; len(b) > 0; b = b[f.BlockBytes():] {
		if f == backend.MXFP4 { // the exponent of a power of two, with a bias of 127
			b[0] = byte(127 + math.Round(math.Log2(scale)))
			continue
		}
		for i, at := range weights.Halves(f) {
			copy(b[at:at+2], halves[2*i:])
		}
	}
	return nil
}
