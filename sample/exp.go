package sample

import (
	"math"
	"math/big"
)

// The exponential and the logarithm. Those of the standard library are assembly on some platforms and compiled with
// fused multiply-add on others, and differ in the last bit. Here every product is rounded by an explicit conversion,
// which forbids fusing.

const (
	expSteps = 128 // entries of the table of powers of 2
	stepHi   = 0x1.62e42fefp-8
	stepLo   = math.Ln2/expSteps - stepHi // the rest of ln 2 / expSteps, of which stepHi has the first 33 bits
)

// exp2 holds 2**(i/expSteps), rounded to nearest.
var exp2 = func() (t [expSteps]float64) {
	step := new(big.Float).SetPrec(256).SetInt64(2)
	for n := 1; n < expSteps; n *= 2 {
		step.Sqrt(step)
	}
	power := new(big.Float).SetPrec(256).SetInt64(1)
	for i := range t {
		t[i], _ = power.Float64()
		power.Mul(power, step)
	}
	return t
}()

// exp returns e**x for x <= 0, within two units in the last place; 0 where the result is below float64's normal
// numbers.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	// x = n ln2/expSteps + r with |r| <= ln2/256. n has 17 bits, so that the first product is exact.
	n := math.Floor(float64(x*(expSteps/math.Ln2)) + 0.5)
	r := x - float64(n*stepHi) - float64(n*stepLo)
	// Taylor's series for e**r - 1; the next term is below 2**-60 of 1.
	p := float64(r * (1.0 / 120))
	p = float64(r * (1.0/24 + p))
	p = float64(r * (1.0/6 + p))
	p = float64(r * (0.5 + p))
	p = float64(r * (1 + p))
	i := int(n)
	t := exp2[i&(expSteps-1)]
	y := t + float64(t*p)
	return float64(y * math.Float64frombits(uint64(1023+(i>>7))<<52))
}

// log returns the natural logarithm of a positive, normal x, within two units in the last place.
func log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// log m = 2 artanh s, |s| <= 0.172; the first term left out is below 2**-60 of the sum.
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	sum := 0.0
	for k := 21; k >= 1; k -= 2 {
		sum = float64(sum*s2) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*sum)
}

// power returns base**n for n >= 0, by squaring.
func power(base float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			y = float64(y * base)
		}
		base = float64(base * base)
	}
	return y
}
