package weights

import "math"

// MXFP4 and NVFP4: four-bit floats of one sign, two exponent and one mantissa bit under a scale without sign. MXFP4 is 32
// elements a block, their halves of bytes as in Q4_0, under one power of two, of eight exponent bits. NVFP4 is 64
// elements a block, in four runs of 16 that are each laid out alike; the scale of each has four exponent and three
// mantissa bits.
//
//	byte    0    1                              17
//	MXFP4 [ e | 16←0 | 17←1 | ... | 31←15 ]             value = 2^(e-127) * float4(q)
//
//	byte    0                   4                              36
//	NVFP4 [ e0 | e1 | e2 | e3 | 8←0 | 9←1 | ... | 63←55 ]   value = float8(e) * float4(q)

const (
	mxfp4Bytes = 17
	nvfp4Bytes = 36
)

// levelsFP4 holds twice the values of the four-bit floats, which are integers; scales are halved to match. As in ggml, minus
// zero is zero.
var levelsFP4 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

func decodeMXFP4(dst []float32, src []byte) {
	for len(dst) >= 32 {
		// 2^(e-128), of which the two smallest are subnormal.
		scale := float32(math.Ldexp(1, int(src[0])-128))
		nibbles(dst[:32], src[1:mxfp4Bytes], scale, &levelsFP4)
		dst, src = dst[32:], src[mxfp4Bytes:]
	}
}

func decodeNVFP4(dst []float32, src []byte) {
	for len(dst) >= 64 {
		for run, e := range src[:4] {
			nibbles(dst[16*run:][:16], src[4+8*run:][:8], halfFloat8(e), &levelsFP4)
		}
		dst, src = dst[64:], src[nvfp4Bytes:]
	}
}

// halfFloat8 returns half the value of a float of four exponent bits, biased by 7, and three mantissa bits. The highest
// bit does not count. All ones are no number and become 0, as in ggml.
func halfFloat8(b byte) float32 {
	exponent, mantissa := int(b>>3&15), float64(b&7)
	switch {
	case b == 0x7f:
		return 0
	case exponent == 0:
		return float32(math.Ldexp(mantissa, -10))
	}
	return float32(math.Ldexp(8+mantissa, exponent-11))
}
