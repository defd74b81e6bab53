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
// read neighbouring words of the weights and neighbouring elements of x; scales stand in a buffer of their own. The values
// are those of the file's encoding, only their places are others. A row whose length is no whole number of groups ends in
// weights of scale 0.
//
// Component c of lane l, in groups of
//
//	512  Q8_0        four weights from 128c + 4l on, a byte each
//	1024 Q4_0, Q4_K  four weights from 256c + 4l on, in the low halves of the bytes, and four from 256c + 128 + 4l on, in the high
//
// and the scales of a group
//
//	Q8_0  8 words   d of the block at 128c + 32b: f16 number 4b + c
//	Q4_0  16 words  d of the blocks at 256c + 32b and 256c + 128 + 32b: word 4b + c, low and high half
//	Q4_K  20 words  of the sub-blocks at the same places: word 4b + c, bytes scale, min, scale, min; d and dmin of the
//	                super-block at 256c: word 16 + c, low and high half

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

// subnormalHalves tells whether a half among the scales of the blocks, or among the elements of an F16 weight, is
// subnormal: kernels convert such halves by another way, which costs more.
func subnormalHalves(f backend.Format, data []byte) bool {
	var offsets []int // of halves in a block
	switch f {
	case backend.F16, backend.Q4_0, backend.Q8_0:
		offsets = []int{0}
	case backend.Q4_K:
		offsets = []int{0, 2}
	}
	for from := 0; from < len(data) && offsets != nil; from += f.BlockBytes() {
		for _, o := range offsets {
			if h := binary.LittleEndian.Uint16(data[from+o:]); h&0x7c00 == 0 && h&0x3ff != 0 {
				return true
			}
		}
	}
	return false
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

func packQ4_0(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[18:] {
		g, c, high, lane := b/32, b%32/8, b%8/4, b%4
		q, qs := quants[g*quantWords:], row[2:18]
		for w := range 8 {
			q[(lane*8+w)*4+c] |= nibbles(qs, w) << (4 * high)
		}
		scales[g*16+lane*4+c] |= uint32(binary.LittleEndian.Uint16(row)) << (16 * high)
	}
}

// nibbles returns weights 4w to 4w+3 of a Q4_0 block, in the low halves of the bytes of a word.
func nibbles(qs []byte, w int) uint32 {
	v := binary.LittleEndian.Uint32(qs[w%4*4:])
	if w >= 4 {
		v >>= 4
	}
	return v & 0x0f0f0f0f
}

func packQ4_K(quants, scales []uint32, row []byte) {
	clear(quants)
	clear(scales)
	for b := 0; len(row) > 0; b, row = b+1, row[144:] {
		g, c := b/4, b%4
		q, s := quants[g*quantWords:], scales[g*20:]
		s[16+c] = binary.LittleEndian.Uint32(row)
		for sub := range 8 {
			high, lane := sub/4, sub%4
			// A pair of sub-blocks shares 32 bytes, the even one in their low halves.
			qs := row[16+sub/2*32:]
			for w := range 8 {
				v := binary.LittleEndian.Uint32(qs[4*w:]) >> (4 * (sub % 2)) & 0x0f0f0f0f
				q[(lane*8+w)*4+c] |= v << (4 * high)
			}
			scale, low := scaleQ4K(row[4:16], sub)
			s[lane*4+c] |= (uint32(scale) | uint32(low)<<8) << (16 * high)
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
