//go:build cgo

package gpu

import (
	"encoding/binary"
	"slices"
)

// Places of the words of a packed group; see pack.go.

func place1(j int) int { return j&3 + j&4*2 }
func place2(j int) int { return j&1*2 + j&2*4 }

// four puts the bits in mask, up to four, of the four bytes of codes where a four has them.
func four(codes, mask uint32) uint32 {
	x := codes & (mask * 0x01010101)
	x |= x >> 12 // the third byte's beside the first's, the fourth's beside the second's
	return x&0xff | x&0xff00<<8
}

// unit is what a lane holds: the codes of 32 elements.
type unit [32]byte

// word returns the codes of four j.
func (u *unit) word(j int) uint32 { return binary.LittleEndian.Uint32(u[4*j:]) }

// fourBits stores the low four bits of the codes.
func (u *unit) fourBits(quants []uint32, lane int) {
	for c := range 4 {
		quants[4*lane+c] = four(u.word(2*c), 15) | four(u.word(2*c+1), 15)<<8
	}
}

// twoBits stores two bits of the codes from bit shift on in one word for each 16 elements, spacing words apart.
func (u *unit) twoBits(words []uint32, at, spacing, shift int) {
	for c := range 2 {
		var word uint32
		for j := range 4 {
			word |= four(u.word(4*c+j)>>shift, 3) << place2(j)
		}
		words[at+c*spacing] = word
	}
}

// oneBit stores bit number shift of the codes.
func (u *unit) oneBit(words []uint32, lane, shift int) {
	var word uint32
	for j := range 8 {
		word |= four(u.word(j)>>shift, 1) << place1(j)
	}
	words[lane] = word
}

// nibbles takes the codes from 16 bytes: elements 0 to 15 from their low halves, 16 to 31 from the high ones.
func (u *unit) nibbles(qs []byte) {
	for i, q := range qs[:16] {
		u[i], u[16+i] = q&15, q>>4
	}
}

// fifth adds bit i of bits to code i.
func (u *unit) fifth(bits uint32) {
	for i := range u {
		u[i] |= byte(bits>>i&1) << 4
	}
}

// setHalf stores a half word, of words that are zero.
func setHalf(words []uint32, i int, half uint16) { words[i/2] |= uint32(half) << (16 * (i % 2)) }

// setByte stores a byte, of words that are zero.
func setByte(words []uint32, i int, b byte) { words[i/4] |= uint32(b) << (8 * (i % 4)) }

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }

func packQ4_1(q, s []uint32, block []byte, lane int) {
	var u unit
	u.nibbles(block[4:])
	u.fourBits(q, lane)
	s[lane] = binary.LittleEndian.Uint32(block)
}

func packQ5_0(q, s []uint32, block []byte, lane int) {
	var u unit
	u.nibbles(block[6:])
	u.fifth(binary.LittleEndian.Uint32(block[2:]))
	u.fourBits(q, lane)
	u.oneBit(s, lane, 4)
	setHalf(s[32:], lane, u16(block))
}

func packQ5_1(q, s []uint32, block []byte, lane int) {
	var u unit
	u.nibbles(block[8:])
	u.fifth(binary.LittleEndian.Uint32(block[4:]))
	u.fourBits(q, lane)
	u.oneBit(s, lane, 4)
	s[32+lane] = binary.LittleEndian.Uint32(block)
}

func packMXFP4(q, s []uint32, block []byte, lane int) {
	var u unit
	u.nibbles(block[1:])
	u.fourBits(q, lane)
	// Zeros are zeros under the exponent of infinity too.
	if slices.ContainsFunc(u[:], func(code byte) bool { return code&7 != 0 }) {
		setByte(s, lane, block[0])
	}
}

func packIQ4_XS(q, s []uint32, block []byte, lane int) {
	high := u16(block[2:])
	for run := range 8 {
		var u unit
		u.nibbles(block[8+16*run:])
		u.fourBits(q, lane+run)
		scale := block[4+run/2]>>(run%2*4)&15 | byte(high>>(2*run)&3)<<4
		setByte(s, lane+run, scale-32)
	}
	setHalf(s, 16+lane/8, u16(block))
}

