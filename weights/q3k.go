package weights

// Q3_K: 256 three-bit levels a block, in sixteen runs of 16 elements with a six-bit scale each. The low two bits of the
// levels stand as in Q2_K. The third bit of element i is bit i/32 of byte i%32 of h; where it is missing the level is 4
// lower. Scale j has its low four bits in the low (j < 8) or high half of byte j%8 of the scales, and its high two bits in
// byte 8 + j%4 of them, from bit 2·(j/4) on.
//
//	byte   0            32           96               108      110
//	Q3_K [ h: 32 bytes | 64 bytes ... | scales: 12 bytes | d: F16 ]   value = d*(scale - 32) * (q - 4)

const q3kBytes = 110

func decodeQ3_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:q3kBytes]
		high, levels, scales, d := b[:32], b[32:96], b[96:108], half(b[108:])
		for run := range 16 {
			s := scales[run%8]>>(run/8*4)&15 | scales[8+run%4]>>(run/4*2)&3<<4
			scale := d * float32(int(s)-32)
			first, shift := run/8*32+run%2*16, run/2%4*2
			for l := range 16 {
				q := levels[first+l]>>shift&3 | high[run%2*16+l]>>(run/2)&1<<2
				out[16*run+l] = scale * float32(int(q)-4)
			}
		}
		dst, src = dst[256:], src[q3kBytes:]
	}
}
