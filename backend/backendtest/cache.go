package backendtest

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"cera/backend"
)

// cache holds keys or values, as f32 or as halves two a word.
type cache struct {
	operand
	half bool
}

// putCache fills rows of n elements, with pad words between them, from f, rounded where the cache holds halves.
func putCache(be backend.Backend, half bool, rows, n, pad int, f func(r, i int) float32) *cache {
	if !half {
		return &cache{*put(be, rows, n, n+pad, f), false}
	}
	words := backend.KV{Half: true}.Width(n)
	return &cache{*put(be, rows, words, words+pad, func(r, w int) float32 {
		bits := uint32(roundHalf(f(r, 2*w)))
		if 2*w+1 < n {
			bits |= uint32(roundHalf(f(r, 2*w+1))) << 16
		}
		return math.Float32frombits(bits)
	}), true}
}

// at is the value of element i of row r.
func (c *cache) at(r, i int) float32 {
	if !c.half {
		return c.operand.at(r, i)
	}
	word := math.Float32bits(c.operand.at(r, i/2))
	return float32(halfValue(uint16(word >> (i % 2 * 16))))
}

// sameBits checks that the device holds what the test put there, bit for bit.
func (c *cache) sameBits(t *testing.T, what string) {
	t.Helper()
	c.expectU32(t, what, func(r, i int) uint32 { return math.Float32bits(c.operand.at(r, i)) })
}

// halfValue is the value of an IEEE 754 half.
func halfValue(h uint16) float64 { return halfValues()[h] }

// halfValues are the values of all halves, which the expectations ask for often.
var halfValues = sync.OnceValue(func() *[1 << 16]float64 {
	all := new([1 << 16]float64)
	for h := range all {
		all[h] = decodeHalf(uint16(h))
	}
	return all
})

func decodeHalf(h uint16) float64 {
	sign, exponent, mantissa := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(mantissa, -24)
	case 31:
		if mantissa != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+mantissa, exponent-25)
}

// roundHalf returns the half nearest to v, the even one of two that are equally near.
func roundHalf(v float32) uint16 {
	a, sign := math.Abs(float64(v)), uint16(0)
	if math.Signbit(float64(v)) {
		sign = 1 << 15
	}
	switch {
	case a != a:
		return sign | 0x7e00
	case a >= 65520: // halfway between the largest half and the next there would be
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24)) // 1,024 steps are the smallest normal half
	}
	_, e := math.Frexp(a) // a is in [2^(e-1), 2^e)
	steps := uint16(math.RoundToEven(math.Ldexp(a, 11-e)))
	return sign | (uint16(e+13)<<10 + steps) // 1,024 to 2,048 steps of 2^(e-11): the first 1,024 are part of the exponent
}

func testStoreKV(t *testing.T, be backend.Backend) {
	value := func(seed uint64) func(r, i int) float32 {
		some := random(seed, 1)
		return func(r, i int) float32 {
			v := some(r, i)
			if i%3 == 1 { // of any size that a half has, and smaller and larger
				v = float32(math.Ldexp(float64(v), (5*i+r)%48-30))
			}
			return v
		}
	}
	for _, half := range []bool{false, true} {
		for _, n := range []int{1, 24, 64, 257} {
			what := fmt.Sprintf("n %d, halves %v", n, half)
			at := []uint32{9, 3, 4, 0}
			k, v := put(be, 4, n, n+5, value(1)), put(be, 4, n, n+2, value(2))
			kv := backend.KV{Half: half}
			words := kv.Width(n)
			kc, vc := poisoned(be, 11, words, words), poisoned(be, 11, words, words+1)
			kv.K, kv.V = kc.t, vc.t
			pos := ids(be, at)
			be.StoreKV(kv, k.t, v.t, pos)
			for _, c := range []struct {
				what       string
				cache, src *operand
			}{{"k", kc, k}, {"v", vc, v}} {
				c.cache.expectU32(t, what+", "+c.what+" cache", func(r, i int) uint32 {
					for row, p := range at {
						switch {
						case int(p) != r:
						case !half:
							return math.Float32bits(c.src.at(row, i))
						case 2*i+1 < n:
							return uint32(roundHalf(c.src.at(row, 2*i))) | uint32(roundHalf(c.src.at(row, 2*i+1)))<<16
						default:
							return uint32(roundHalf(c.src.at(row, 2*i)))
						}
					}
					return math.Float32bits(poison)
				})
			}
			freeAll(k, v, kc, vc)
			be.Free(pos)
		}
	}
	storeEdges(t, be)
}

// storeEdges stores the values at which rounding to a half changes, and their neighbours.
func storeEdges(t *testing.T, be backend.Backend) {
	var values []float32
	for h := range uint16(0x7c00) {
		// Halfway to the next half.
		mid := float32((halfValue(h) + halfValue(h+1)) / 2)
		if h == 0x7bff {
			mid = 65520
		}
		for _, v := range []float32{math.Nextafter32(mid, 0), mid, math.Nextafter32(mid, 1e30), float32(halfValue(h))} {
			values = append(values, v, -v)
		}
	}
	values = append(values, 1e30, float32(math.Inf(1)), float32(math.Inf(-1)), 0x1p-30, 0x1p-149, -0x1p-140)
	for len(values)%2 != 0 {
		values = append(values, 0)
	}
	n := len(values)
	x := put(be, 1, n, n, func(_, i int) float32 { return values[i] })
	k, v := poisoned(be, 1, n/2, n/2), poisoned(be, 1, n/2, n/2)
	pos := ids(be, []uint32{0})
	be.StoreKV(backend.KV{K: k.t, V: v.t, Half: true}, x.t, x.t, pos)
	back := poisoned(be, 1, n, n)
	be.UnpackHalf(back.t, k.t)
	for _, c := range []*operand{k, v} {
		c.expectU32(t, "edges of halves", func(_, i int) uint32 {
			return uint32(roundHalf(values[2*i])) | uint32(roundHalf(values[2*i+1]))<<16
		})
	}
	back.expectU32(t, "unpacked edges",
		func(_, i int) uint32 { return math.Float32bits(float32(halfValue(roundHalf(values[i])))) })
	freeAll(x, k, v, back)
	be.Free(pos)
}

// testUnpackHalf converts every half there is, but for the payloads of NaNs.
func testUnpackHalf(t *testing.T, be backend.Backend) {
	word := func(r, i int) uint32 {
		h := uint32(r*64+i) * 2
		return h&0xffff | (h+1)&0xffff<<16
	}
	for _, n := range []int{128, 127, 1} {
		src := put(be, 512, (n+1)/2, 67, func(r, i int) float32 { return math.Float32frombits(word(r, i)) })
		dst := poisoned(be, 512, n, n+3)
		be.UnpackHalf(dst.t, src.t)
		got := dst.read(t, "unpacked")
		for r := range 512 {
			for i, g := range got[r*dst.t.Stride:][:n] {
				want := halfValue(uint16(word(r, i/2) >> (i % 2 * 16)))
				if float64(g) != want && (want == want || g == g) {
					t.Fatalf("n %d, row %d, half %d: %g, want %g", n, r, i, g, want)
				}
			}
		}
		freeAll(src, dst)
	}
}
