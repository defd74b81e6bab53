package weights

// Q4_0 and Q4_1: 32 four-bit levels a block. Byte j of the levels holds element j in its low and element j+16 in its
// high half.
//
//	byte   0      2                             18
//	Q4_0 [ d: F16 | 16←0 | 17←1 | ... | 31←15 ]            value = d * (q - 8)
//
//	byte   0      2      4                             20
//	Q4_1 [ d: F16 | m: F16 | 16←0 | 17←1 | ... | 31←15 ]   value = d * q + m

const (
	q40Bytes = 18
	q41Bytes = 20
)

func decodeQ4_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		out, b := dst[:32], src[:q40Bytes]
		d := half(b)
		for j, q := range b[2:] {
			out[j] = float32(int(q&15)-8) * d
			out[j+16] = float32(int(q>>4)-8) * d
		}
		dst, src = dst[32:], src[q40Bytes:]
	}
}

func encodeQ4_0(dst []byte, src []float32) {
	for len(src) >= 32 {
		in, b := src[:32], dst[:q40Bytes]
		// The levels reach from -8 to 7: the sign of d puts the extreme element on the longer side.
		d := storeHalf(b, extreme(in)/-8)
		for j := range 16 {
			lo := level(float64(in[j]), d, -8, 7) + 8
			hi := level(float64(in[j+16]), d, -8, 7) + 8
			b[2+j] = byte(lo | hi<<4)
		}
		src, dst = src[32:], dst[q40Bytes:]
	}
}

func decodeQ4_1(dst []float32, src []byte) {
	for len(dst) >= 32 {
		out, b := dst[:32], src[:q41Bytes]
		d, m := half(b), half(b[2:])
		for j, q := range b[4:] {
			// The conversion of the product forbids a fused multiply-add, which would round differently.
			out[j] = float32(float32(q&15)*d) + m
			out[j+16] = float32(float32(q>>4)*d) + m
		}
		dst, src = dst[32:], src[q41Bytes:]
	}
}

func encodeQ4_1(dst []byte, src []float32) {
	for len(src) >= 32 {
		in, b := src[:32], dst[:q41Bytes]
		lo, hi := extent(in)
		m := storeHalf(b[2:], lo)
		d := storeHalf(b, (hi-m)/15)
		for j := range 16 {
			q0 := level(float64(in[j])-m, d, 0, 15)
			q1 := level(float64(in[j+16])-m, d, 0, 15)
			b[4+j] = byte(q0 | q1<<4)
		}
		src, dst = src[32:], dst[q41Bytes:]
	}
}
