package sample

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp returns e**x to some 200 bits: Taylor's series of x / 2**12, squared 12 times.
func bigExp(x float64) *big.Float {
	f := func() *big.Float { return new(big.Float).SetPrec(240) }
	small := f().SetMantExp(f().SetFloat64(x), -12)
	sum, term := f().SetInt64(1), f().SetInt64(1)
	for n := int64(1); n < 60; n++ {
		term.Quo(term.Mul(term, small), f().SetInt64(n))
		sum.Add(sum, term)
	}
	for range 12 {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulps returns |got - want| in units of got's last place.
func ulps(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(240).SetFloat64(got)
	d.Sub(d, want)
	off, _ := d.Float64()
	return math.Abs(off) / (math.Nextafter(math.Abs(got), math.Inf(1)) - math.Abs(got))
}

func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		x := -math.Exp(r.Float64()*40 - 33.5) // -3e-15 to -665
		if i%2 == 0 {
			x = -r.Float64() * 708
		}
		if off := ulps(exp(x), bigExp(x)); !(off <= 2) {
			t.Fatalf("exp(%v) = %v is off by %.2f units in the last place, want at most 2", x, exp(x), off)
		}
	}
	for _, test := range []struct{ x, want float64 }{
		{0, 1}, {math.Copysign(0, -1), 1}, {-708.5, 0}, {-1e300, 0}, {math.Inf(-1), 0},
	} {
		if got := exp(test.x); got != test.want {
			t.Errorf("exp(%v) = %v, want %v", test.x, got, test.want)
		}
	}
	for x := -708.0; x < 0; x += 0.37 {
		if !(exp(x) < exp(x+1e-9)) || !(exp(x) > 0) {
			t.Fatalf("exp does not rise at %v", x)
		}
	}
}

func TestLog(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		x := math.Exp((r.Float64() - 0.5) * 60)
		y := log(x)
		// e**y / x - 1 is what y is off by, but for its square.
		q := bigExp(y)
		q.Quo(q, new(big.Float).SetFloat64(x)).Sub(q, big.NewFloat(1))
		want := new(big.Float).SetPrec(240).SetFloat64(y)
		want.Sub(want, q)
		if off := ulps(y, want); !(off <= 2) {
			t.Fatalf("log(%v) = %v is off by %.2f units in the last place, want at most 2", x, y, off)
		}
	}
	for i := -60; i <= 60; i++ {
		if got, want := log(math.Ldexp(1, i)), float64(i)*math.Ln2; got != want {
			t.Errorf("log(2**%d) = %v, want %v", i, got, want)
		}
	}
}

func TestPower(t *testing.T) {
	for _, base := range []float64{1, 2, 3, 1.75} {
		want := 1.0
		for n := range 20 { // exact in float64
			if got := power(base, n); got != want {
				t.Errorf("power(%v, %d) = %v, want %v", base, n, got, want)
			}
			want *= base
		}
	}
}
