package grammar

import (
	"fmt"
	"math/big"
	"strings"
)

// limit is one end of a range of numbers.
type limit struct {
	at    decimal
	open  bool // the end itself is not within
	given bool
}

// Digits without a limit: as many as an int64 and a float64 hold for sure.
const (
	wholeDigits = 18
	fracDigits  = 16
)

// integerRange returns a GBNF expression of the integers within the limits, empty if there are none.
func integerRange(lo, hi limit) string {
	var least, most *big.Int
	if lo.given {
		least = lo.at.int()
		if lo.at.frac != "" && !lo.at.negative || lo.at.frac == "" && lo.open {
			least.Add(least, big.NewInt(1))
		}
	}
	if hi.given {
		most = hi.at.int()
		if hi.at.frac != "" && hi.at.negative || hi.at.frac == "" && hi.open {
			most.Sub(most, big.NewInt(1))
		}
	}
	var alts []string
	zero := new(big.Int)
	if least == nil || least.Sign() < 0 { // negative numbers, by their size
		from, to := big.NewInt(1), (*big.Int)(nil)
		if most != nil && most.Sign() < 0 {
			from = new(big.Int).Neg(most)
		}
		if least != nil {
			to = new(big.Int).Neg(least)
		}
		if s := wholeRange(from, to); s != "" {
			alts = append(alts, `"-" (`+s+`)`)
		}
	}
	from := zero
	if least != nil && least.Sign() > 0 {
		from = least
	}
	if most == nil || most.Sign() >= 0 {
		if s := wholeRange(from, most); s != "" {
			alts = append(alts, s)
		}
	}
	return strings.Join(alts, " | ")
}

// wholeRange returns an expression of the numbers from lo >= 0 to hi, without a limit if hi is nil.
func wholeRange(lo, hi *big.Int) string {
	if hi != nil && lo.Cmp(hi) > 0 {
		return ""
	}
	var alts []string
	first := lo.String()
	last := max(len(first), wholeDigits)
	if hi != nil {
		last = len(hi.String())
	}
	for n := len(first); n <= last; n++ {
		from, to := "1"+strings.Repeat("0", n-1), strings.Repeat("9", n)
		if n == len(first) {
			from = first
		}
		if hi == nil && n > len(first) {
			alts = append(alts, fmt.Sprintf("[1-9] [0-9]{%d,%d}", n-1, last-1))
			break
		}
		if hi != nil && n == last {
			to = hi.String()
		}
		alts = append(alts, digitRange(from, to))
	}
	return strings.Join(alts, " | ")
}

// digitRange returns an expression of the strings of digits from lo to hi, all of the same length.
func digitRange(lo, hi string) string {
	same := 0
	for same < len(lo) && lo[same] == hi[same] {
		same++
	}
	prefix, lo, hi := lo[:same], lo[same:], hi[same:]
	if prefix != "" {
		prefix = quoteGBNF(prefix) + " "
	}
	n := len(lo)
	if n == 0 {
		return strings.TrimSpace(prefix)
	}
	if strings.Trim(lo, "0") == "" && strings.Trim(hi, "9") == "" {
		return prefix + anyDigits(n)
	}
	var alts []string
	from, to := lo[0], hi[0]
	if strings.Trim(lo[1:], "0") != "" {
		alts = append(alts, quoteGBNF(lo[:1])+" "+group(digitRange(lo[1:], strings.Repeat("9", n-1))))
		from++
	}
	upper := ""
	if strings.Trim(hi[1:], "9") != "" {
		upper = quoteGBNF(hi[:1]) + " " + group(digitRange(strings.Repeat("0", n-1), hi[1:]))
		to--
	}
	if from <= to {
		alts = append(alts, strings.TrimSpace(digitClass(from, to)+" "+anyDigits(n-1)))
	}
	if upper != "" {
		alts = append(alts, upper)
	}
	return prefix + group(strings.Join(alts, " | "))
}

func anyDigits(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "[0-9]"
	}
	return fmt.Sprintf("[0-9]{%d}", n)
}

func digitClass(from, to byte) string {
	if from == to {
		return fmt.Sprintf(`"%c"`, from)
	}
	return fmt.Sprintf("[%c-%c]", from, to)
}

// group puts parentheses around alternatives.
func group(s string) string {
	if strings.Contains(s, " | ") {
		return "(" + s + ")"
	}
	return s
}

