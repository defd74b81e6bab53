//go:build cgo

package gpu

import (
	"math"

	"cera/backend"
	"cera/shaders"
)

// Packed weights. A row is cut into groups, and a group into 32 lanes, so that neighbouring threads read neighbouring
// words; scales stand in a buffer of their own. The values are those of the file's encoding, only their places are
// others. Weights are cut into groups from the first row to the last, so that a group may have the end of one row and the
// begin of the next; in Q8_0 every row begins with a group, and one of no whole number of them ends in weights of scale 0.
//
// Q8_0, groups of 512: a lane is a vec4<u32>, whose component c of lane l holds four weights from 128c + 4l on, a byte
// each. Then neighbouring threads read neighbouring elements of x. Of its 8 words of scales, d of the block at 128c + 32b
// is f16 number 4b + c.
//
// The others (shaders.PackedForm), groups of 1024: lane l holds weights 32l to 32l+31. Four elements that follow one
// another have their bits 0, 16, 4 and 20 after the place of the four, so that a pair of elements lies 16 bits apart, as
// two halves do:
//
//	four bits                four j of 0..7 in component j/2 of a vec4<u32>, from bit 8(j%2) on
//	two bits                 four j in component j/4 of a vec2<u32>, from bit place2(j%4) on
//	a fifth bit, or a third  in word l in front of the group's scales, four j from bit place1(j) on
//	two bits more            in words l and 32 + l there, four j in word 32(j/4) + l, from bit place2(j%4) on
//
// After these the scales of a group are
//
//	Q4_0, Q5_0, IQ4_NL  16 words  d of lane l: f16 number l
//	Q4_1, Q5_1          32 words  of lane l the f16 d, m: word l
//	MXFP4               8 words   the exponent of lane l: byte l
//	IQ4_XS              10 words  the signed scale of lane l: byte l; d of the super-block at 256c: f16 number 16 + c
//	Q6_K, Q3_K          18 words  the signed scales of lane l: bytes 2l, 2l+1; d as above: f16 number 32 + c
//	Q4_K, Q5_K          20 words  of lane l the bytes scale, min: half-word l; d and m of the super-block: word 16 + c
//	Q2_K                20 words  of lane l two bytes, scale in the low half, min in the high: half-word l; d, m: word 16 + c

// packing is how rows of one format are packed.
type packing struct {
	group   int  // weights
	quants  int  // words of a group's quants
	scales  int  // words of a group's scales
	rowwise bool // rows begin with a group
	pack    func(quants, scales []uint32, row []byte)
}

var packings = map[backend.Format]packing{
	backend.Q8_0:   {shaders.GroupQ8_0, 128, 8, true, packQ8_0},
	backend.Q4_0:   blocks(backend.Q4_0, packQ4_0),
	backend.Q4_1:   blocks(backend.Q4_1, packQ4_1),
	backend.Q5_0:   blocks(backend.Q5_0, packQ5_0),
	backend.Q5_1:   blocks(backend.Q5_1, packQ5_1),
	backend.Q2_K:   blocks(backend.Q2_K, packQ2_K),
	backend.Q3_K:   blocks(backend.Q3_K, packQ3_K),
	backend.Q4_K:   blocks(backend.Q4_K, packQ4_K),
	backend.Q5_K:   blocks(backend.Q5_K, packQ5_K),
	backend.Q6_K:   blocks(backend.Q6_K, packQ6_K),
	backend.IQ4_NL: blocks(backend.IQ4_NL, packQ4_0), // laid out alike
	backend.IQ4_XS: blocks(backend.IQ4_XS, packIQ4_XS),
	backend.MXFP4:  blocks(backend.MXFP4, packMXFP4),
}

// blocks is the packing of a format that shaders has a form of. pack stores one block of the file in the words of its
// group, which are zero, from a lane on: a lane for each 32 elements.
func blocks(f backend.Format, pack func(quants, scales []uint32, block []byte, lane int)) packing {
	form, _ := shaders.FormOf(f.String())
	q, s, lanes := form.QuantWords(), form.ScaleWords(), f.Block()*shaders.PackedLanes/shaders.PackedGroup
	return packing{shaders.PackedGroup, q, s, false, func(quants, scales []uint32, row []byte) {
		clear(quants)
		clear(scales)
		for lane := 0; len(row) > 0; lane, row = lane+lanes, row[f.BlockBytes():] {
			g := lane / shaders.PackedLanes
			pack(quants[g*q:], scales[g*s:], row[:f.BlockBytes()], lane%shaders.PackedLanes)
		}
	}}
}

// groups returns how many groups so many rows of n weights take.
func (p packing) groups(rows, n int) int {
	if !p.rowwise {
		rows, n = 1, rows*n
	}
	return rows * ((n + p.group - 1) / p.group)
}

// partRows returns how many rows a part of a packed weight holds at most: its larger buffer within maxBytes, its words
// within 32 bits.
func (p packing) partRows(maxBytes int64, n int) int {
	groups := min(maxBytes/wordBytes, math.MaxUint32) / int64(p.quants)
	if p.rowwise {
		return int(groups) / p.groups(1, n)
	}
	return int(groups) * p.group / n
}

// takes tells whether rows of n weights are to be packed. A third more memory for rows that end inside of a group is worth it: a product
// with one row of x takes about a third of the time.
func (k Pack) takes(p packing, n int) bool {
	return k == PackAlways || k == PackAuto && (!p.rowwise || p.groups(1, n)*p.group-n <= n/3)
}
