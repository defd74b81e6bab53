package weights

// TQ1_0 and TQ2_0: 256 levels of -1, 0 and 1 a block under one scale.
//
// TQ1_0 packs five levels into a byte, as the fraction byte/256 in base 3: the first digit is the first level, and each
// further one comes to the front when the byte is multiplied by 3, modulo 256. Bytes 0 to 31 hold elements 0 to 159, byte l
// those at l + 32n; bytes 32 to 47 hold elements 160 to 239, byte 32+l those at 160 + l + 16n; bytes 48 to 51 hold four
// levels each, byte 48+l those at 240 + l + 4n.
//
// TQ2_0 takes two bits a level. Byte l of each 32 holds elements l, l+32, l+64 and l+96 of 128, the first in its lowest
// bits.
//
//	byte    0           32          48         52       54
//	TQ1_0 [ 32 bytes | 16 bytes | 4 bytes | d: F16 ]   value = d * (digit - 1)
//
//	byte    0                     64       66
//	TQ2_0 [ 32 bytes | 32 bytes | d: F16 ]             value = d * (q - 1)

const (
	tq1Bytes = 54
	tq2Bytes = 66
)

func decodeTQ1_0(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:tq1Bytes]
		d := half(b[52:])
		for _, part := range []struct{ lo, hi, first, digits int }{{0, 32, 0, 5}, {32, 48, 160, 5}, {48, 52, 240, 4}} {
			for l, v := range b[part.lo:part.hi] {
				for n := range part.digits {
					digit := int(v) * 3 >> 8
					out[part.first+l+n*(part.hi-part.lo)] = float32(digit-1) * d
					v *= 3
				}
			}
		}
		dst, src = dst[256:], src[tq1Bytes:]
	}
}

func decodeTQ2_0(dst []float32, src []byte) {
	for len(dst) >= 256 {
		out, b := dst[:256], src[:tq2Bytes]
		d := half(b[64:])
		for i := range out {
			q := b[i/128*32+i%32] >> (i / 32 % 4 * 2) & 3
			out[i] = float32(int(q)-1) * d
		}
		dst, src = dst[256:], src[tq2Bytes:]
	}
}
