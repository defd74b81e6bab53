package weights

import "encoding/binary"

// IQ3_XXS and IQ3_S: 256 elements a block, in 32 groups of eight. A group is two indices into a grid of four levels each,
// and eight signs.
//
// IQ3_XXS: bytes 2g and 2g+1 of qs are the indices of group g. A little-endian word for four groups holds four times seven
// bits of signs, as in IQ2_XXS, and four bits of their common scale.
//
// IQ3_S: bit i%8 of byte i/8 of qh is the ninth bit of the index in byte i of qs, byte g of the signs holds those of group
// g, and half g/4%2 of byte g/8 of the scales is the scale of four groups.
//
//	byte      0      2               66                         98
//	IQ3_XXS [ d: F16 | qs: 64 bytes | signs and scales: 8 × u32 ]   value = d*(scale + 1/2)/2 * ±level
//
//	byte      0      2               66            74                106             110
//	IQ3_S   [ d: F16 | qs: 64 bytes | qh: 8 bytes | signs: 32 bytes | scales: 4 bytes ]
//	                                                                value = d*(2·scale + 1) * ±level

const (
	iq3xxsBytes = 98
	iq3sBytes   = 110
)

var (
	levels3XXS = [8]float32{4, 12, 20, 28, 36, 44, 52, 62}
	levels3S   = [8]float32{1, 3, 5, 7, 9, 11, 13, 15}
)

func decodeIQ3_XXS(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq3xxsBytes]
		d := half(b)
		for g := range 32 {
			w := binary.LittleEndian.Uint32(b[66+g/4*4:])
			scale := d * (float32(w>>28) + 0.5) * 0.5
			first, second := grid3XXS[b[2+2*g]], grid3XXS[b[3+2*g]]
			group3(dst[8*g:][:8], first, second, &levels3XXS, scale, evenSigns(w>>(g%4*7)))
		}
		dst, src = dst[256:], src[iq3xxsBytes:]
	}
}

func decodeIQ3_S(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq3sBytes]
		d := half(b)
		for g := range 32 {
			high := int(b[66+g/4]) >> (g % 4 * 2)
			first, second := grid3S[int(b[2+2*g])|high&1<<8], grid3S[int(b[3+2*g])|high>>1&1<<8]
			scale := d * float32(2*(b[106+g/8]>>(g/4%2*4)&15)+1)
			group3(dst[8*g:][:8], first, second, &levels3S, scale, b[74+g])
		}
		dst, src = dst[256:], src[iq3sBytes:]
	}
}

// group3 writes the eight elements of a group, four of each grid entry; a set bit of signs is a minus.
func group3(dst []float32, first, second uint16, levels *[8]float32, scale float32, signs byte) {
	entries := uint32(first) | uint32(second)<<16
	for i := range dst {
		v := scale * levels[entries>>(4*i)&7]
		if signs>>i&1 != 0 {
			v = -v
		}
		dst[i] = v
	}
}