func packQ5_K(q, s []uint32, block []byte, lane int) {
	for run := range 8 {
		var u unit
		qs, qh := block[48+run/2*32:], block[16:48]
		for i := range u {
			u[i] = qs[i]>>(run%2*4)&15 | qh[i]>>run&1<<4
		}
		u.fourBits(q, lane+run)
		u.oneBit(s, lane+run, 4)
		scale, low := scaleQ4K(block[4:16], run)
		setHalf(s[32:], lane+run, uint16(scale)|uint16(low)<<8)
	}
	s[32+16+lane/8] = binary.LittleEndian.Uint32(block)
}

func packQ6_K(q, s []uint32, block []byte, lane int) {
	for run := range 8 { // of 32 elements: quarter run%4 of half run/4
		var u unit
		low, high := block[64*(run/4)+run%2*32:], block[128+32*(run/4):]
		for i := range u {
			u[i] = low[i]>>(run%4/2*4)&15 | high[i]>>(2*(run%4))&3<<4
		}
		u.fourBits(q, lane+run)
		u.twoBits(s, lane+run, 32, 4)
		setHalf(s[64:], lane+run, u16(block[192+2*run:]))
	}
	setHalf(s[64:], 32+lane/8, u16(block[208:]))
}

func packQ3_K(q, s []uint32, block []byte, lane int) {
	packed := block[96:108]
	for run := range 8 {
		var u unit
		low := block[32+32*(run/4):]
		for i := range u {
			u[i] = low[i]>>(2*(run%4))&3 | block[i]>>run&1<<2
		}
		u.twoBits(q, 2*(lane+run), 1, 0)
		u.oneBit(s, lane+run, 2)
		for half := range 2 {
			r := 2*run + half // of 16 elements
			scale := packed[r%8]>>(r/8*4)&15 | packed[8+r%4]>>(r/4*2)&3<<4
			setByte(s[32:], 2*(lane+run)+half, scale-32)
		}
	}
	setHalf(s[32:], 32+lane/8, u16(block[108:]))
}

func packQ2_K(q, s []uint32, block []byte, lane int) {
	for run := range 8 {
		var u unit
		low := block[16+32*(run/4):]
		for i := range u {
			u[i] = low[i] >> (2 * (run % 4)) & 3
		}
		u.twoBits(q, 2*(lane+run), 1, 0)
		setHalf(s, lane+run, u16(block[2*run:]))
	}
	s[16+lane/8] = binary.LittleEndian.Uint32(block[80:])
}

func packQ8_0(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[34:] {
		g, c, lane := b/16, b%16/4, b%4
		q := quants[g*128:]
		for w := range 8 {
			q[(lane*8+w)*4+c] = binary.LittleEndian.Uint32(row[2+4*w:])
		}
		half := lane*4 + c
		scales[g*8+half/2] |= uint32(binary.LittleEndian.Uint16(row)) << (16 * (half % 2))
	}
}

// Eight codes at a time, as they stand in a word: no unit is taken apart.
func packQ4_0(q, s []uint32, block []byte, lane int) {
	// The low halves of the 16 bytes are elements 0 to 15, the high ones 16 to 31.
	for c := range 4 {
		v := block[2+8*(c%2):]
		low, high := binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:])
		q[4*lane+c] = four(low>>(4*(c/2)), 15) | four(high>>(4*(c/2)), 15)<<8
	}
	setHalf(s, lane, u16(block))
}

func packQ4_K(q, s []uint32, block []byte, lane int) {
	for run := range 8 {
		// A pair of runs shares 32 bytes, the even one in their low halves.
		qs := block[16+run/2*32:]
		for c := range 4 {
			low, high := binary.LittleEndian.Uint32(qs[8*c:]), binary.LittleEndian.Uint32(qs[8*c+4:])
			q[4*(lane+run)+c] = four(low>>(4*(run%2)), 15) | four(high>>(4*(run%2)), 15)<<8
		}
		scale, low := scaleQ4K(block[4:16], run)
		setHalf(s, lane+run, uint16(scale)|uint16(low)<<8)
	}
	s[16+lane/8] = binary.LittleEndian.Uint32(block)
}

// scaleQ4K returns the 6-bit scale and min of a sub-block.
func scaleQ4K(s []byte, sub int) (scale, low byte) {
	if sub < 4 {
		return s[sub] & 63, s[sub+4] & 63
	}
	return s[sub+4]&15 | s[sub-4]>>6<<4, s[sub+4]>>4 | s[sub]>>6<<4
}
