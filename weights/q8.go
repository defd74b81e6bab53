package weights

import "math"

// Q8_0: 32 signed bytes under one scale, value = d * q.
//
//	byte  0      2    3         33
//	    [ d: F16 | q0 | q1 | ... q31 ]

const q8Bytes = 34

func decodeQ8_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		out, b := dst[:32], src[:q8Bytes]
		d := half(b)
		for i, q := range b[2:] {
			out[i] = float32(int8(q)) * d
		}
		dst, src = dst[32:], src[q8Bytes:]
	}
}

func encodeQ8_0(dst []byte, src []float32) {
	for len(src) >= 32 {
		in, b := src[:32], dst[:q8Bytes]
		d := storeHalf(b, math.Abs(extreme(in))/127)
		for i, v := range in {
			b[2+i] = byte(int8(level(float64(v), d, -127, 127)))
		}
		src, dst = src[32:], dst[q8Bytes:]
	}
}

// extreme returns the element of the largest magnitude, with its sign.
func extreme(v []float32) float64 {
	var m float64
	for _, x := range v {
		if x := float64(x); math.Abs(x) > math.Abs(m) {
			m = x
		}
	}
	return m
}

// extent returns the smallest and the largest element.
func extent(v []float32) (lo, hi float64) {
	lo, hi = float64(v[0]), float64(v[0])
	for _, x := range v[1:] {
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	return lo, hi
}

// level returns the integer q in lo..hi with q*d nearest to v, 0 where d is 0 (a block of zeros, or one below the
// smallest half).
func level(v, d float64, lo, hi int) int {
	if d == 0 {
		return 0
	}
	return int(min(max(math.RoundToEven(v/d), float64(lo)), float64(hi)))
}
