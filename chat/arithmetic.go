package chat

import (
	"math"
	"math/bits"
	"strings"
)

// arithmetic applies an operator to two values, as Python does.
func (r *run) arithmetic(op string, a, b any) any {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok && op == "+" {
			r.made(len(x) + len(y))
			return x + y
		}
		if n, ok := b.(int64); ok && op == "*" {
			return strings.Repeat(x, r.times(len(x), n))
		}
	case *list:
		if y, ok := b.(*list); ok && op == "+" && x.tuple == y.tuple {
			r.made(16 * (len(x.items) + len(y.items)))
			return &list{append(append([]any(nil), x.items...), y.items...), x.tuple}
		}
	}
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		r.fail("%s %s %s is not possible", typeName(a), op, typeName(b))
	}
	if (op == "/" || op == "//" || op == "%") && y == 0 {
		r.fail("division by 0")
	}
	_, floatX := a.(float64)
	_, floatY := b.(float64)
	if floatX || floatY || op == "/" {
		return floatResult(op, x, y)
	}
	return r.integerResult(op, integer(a), integer(b))
}

// times returns how often n bytes may be repeated.
func (r *run) times(n int, count int64) int {
	if count <= 0 || n == 0 {
		return 0
	}
	if count > int64(r.limits.made/n) {
		count = int64(r.limits.made/n) + 1
	}
	r.made(n * int(count))
	return int(count)
}

func integer(v any) int64 {
	if b, ok := v.(bool); ok {
		return intOf(b)
	}
	return v.(int64)
}

func floatResult(op string, x, y float64) float64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	case "%":
		return x - y*math.Floor(x/y)
	}
	return math.Pow(x, y)
}

// integerResult is that of Python's integers, as long as it has 63 bits.
func (r *run) integerResult(op string, x, y int64) any {
	ok := true
	var z int64
	switch op {
	case "+":
		z = x + y
		ok = (z > x) == (y > 0)
	case "-":
		z = x - y
		ok = (z < x) == (y > 0)
	case "*":
		z, ok = product(x, y)
	case "//", "%":
		if x == math.MinInt64 && y == -1 {
			ok = false
			break
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q, m = q-1, m+y
		}
		if z = q; op == "%" {
			z = m
		}
	default:
		if y < 0 {
			return math.Pow(float64(x), float64(y))
		}
		z = 1
		if x == 0 || x == 1 || x == -1 {
			y = min(y, 2-y%2)
		}
		for ; y > 0 && ok; y-- {
			z, ok = product(z, x)
		}
	}
	if !ok {
		r.fail("%d %s %d is too large for an integer of 64 bits", x, op, y)
	}
	return z
}

func product(x, y int64) (z int64, ok bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	return x * y, hi == 0 && lo <= math.MaxInt64
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
