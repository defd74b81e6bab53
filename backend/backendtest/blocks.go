package backendtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"cera/backend"
	"cera/weights"
)

// RandomBlocks returns a matrix [rows, n] in any known format: random bytes, but for scales of moderate size, so that
// all values are finite. n is a multiple of the format's block. The halves of the first block of the second row are
// subnormal.
func RandomBlocks(f backend.Format, rows, n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, uint64(f)))
	data := make([]byte, rows*f.RowBytes(n))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	size := f.BlockBytes()
	for i := 0; i < len(data); i += size {
		b := data[i : i+size]
		for _, at := range weights.Halves(f) {
			h := half(rng)
			if i == f.RowBytes(n) {
				h = h&0x83ff | 1
			}
			binary.LittleEndian.PutUint16(b[at:], h)
		}
		switch f {
		case backend.F32:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(rng.NormFloat64())))
		case backend.F16:
			binary.LittleEndian.PutUint16(b, half(rng))
		case backend.BF16:
			b[1] = b[1]&0x80 | 0x3d
		case backend.MXFP4:
			b[0] = byte(120 + rng.IntN(8))
		case backend.NVFP4:
			for run := range 4 {
				b[run] = byte(0x20 + rng.IntN(0x20))
			}
		case backend.IQ1_M:
			for quarter, h := 0, half(rng); quarter < 4; quarter, h = quarter+1, h>>4 {
				at := 49 + 2*quarter
				b[at] = b[at]&0x0f | byte(h&15)<<4
			}
		}
	}
	return data
}

// half returns the bits of a half between 2^-9 and 2^-4, or of the negative of one.
func half(rng *rand.Rand) uint16 { return uint16(rng.Uint32())&0x83ff | uint16(6+rng.IntN(5))<<10 }
