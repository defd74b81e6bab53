//go:build cgo

package gpu

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"cera/backend"
)

// Packed weights. A row is cut into groups, and a group into 32 lanes of one vec4<u32> each, so that neighbouring threads
// read neighbouring words; scales stand in a buffer of their own. The values are those of the file's encoding, only their places
// are others. A row whose length is no whole number of groups ends in weights of scale 0.
//
// Q8_0, groups of 512: component c of lane l holds four weights from 128c + 4l on, a byte each. Then neighbouring threads read
// neighbouring elements of x.
//
// Q4_0 and Q4_K, groups of 1024: lane l holds weights 32l to 32l+31, which share a scale. Component c has 8c to 8c+7, and of
// these element e in the four bits from 8(e/4) + nibblePlace[e%4] on: a pair of elements lies 16 bits apart, as two halves do.
//
// The scales of a group are
//
//	Q8_0  8 words   d of the block at 128c + 32b: f16 number 4b + c
//	Q4_0  16 words  d of lane l: f16 number l
//	Q4_K  20 words  of lane l the bytes scale, min: half-word l; d and dmin of the super-block at 256c: word 16 + c, low and high half

// packing is how rows of one format are packed.
type packing struct {
	group  int // weights
	scales int // words of a group's scales
	pack   func(quants, scales []uint32, row []byte)
}

// quantWords is the size of a group's quants in words.
const quantWords = 128

var packings = map[backend.Format]packing{
	backend.Q8_0: {512, 8, packQ8_0},
	backend.Q4_0: {1024, 16, packQ4_0},
	backend.Q4_K: {1024, 20, packQ4_K},
}

// groups returns how many groups a row of n weights takes.
func (p packing) groups(n int) int { return (n + p.group - 1) / p.group }

// rows packs whole rows of n weights one after the other, shared out among the cores.
func (p packing) rows(quants, scales []uint32, data []byte, n, rowBytes int) {
	q, s, rows := p.groups(n)*quantWords, p.groups(n)*p.scales, len(data)/rowBytes
	parts := min(runtime.GOMAXPROCS(0), 1+rows*rowBytes>>16)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() {
			for r := i * rows / parts; r < (i+1)*rows/parts; r++ {
				p.pack(quants[r*q:(r+1)*q], scales[r*s:(r+1)*s], data[r*rowBytes:(r+1)*rowBytes])
			}
		})
	}
	wg.Wait()
}

// partRows returns how many rows a part of a packed weight holds at most: its larger buffer within maxBytes, its words
// within 32 bits.
func (p packing) partRows(maxBytes int64, n int) int {
	words := int64(p.groups(n) * quantWords)
	return int(min(maxBytes/(words*wordBytes), math.MaxUint32/words))
}

// takes tells whether rows of n weights are to be packed.
func (k Pack) takes(p packing, n int) bool {
	return k == PackAlways || k == PackAuto && p.groups(n)*p.group-n <= n/8
}

func packQ8_0(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[34:] {
		g, c, lane := b/16, b%16/4, b%4
		q := quants[g*quantWords:]
		for w := range 8 {
			q[(lane*8+w)*4+c] = binary.LittleEndian.Uint32(row[2+4*w:])
		}
		half := lane*4 + c
		scales[g*8+half/2] |= uint32(binary.LittleEndian.Uint16(row)) << (16 * (half % 2))
	}
}

// nibblePlace is where in 24 bits four elements of four bits lie.
var nibblePlace = [4]int{0, 16, 4, 20}

// spread puts the low halves of the bytes of a and b, eight elements in all, where a component has them.
func spread(a, b uint32) (word uint32) {
	for e, place := range nibblePlace {
		word |= (a >> (8 * e) & 15) << place
		word |= (b >> (8 * e) & 15) << (8 + place)
	}
	return word
}

func packQ4_0(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[18:] {
		g, lane := b/32, b%32
		q := quants[g*quantWords+lane*4:]
		// The low halves of the 16 bytes are elements 0 to 15, the high ones 16 to 31.
		for c := range 4 {
			v := row[2+8*(c%2):]
			lo, hi := binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:])
			q[c] = spread(lo>>(4*(c/2)), hi>>(4*(c/2)))
		}
		scales[g*16+lane/2] |= uint32(binary.LittleEndian.Uint16(row)) << (16 * (lane % 2))
	}
}

func packQ4_K(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[144:] {
		g, s := b/4, scales[b/4*20:]
		s[16+b%4] = binary.LittleEndian.Uint32(row)
		for sub := range 8 {
			lane := b%4*8 + sub
			q := quants[g*quantWords+lane*4:]
			// A pair of sub-blocks shares 32 bytes, the even one in their low halves.
			qs := row[16+sub/2*32:]
			for c := range 4 {
				lo, hi := binary.LittleEndian.Uint32(qs[8*c:]), binary.LittleEndian.Uint32(qs[8*c+4:])
				q[c] = spread(lo>>(4*(sub%2)), hi>>(4*(sub%2)))
			}
			scale, low := scaleQ4K(row[4:16], sub)
			s[lane/2] |= (uint32(scale) | uint32(low)<<8) << (16 * (lane % 2))
		}
	}
}

// scaleQ4K returns the 6-bit scale and min of a sub-block.
func scaleQ4K(s []byte, sub int) (scale, low byte) {
	if sub < 4 {
		return s[sub] & 63, s[sub+4] & 63
	}
	return s[sub+4]&15 | s[sub-4]>>6<<4, s[sub+4]>>4 | s[sub]>>6<<4
}
