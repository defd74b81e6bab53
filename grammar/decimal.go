package grammar

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits is how many digits a number of a schema may have before and after its point.
const maxDigits = 60

// decimal is a number by its digits.
type decimal struct {
	negative bool   // not of 0
	whole    string // without zeros in front; "0" for 0
	frac     string // without zeros at the end
}

// parseDecimal reads a number of JSON.
func parseDecimal(text string) (decimal, error) {
	d := decimal{}
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(rest[i+1:], "+"))
		if err != nil || n > 1000 || n < -1000 {
			return d, fmt.Errorf("the exponent of %.30s is out of range", text)
		}
		mantissa, exponent = rest[:i], n
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits, point := whole+frac, len(whole)+exponent
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	d.whole = strings.TrimLeft(digits[:point], "0")
	d.frac = strings.TrimRight(digits[point:], "0")
	if d.whole == "" {
		d.whole = "0"
	}
	d.negative = negative && (d.whole != "0" || d.frac != "")
	if len(d.whole) > maxDigits || len(d.frac) > maxDigits {
		return d, fmt.Errorf("%.30s has more than %d digits before or after the point", text, maxDigits)
	}
	return d, nil
}

func (d decimal) String() string {
	s := d.whole
	if d.frac != "" {
		s += "." + d.frac
	}
	if d.negative {
		s = "-" + s
	}
	return s
}

// compare returns a number below 0, 0 or above, as d is below e, equal or above.
func (d decimal) compare(e decimal) int {
	switch {
	case d.negative && !e.negative:
		return -1
	case !d.negative && e.negative:
		return 1
	case d.negative:
		return compareSize(e, d)
	}
	return compareSize(d, e)
}

// compareSize compares without signs.
func compareSize(d, e decimal) int {
	if len(d.whole) != len(e.whole) {
		return len(d.whole) - len(e.whole)
	}
	if c := strings.Compare(d.whole, e.whole); c != 0 {
		return c
	}
	return strings.Compare(d.frac, e.frac)
}

// int returns the whole part with the sign, as a new number.
func (d decimal) int() *big.Int {
	n, _ := new(big.Int).SetString(d.whole, 10)
	if d.negative {
		n.Neg(n)
	}
	return n
}
