package weights

// Q1_0: 128 signs a block under one scale. Q2_0: 64 two-bit levels a block under one scale. Bits of the levels are in the
// order of the elements, from the lowest bit of the first byte on.
//
//	byte   0      2              18
//	Q1_0 [ d: F16 | 16 bytes ... ]   value = d where the bit is set, -d where it is not
//	Q2_0 [ d: F16 | 16 bytes ... ]   value = d * (q - 1)

const (
	q1Bytes = 18
	q2Bytes = 18
)

func decodeQ1_0(dst []float32, src []byte) {
	for len(dst) >= 128 {
		out, b := dst[:128], src[2:q1Bytes]
		d := half(src)
		for i := range out {
			if b[i/8]>>(i%8)&1 != 0 {
				out[i] = d
			} else {
				out[i] = -d
			}
		}
		dst, src = dst[128:], src[q1Bytes:]
	}
}

func decodeQ2_0(dst []float32, src []byte) {
	for len(dst) >= 64 {
		out, b := dst[:64], src[2:q2Bytes]
		d := half(src)
		for i := range out {
			q := b[i/4] >> (i % 4 * 2) & 3
			out[i] = float32(int(q)-1) * d
		}
		dst, src = dst[64:], src[q2Bytes:]
	}
}
