package weights

import (
	"encoding/binary"
	"math"
)

// F32: one IEEE 754 single a value, little-endian.
//
//	byte  0   1   2   3
//	    [ m   m  e·m s·e ]

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func encodeF32(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}
