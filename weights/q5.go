package weights

import "encoding/binary"

// Q5_0 and Q5_1: 32 five-bit levels a block. The low four bits stand as in Q4_0; the fifth bit of element i is bit i of
// the little-endian word h.
//
//	byte   0      2        6                             22
//	Q5_0 [ d: F16 | h: u32 | 16←0 | 17←1 | ... | 31←15 ]            value = d * (q - 16)
//
//	byte   0      2      4        8                             24
//	Q5_1 [ d: F16 | m: F16 | h: u32 | 16←0 | 17←1 | ... | 31←15 ]   value = d * q + m

const (
	q50Bytes = 22
	q51Bytes = 24
)

func decodeQ5_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		out, b := dst[:32], src[:q50Bytes]
		d, h := half(b), binary.LittleEndian.Uint32(b[2:])
		for j, q := range b[6:] {
			q0, q1 := level5(q, h, j)
			out[j] = float32(q0-16) * d
			out[j+16] = float32(q1-16) * d
		}
		dst, src = dst[32:], src[q50Bytes:]
	}
}

func encodeQ5_0(dst []byte, src []float32) {
	for len(src) >= 32 {
		in, b := src[:32], dst[:q50Bytes]
		d := storeHalf(b, extreme(in)/-16)
		var q [32]int
		for i, v := range in {
			q[i] = level(float64(v), d, -16, 15) + 16
		}
		pack5(b[2:], &q)
		src, dst = src[32:], dst[q50Bytes:]
	}
}

func decodeQ5_1(dst []float32, src []byte) {
	for len(dst) >= 32 {
		out, b := dst[:32], src[:q51Bytes]
		d, m, h := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
		for j, q := range b[8:] {
			q0, q1 := level5(q, h, j)
			// As in Q4_1: no fused multiply-add.
			out[j] = float32(float32(q0)*d) + m
			out[j+16] = float32(float32(q1)*d) + m
		}
		dst, src = dst[32:], src[q51Bytes:]
	}
}

func encodeQ5_1(dst []byte, src []float32) {
	for len(src) >= 32 {
		in, b := src[:32], dst[:q51Bytes]
		lo, hi := extent(in)
		m := storeHalf(b[2:], lo)
		d := storeHalf(b, (hi-m)/31)
		var q [32]int
		for i, v := range in {
			q[i] = level(float64(v)-m, d, 0, 31)
		}
		pack5(b[4:], &q)
		src, dst = src[32:], dst[q51Bytes:]
	}
}

// level5 returns elements j and j+16, 0..31, from byte j of the levels and the word of fifth bits.
func level5(b byte, h uint32, j int) (q0, q1 int) {
	q0 = int(b&15) | int(h>>j&1)<<4
	q1 = int(b>>4) | int(h>>(j+16)&1)<<4
	return q0, q1
}

// pack5 writes the fifth bits of q and its low halves to the 20 bytes of b.
func pack5(b []byte, q *[32]int) {
	var h uint32
	for i, v := range q {
		h |= uint32(v>>4) << i
	}
	binary.LittleEndian.PutUint32(b, h)
	for j := range 16 {
		b[4+j] = byte(q[j]&15 | q[j+16]&15<<4)
	}
}
