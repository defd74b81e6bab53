package weights

// Q2_K: 256 two-bit levels a block, in sixteen runs of 16 elements with a four-bit scale and a four-bit minimum each,
// which multiply d and m. Byte l of each 32 bytes of levels holds elements l, l+32, l+64 and l+96 of 128, the first in
// its lowest bits; the two halves of 128 follow each other. Scale j belongs to elements 16j to 16j+15.
//
//	byte   0                                  16            80       82       84
//	Q2_K [ min0←scale0 | ... | min15←scale15 | 64 bytes ... | d: F16 | m: F16 ]   value = d*scale * q - m*min

const q2kBytes = 84

func decodeQ2_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:q2kBytes]
		levels, d, m := b[16:80], half(b[80:]), half(b[82:])
		for run, s := range b[:16] {
			scale, low := d*float32(s&15), m*float32(s>>4)
			first, shift := run/8*32+run%2*16, run/2%4*2
			for l := range 16 {
				q := levels[first+l] >> shift & 3
				// As in Q4_1: no fused multiply-add.
				out[16*run+l] = float32(scale*float32(q)) - low
			}
		}
		dst, src = dst[256:], src[q2kBytes:]
	}
}
