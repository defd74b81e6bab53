package weights

import "encoding/binary"

// IQ4_NL and IQ4_XS: four-bit indices into a table of 16 levels that lie closer together near zero. IQ4_NL is 32 elements
// a block, laid out as Q4_0. IQ4_XS is 256, in eight runs of 32 that are each laid out alike, with a six-bit scale each:
// its low four bits are in half j%2 of byte j/2 of sl, its high two bits are bits 2j and 2j+1 of the little-endian word sh.
//
//	byte     0      2                             18
//	IQ4_NL [ d: F16 | 16←0 | 17←1 | ... | 31←15 ]                             value = d * level[q]
//
//	byte     0      2         4             8                             136
//	IQ4_XS [ d: F16 | sh: u16 | sl: 4 bytes | 16←0 | 17←1 | ... | 255←239 ]   value = d*(scale - 32) * level[q]

const (
	iq4nlBytes = 18
	iq4xsBytes = 136
)

// levels4 holds the levels of IQ4_NL and IQ4_XS. The numbers are ggml's.
var levels4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func decodeIQ4_NL(dst []float32, src []byte) {
	for len(dst) >= 32 {
		nibbles(dst[:32], src[2:iq4nlBytes], half(src), &levels4)
		dst, src = dst[32:], src[iq4nlBytes:]
	}
}

func decodeIQ4_XS(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq4xsBytes]
		d, high := half(b), binary.LittleEndian.Uint16(b[2:])
		for run := range 8 {
			s := b[4+run/2]>>(run%2*4)&15 | byte(high>>(2*run)&3<<4)
			nibbles(dst[32*run:][:32], b[8+16*run:][:16], d*float32(int(s)-32), &levels4)
		}
		dst, src = dst[256:], src[iq4xsBytes:]
	}
}

// nibbles writes scale times the level of each four-bit index: byte j of src holds index j of dst in its low and index
// j+len(src) in its high half.
func nibbles(dst []float32, src []byte, scale float32, levels *[16]float32) {
	low, high := dst[:len(src)], dst[len(src):2*len(src)]
	for j, q := range src {
		low[j] = scale * levels[q&15]
		high[j] = scale * levels[q>>4]
	}
}