// numberRange returns an expression of the numbers within the limits, empty if there are none. They are written without
// an exponent.
func numberRange(lo, hi limit) string {
	var alts []string
	if !lo.given || lo.at.negative {
		size := limit{given: true} // what a negative number's size is at least
		if hi.given && (hi.at.negative || hi.open && hi.at.compare(decimal{whole: "0"}) == 0) {
			size = limit{at: hi.at, open: hi.open, given: true}
		} else {
			size.at.whole = "0"
		}
		if s := sizeRange(size, lo); s != "" {
			alts = append(alts, `"-" `+group(s))
		}
	}
	if !hi.given || !hi.at.negative {
		size := limit{at: decimal{whole: "0"}, given: true}
		if lo.given && !lo.at.negative {
			size = lo
		}
		if s := sizeRange(size, hi); s != "" {
			alts = append(alts, s)
		}
	}
	return strings.Join(alts, " | ")
}

// sizeRange returns an expression of the numbers without sign from lo to hi, whose signs do not count.
func sizeRange(lo, hi limit) string {
	if hi.given {
		if c := compareSize(lo.at, hi.at); c > 0 || c == 0 && (lo.open || hi.open) {
			return ""
		}
		if lo.at.whole == hi.at.whole {
			f := fraction{lo: lo.at.frac, hi: hi.at.frac, loOpen: lo.open, hiOpen: hi.open}
			return f.after(quoteGBNF(lo.at.whole), true, true)
		}
	}
	var alts []string
	add := func(s string) {
		if s != "" {
			alts = append(alts, s)
		}
	}
	one := big.NewInt(1)
	from, _ := new(big.Int).SetString(lo.at.whole, 10)
	if lo.at.frac != "" || lo.open {
		f := fraction{lo: lo.at.frac, loOpen: lo.open}
		add(f.after(quoteGBNF(lo.at.whole), true, false))
		from.Add(from, one)
	}
	var to *big.Int
	if hi.given {
		to, _ = new(big.Int).SetString(hi.at.whole, 10)
		to.Sub(to, one)
	}
	if s := wholeRange(from, to); s != "" {
		add(fraction{}.after(group(s), false, false))
	}
	if hi.given {
		f := fraction{hi: hi.at.frac, hiOpen: hi.open}
		add(f.after(quoteGBNF(hi.at.whole), false, true))
	}
	return strings.Join(alts, " | ")
}

// fraction is limits of the digits after a point, which go on with zeros.
type fraction struct {
	lo, hi         string
	loOpen, hiOpen bool
}

// after returns an expression of a whole number and the fractions that may follow it, empty if none may. atLo and atHi
// say which limits the whole number has reached.
func (f fraction) after(whole string, atLo, atHi bool) string {
	digits, none := f.digits(0, atLo, atHi)
	switch {
	case digits == "" && !none:
		return ""
	case digits == "":
		return whole
	case none:
		return whole + ` ("." ` + group(digits) + ")?"
	}
	return whole + ` "." ` + group(digits)
}

// digits returns an expression of one digit or more from the k-th on, and whether there may be none. atLo and atHi say
// that all digits so far are those of the limit.
func (f fraction) digits(k int, atLo, atHi bool) (expr string, none bool) {
	if atLo && k >= len(f.lo) && !f.loOpen {
		atLo = false
	}
	more := fracDigits
	switch {
	case !atLo && !atHi:
		return fmt.Sprintf("[0-9]{1,%d}", more), true
	case atHi && k >= len(f.hi): // nothing but zeros
		if atLo || f.hiOpen {
			return "", false
		}
		return fmt.Sprintf(`"0"{1,%d}`, more), true
	case atLo && !atHi && k >= len(f.lo): // not zeros alone
		return fmt.Sprintf(`"0"{0,%d} [1-9] [0-9]{0,%d}`, more-1, more-1), false
	}
	lo, hi := byte('0'), byte('9')
	if atLo && k < len(f.lo) {
		lo = f.lo[k]
	}
	if atHi {
		hi = f.hi[k]
	}
	var alts []string
	for from := lo; from <= hi; {
		onLo, onHi := atLo && from == lo, atHi && from == hi
		to := from
		if !onLo && !onHi { // all digits up to the limit have the same after them
			for to < hi && !(atHi && to+1 == hi) {
				to++
			}
		}
		rest, end := f.digits(k+1, onLo, onHi)
		switch {
		case rest != "" && end:
			alts = append(alts, digitClass(from, to)+" ("+rest+")?")
		case rest != "":
			alts = append(alts, digitClass(from, to)+" "+group(rest))
		case end:
			alts = append(alts, digitClass(from, to))
		}
		from = to + 1
	}
	// Without another digit the number is the lower limit, or below it, or else below the upper one.
	return strings.Join(alts, " | "), !atLo
}
