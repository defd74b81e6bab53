package weights

import (
	"encoding/binary"
	"math/bits"
)

// IQ2_XXS, IQ2_XS and IQ2_S: 256 elements a block, in 32 groups of eight. A group is an index into a grid of the levels 8,
// 25 and 43, and eight signs. Where seven bits stand for the signs, the eighth makes the number of minus signs even.
//
// IQ2_XXS: eight bytes for four groups, their indices first, then a little-endian word of four times seven bits of signs
// and four bits of their common scale.
//
// IQ2_XS: a little-endian word a group, nine bits of the index and seven of signs. Two groups share a scale of four bits,
// half g/2%2 of byte g/4 of the scales.
//
// IQ2_S: byte g of qs and bits 2·(g%4) and above of byte g/4 of qh are the index, byte g of the signs the signs; the
// scales are those of IQ2_XS.
//
//	byte      0      2                                           66
//	IQ2_XXS [ d: F16 | 8 × (4 indices | signs and scale: u32) ]   value = d*(scale + 1/2)/4 * ±level
//
//	byte      0      2               66              74
//	IQ2_XS  [ d: F16 | qs: 32 words | scales: 8 bytes ]
//
//	byte      0      2              34                66            74              82
//	IQ2_S   [ d: F16 | qs: 32 bytes | signs: 32 bytes | qh: 8 bytes | scales: 8 bytes ]

const (
	iq2xxsBytes = 66
	iq2xsBytes  = 74
	iq2sBytes   = 82
)

// levels2 holds the levels of the grids; the last entry is never used.
var levels2 = [4]float32{8, 25, 43, 0}

func decodeIQ2_XXS(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq2xxsBytes]
		d := half(b)
		for g := range 32 {
			part := b[2+g/4*8:][:8]
			w := binary.LittleEndian.Uint32(part[4:])
			group2(dst[8*g:][:8], grid2XXS[part[g%4]], scale2(d, byte(w>>28)), evenSigns(w>>(g%4*7)))
		}
		dst, src = dst[256:], src[iq2xxsBytes:]
	}
}

func decodeIQ2_XS(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq2xsBytes]
		d := half(b)
		for g := range 32 {
			w := binary.LittleEndian.Uint16(b[2+2*g:])
			scale := scale2(d, b[66+g/4]>>(g/2%2*4)&15)
			group2(dst[8*g:][:8], grid2XS[w&511], scale, evenSigns(uint32(w>>9)))
		}
		dst, src = dst[256:], src[iq2xsBytes:]
	}
}

func decodeIQ2_S(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq2sBytes]
		d := half(b)
		for g := range 32 {
			index := int(b[2+g]) | int(b[66+g/4]>>(g%4*2)&3)<<8
			scale := scale2(d, b[74+g/4]>>(g/2%2*4)&15)
			group2(dst[8*g:][:8], grid2S[index], scale, b[34+g])
		}
		dst, src = dst[256:], src[iq2sBytes:]
	}
}

// scale2 returns the scale of a group from its four bits.
func scale2(d float32, s byte) float32 { return d * (float32(s) + 0.5) * 0.25 }

// evenSigns returns eight signs, a bit each, from the lowest seven of w: an even number of them is set.
func evenSigns(w uint32) byte {
	s := byte(w & 127)
	return s | byte(bits.OnesCount8(s)&1)<<7
}

// group2 writes the eight elements of a group; a set bit of signs is a minus.
func group2(dst []float32, levels uint16, scale float32, signs byte) {
	for i := range dst {
		v := scale * levels2[levels>>(2*i)&3]
		if signs>>i&1 != 0 {
			v = -v
		}
		dst[i] = v
	}
}
