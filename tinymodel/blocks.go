package tinymodel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"cera/backend"
	"cera/weights"
)

// blockScales says where the blocks of formats that weights.Encode does not write have their halves: the scale and, where minima
// are subtracted, that of these, with the mean code that it makes up for.
var blockScales = map[backend.Format]struct {
	scale, minimum int
	mean           float64 // 0: no minima
}{
	backend.Q2_K:   {80, 82, 1.5},
	backend.Q3_K:   {108, 0, 0},
	backend.Q5_K:   {0, 2, 15.5},
	backend.Q6_K:   {208, 0, 0},
	backend.IQ4_NL: {0, 0, 0},
	backend.IQ4_XS: {0, 0, 0},
}

// CanWrite tells whether WriteShape writes a format.
func CanWrite(f backend.Format) bool {
	_, ok := blockScales[f]
	return ok || f == backend.MXFP4 || weights.CanEncode(f)
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
	at, halves := blockScales[f], make([]byte, 4)
	if err := weights.Encode(halves, backend.F16, []float32{float32(scale), float32(scale * at.mean)}); err != nil {
		return err
	}
	for b := data; len(b) > 0; b = b[f.BlockBytes():] {
		if f == backend.MXFP4 { // the exponent of a power of two, with a bias of 127
			b[0] = byte(127 + math.Round(math.Log2(scale)))
			continue
		}
		binary.LittleEndian.PutUint16(b[at.scale:], binary.LittleEndian.Uint16(halves))
		if at.mean > 0 {
			binary.LittleEndian.PutUint16(b[at.minimum:], binary.LittleEndian.Uint16(halves[2:]))
		}
	}
	return nil
}
