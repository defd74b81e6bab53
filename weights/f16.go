package weights

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// F16: one IEEE 754 half a value, little-endian. BF16: the upper half of a single, so eight bits of exponent.
//
//	bit    15  14 ... 10  9 ... 0
//	F16  [  s | exponent | mantissa ]
//
//	bit    15  14 ... 7  6 ... 0
//	BF16 [  s | exponent | mantissa ]

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func encodeF16(dst []byte, src []float32) {
	for i, v := range src {
		putHalf(dst[2*i:], v)
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

func encodeBF16(dst []byte, src []float32) {
	for i, v := range src {
		b := math.Float32bits(v)
		if v != v {
			b |= 1 << 22 // a NaN whose payload sits in the lower half must not become an infinity
		} else {
			b += 0x7fff + b>>16&1 // to nearest, ties to even; the carry may rightly reach infinity
		}
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(b>>16))
	}
}

// half reads the half at the start of b.
func half(b []byte) float32 {
	return float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()
}

// putHalf writes v, rounded to the nearest half, to the start of b.
func putHalf(b []byte, v float32) {
	binary.LittleEndian.PutUint16(b, float16.Fromfloat32(v).Bits())
}

// maxHalf is the largest finite half.
const maxHalf = 65504

// storeHalf writes v, saturated to the finite range, to the start of b, and returns the value that a decoder will read:
// quantizing against that one, not v, keeps the rounding of the scale out of the elements.
func storeHalf(b []byte, v float64) float64 {
	putHalf(b, float32(min(max(v, -maxHalf), maxHalf)))
	return float64(half(b))
}
