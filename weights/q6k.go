package weights

// Q6_K: 256 six-bit levels a block, in sixteen runs of 16 elements with a signed byte as the scale of each. In each half of
// 128 elements, 64 bytes hold the low four bits: byte l those of element l in its low and of element l+64 in its high
// half. Byte l of 32 holds the high two bits of elements l, l+32, l+64 and l+96, the first in its lowest bits.
//
//	byte   0               128            192               208      210
//	Q6_K [ low: 128 bytes | high: 64 bytes | scales: 16 bytes | d: F16 ]   value = d*scale * (q - 32)

const q6kBytes = 210

func decodeQ6_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:q6kBytes]
		low, high, d := b[:128], b[128:192], half(b[208:])
		for run, s := range b[192:208] {
			scale := d * float32(int8(s))
			// Quarter and place of the run's first element in its half.
			upper, quarter, first := run/8, run/2%4, run%2*16
			for l := first; l < first+16; l++ {
				q := low[64*upper+quarter%2*32+l]>>(quarter/2*4)&15 | high[32*upper+l]>>(2*quarter)&3<<4
				out[128*upper+32*quarter+l] = scale * float32(int(q)-32)
			}
		}
		dst, src = dst[256:], src[q6kBytes:]
	}
}
