package tokenizer

import (
	"sync"
	"unicode"
)

// class is a set of the Unicode general categories that patterns name, as bits.
type class uint8

const (
	letter class = 1 << iota // \p{L}
	number                   // \p{N}
	mark                     // \p{M}
	punct                    // \p{P}
	symbol                   // \p{S}
	space                    // \s: the property White_Space
)

// classTable holds the classes of the planes in which text is written; the rest, mostly ideographs, is looked up.
var classTable [0x20000]class

// loadClasses fills classTable once; New calls it, so that programs that need no tokenizer do not pay for it.
var loadClasses = sync.OnceFunc(func() {
	for _, c := range classRanges {
		for _, r := range c.table.R16 {
			setClasses(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride), c.class)
		}
		for _, r := range c.table.R32 {
			setClasses(r.Lo, r.Hi, r.Stride, c.class)
		}
	}
})

var classRanges = []struct {
	class class
	table *unicode.RangeTable
}{
	{letter, unicode.L}, {number, unicode.N}, {mark, unicode.M}, {punct, unicode.P}, {symbol, unicode.S},
	{space, unicode.White_Space},
	// Unicode 15.1, which llama.cpp's tables follow, has these beyond Go's 15.0.
	{symbol, newRanges(0x2FFC, 0x2FFF, 0x31EF, 0x31EF)}, {letter, newRanges(0x2EBF0, 0x2EE5D)},
}

func setClasses(lo, hi, stride uint32, c class) {
	for r := lo; r <= hi && int(r) < len(classTable); r += stride {
		classTable[r] |= c
	}
}

// classOf returns the classes of a rune, none for one that is not assigned.
func classOf(r rune) class {
	if int(r) < len(classTable) {
		return classTable[r]
	}
	var c class
	for _, x := range classRanges {
		if unicode.Is(x.table, r) {
			c |= x.class
		}
	}
	return c
}

// newRanges makes a table of pairs of a first and a last rune, in ascending order.
func newRanges(pairs ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] <= 0xFFFF {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(pairs[i]), Hi: uint16(pairs[i+1]), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(pairs[i]), Hi: uint32(pairs[i+1]), Stride: 1})
		}
	}
	return t
}
