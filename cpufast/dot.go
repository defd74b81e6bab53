package cpufast

import (
	"encoding/binary"

	"github.com/x448/float16"

	"cera/backend"
)

// dots are inner products of x with a row as in the file, in pure Go, for formats in which that is faster than to
// decode the row first. Several sums run side by side so that additions need not wait for each other.
var dots = map[backend.Format]func(x []float32, row []byte) float32{
	backend.Q4_0: dotQ4_0,
	backend.Q8_0: dotQ8_0,
}

// levelsQ4 holds the values of the levels of Q4_0.
var levelsQ4 = [16]float32{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}

// levelsQ8 holds the value of each byte of Q8_0: to look it up is faster than to convert it.
var levelsQ8 = func() (levels [256]float32) {
	for b := range levels {
		levels[b] = float32(int8(b))
	}
	return levels
}()

func dotQ4_0(x []float32, row []byte) (sum float32) {
	for len(x) >= 32 && len(row) >= 18 {
		v, b := (*[32]float32)(x), (*[18]byte)(row)
		var s0, s1, s2, s3 float32
		for j := 0; j < 16; j += 2 {
			p, q := b[2+j], b[3+j]
			s0 += levelsQ4[p&15] * v[j]
			s1 += levelsQ4[q&15] * v[j+1]
			s2 += levelsQ4[p>>4] * v[j+16]
			s3 += levelsQ4[q>>4] * v[j+17]
		}
		sum += half(b[:]) * ((s0 + s1) + (s2 + s3))
		x, row = x[32:], row[18:]
	}
	return sum
}

func dotQ8_0(x []float32, row []byte) (sum float32) {
	for len(x) >= 32 && len(row) >= 34 {
		v, b := (*[32]float32)(x), (*[34]byte)(row)
		var s0, s1, s2, s3 float32
		for j := 0; j < 32; j += 4 {
			s0 += levelsQ8[b[2+j]] * v[j]
			s1 += levelsQ8[b[3+j]] * v[j+1]
			s2 += levelsQ8[b[4+j]] * v[j+2]
			s3 += levelsQ8[b[5+j]] * v[j+3]
		}
		sum += half(b[:]) * ((s0 + s1) + (s2 + s3))
		x, row = x[32:], row[34:]
	}
	return sum
}

// half reads the half at the start of b.
func half(b []byte) float32 {
	return float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()
}

// dot returns the inner product of a and b.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}
