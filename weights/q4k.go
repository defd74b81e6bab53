package weights

// Q4_K and Q5_K: 256 four- or five-bit levels a block, in eight runs of 32 elements with a six-bit scale and a six-bit
// minimum each, which multiply d and m. Byte l of each 32 bytes of levels holds element l in its low and element l+32 in
// its high half; the fifth bit of element i is bit i/32 of byte i%32 of h. The twelve bytes of scales and minima are
//
//	bytes 0 to 3    scale j in the low six bits, above them the high two bits of scale j+4
//	bytes 4 to 7    minimum j in the low six bits, above them the high two bits of minimum j+4
//	bytes 8 to 11   the low four bits of scale j+4 and of minimum j+4
//
//	byte   0        2        4                 16                           144
//	Q4_K [ d: F16 | m: F16 | scales: 12 bytes | 128 bytes ...                ]   value = d*scale * q - m*min
//
//	byte   0        2        4                 16            48             176
//	Q5_K [ d: F16 | m: F16 | scales: 12 bytes | h: 32 bytes | 128 bytes ... ]

const (
	q4kBytes = 144
	q5kBytes = 176
)

// scaleMin returns scale and minimum of run j, 0..7, from the twelve bytes of scales.
func scaleMin(s []byte, j int) (scale, low byte) {
	if j < 4 {
		return s[j] & 63, s[j+4] & 63
	}
	return s[j+4]&15 | s[j-4]>>6<<4, s[j+4]>>4 | s[j]>>6<<4
}

// putScaleMin is the inverse of scaleMin; the bytes are zero before the first call.
func putScaleMin(s []byte, j int, scale, low byte) {
	if j < 4 {
		s[j] |= scale
		s[j+4] |= low
		return
	}
	s[j+4] |= scale&15 | low<<4
	s[j-4] |= scale >> 4 << 6
	s[j] |= low >> 4 << 6
}

func decodeQ4_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:q4kBytes]
		d, m := half(b), half(b[2:])
		for run := range 8 {
			s, l := scaleMin(b[4:16], run)
			scale, low := d*float32(s), m*float32(l)
			shift := run % 2 * 4
			for i, q := range b[16+run/2*32:][:32] {
				// As in Q4_1: no fused multiply-add.
				out[32*run+i] = float32(scale*float32(q>>shift&15)) - low
			}
		}
		dst, src = dst[256:], src[q4kBytes:]
	}
}

func decodeQ5_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:q5kBytes]
		d, m, high := half(b), half(b[2:]), b[16:48]
		for run := range 8 {
			s, l := scaleMin(b[4:16], run)
			scale, low := d*float32(s), m*float32(l)
			shift := run % 2 * 4
			for i, q := range b[48+run/2*32:][:32] {
				q = q>>shift&15 | high[i]>>run&1<<4
				out[32*run+i] = float32(scale*float32(q)) - low
			}
		}
		dst, src = dst[256:], src[q5kBytes:]
	}
}
