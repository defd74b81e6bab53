package weights

import "encoding/binary"

// IQ1_S and IQ1_M: 256 elements a block, in 32 groups of eight. A group is an eleven-bit index into grid1, whose levels are
// -1, 0 and 1, and a shift of 1/8 up or down. The low eight bits of the index of group g are byte g of qs.
//
// In IQ1_S four groups share a scale and a shift. The little-endian word j of qh holds the high three bits of the indices
// of groups 4j to 4j+3 from its lowest bit on, then three bits of the scale, then whether the shift is down.
//
// In IQ1_M two groups share a scale, and each has a shift of its own. Half g%2 of byte g/2 of qh holds the high three bits
// of the index of group g, then whether the shift is down. Each of the four little-endian words of scales holds four
// scales of three bits; the four bits above them are a quarter of d, the lowest quarter first.
//
//	byte    0      2               34            50
//	IQ1_S [ d: F16 | qs: 32 bytes | qh: 8 words ]            value = d*(2·scale + 1) * (level ± 1/8)
//
//	byte    0              32             48                56
//	IQ1_M [ qs: 32 bytes | qh: 16 bytes | scales: 4 words ]

const (
	iq1sBytes = 50
	iq1mBytes = 56
)

// shift1 is how far the levels of a group are moved, by whether it is down.
var shift1 = [2]float32{0.125, -0.125}

func decodeIQ1_S(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq1sBytes]
		d := half(b)
		for g := range 32 {
			h := binary.LittleEndian.Uint16(b[34+g/4*2:])
			index := int(b[2+g]) | int(h>>(g%4*3)&7)<<8
			scale := d * float32(2*(h>>12&7)+1)
			group1(dst[8*g:][:8], index, scale, shift1[h>>15])
		}
		dst, src = dst[256:], src[iq1sBytes:]
	}
}

func decodeIQ1_M(dst []float32, src []byte) {
	for len(dst) >= 256 {
		b := src[:iq1mBytes]
		scales := b[48:]
		// The quarters of d are the high halves of bytes 1, 3, 5 and 7.
		d := half([]byte{scales[1]>>4 | scales[3]&0xf0, scales[5]>>4 | scales[7]&0xf0})
		for g := range 32 {
			h := b[32+g/2] >> (g % 2 * 4)
			index := int(b[g]) | int(h&7)<<8
			s := binary.LittleEndian.Uint16(scales[g/8*2:]) >> (g / 2 % 4 * 3) & 7
			group1(dst[8*g:][:8], index, d*float32(2*s+1), shift1[h>>3&1])
		}
		dst, src = dst[256:], src[iq1mBytes:]
	}
}

// group1 writes the eight elements of a group.
func group1(dst []float32, index int, scale, shift float32) {
	levels := grid1[index]
	for i := range dst {
		dst[i] = scale * (float32(int(levels>>(2*i)&3)-1) + shift)
	}
}
