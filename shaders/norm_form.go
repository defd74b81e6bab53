package shaders

import (
	"fmt"
	"math/bits"
	"strconv"
)

// NormForm is one way to run a norm: the defines of held_row.tmpl. The zero value reads rows twice, a float at a time,
// with 256 threads.
type NormForm struct {
	Threads int  // of a workgroup; 0 is 256
	Vec4    bool // four floats at a time
	Held    int  // elements, or fours of them, that a thread keeps in registers; 0 reads rows twice
	Full    int  // how many of these every thread has
}

// defines returns the form's defines, beside those of other.
func (f NormForm) defines(other map[string]string) map[string]string {
	d := map[string]string{}
	for k, v := range other {
		d[k] = v
	}
	if f.Threads > 0 {
		d["WG_SIZE"] = strconv.Itoa(f.Threads) + "u"
	}
	if f.Held > 0 {
		d["HELD"] = strconv.Itoa(f.Held) + "u"
	}
	if f.Vec4 {
		d["VEC4"] = "1"
	}
	if f.Full > 0 {
		d["FULL"] = strconv.Itoa(f.Full) + "u"
	}
	return d
}

// NormShape is what the choice of a form depends on.
type NormShape struct {
	N       int  // row length in floats
	Aligned bool // every offset and stride in use is a multiple of 4 floats
	Arena   bool // the kernel is the arena's, which has more to read at a time
}

// What a workgroup keeps in registers at most. Twice as much again is under way while it reads, and a card's register file
// holds 65,536 words for a workgroup or more.
const (
	maxHeldFloats = 32    // of a row in a thread
	maxHeldRow    = 16384 // floats of a row
)

const (
	minNormThreads = 32
	maxNormThreads = 1024
)

// NormVariant is a form but for what the row length decides.
type NormVariant struct {
	Vec4    bool
	Held    bool
	Threads int // a power of two from 32 to 1024
}

// String names the variant as ParseNormVariant reads it: "vec4-held-256".
func (v NormVariant) String() string {
	lanes, reads := "scalar", "twice"
	if v.Vec4 {
		lanes = "vec4"
	}
	if v.Held {
		reads = "held"
	}
	return fmt.Sprintf("%s-%s-%d", lanes, reads, v.Threads)
}

// NormVariants lists all variants.
func NormVariants() []NormVariant {
	var vs []NormVariant
	for _, vec4 := range []bool{false, true} {
		for _, held := range []bool{false, true} {
			for threads := minNormThreads; threads <= maxNormThreads; threads *= 2 {
				vs = append(vs, NormVariant{vec4, held, threads})
			}
		}
	}
	return vs
}

// ParseNormVariant is the inverse of String.
func ParseNormVariant(s string) (NormVariant, error) {
	for _, v := range NormVariants() {
		if s == v.String() {
			return v, nil
		}
	}
	return NormVariant{}, fmt.Errorf("norm variant %q: expected scalar or vec4, twice or held, and a power of two from %d to %d, such as %q",
		s, minNormThreads, maxNormThreads, NormVariant{true, true, 256})
}

// Form returns the variant's form for a shape, or false where it cannot run it: with more threads than maxThreads, with
// rows that are not made of fours, with more of a row in registers than a thread keeps, or with sums so long that the
// error could pass the bound.
func (v NormVariant) Form(s NormShape, maxThreads int) (NormForm, bool) {
	f := NormForm{Threads: v.Threads, Vec4: v.Vec4}
	switch {
	case v.Threads < minNormThreads || v.Threads > maxThreads:
		return NormForm{}, false
	case v.Vec4 && (s.N%4 != 0 || !s.Aligned):
		return NormForm{}, false
	case v.Held && s.N > min(maxHeldFloats*v.Threads, maxHeldRow):
		return NormForm{}, false
	case f.additions(s.N) > s.N/128+13:
		return NormForm{}, false
	}
	if v.Held {
		f.Held = max(1, f.steps(s.N))
		f.Full = s.N / (f.Threads * f.lanes())
	}
	return f, true
}

func (f NormForm) lanes() int {
	if f.Vec4 {
		return 4
	}
	return 1
}

// steps returns how many elements, or fours, of a row of n floats a thread has at most.
func (f NormForm) steps(n int) int { return ceilDiv(uint32(n), uint32(f.Threads*f.lanes())) }

// additions returns how many roundings the sum of a row's squares goes through: a thread's own additions, those of its
// lanes, and a tree over the threads. With the square, the division and eps they are 7 more, half of which the root keeps;
// it and two products add 6. All that is within the n/256 + 16 units of a norm's bound while additions are at most
// n/128 + 13.
func (f NormForm) additions(n int) int {
	return f.steps(n) - 1 + bits.Len(uint(f.lanes()-1)) + bits.Len(uint(f.Threads-1))
}

// ChooseRMSNorm returns the form in which either norm kernel runs a shape, on a device with workgroups of up to
// maxThreads threads. Where so few cannot run it within a norm's bound, which takes less than 256 of them and rows of more
// than 1,024 floats that are not made of fours, it is the zero form, which asks for 256.
//
// Fours and registers are taken where they can be. There are 256 threads, 512 where those could not hold the row, and fewer
// while half as many would still find two fours each; the arena's kernel takes 512 and 1,024 for long rows that are not made of
// fours. How many rows there are changes nothing, so that the norm of
// a token does not depend on its batch, to the bit.
func ChooseRMSNorm(s NormShape, maxThreads int) NormForm {
	v := NormVariant{Vec4: s.N%4 == 0 && s.Aligned, Held: true, Threads: 256}
	if s.N > maxHeldFloats*v.Threads && maxThreads >= 512 {
		v.Threads = 512
	}
	if s.Arena && !v.Vec4 {
		for v.Threads < maxNormThreads && 2*v.Threads <= maxThreads && s.N > 8*v.Threads {
			v.Threads *= 2
		}
	}
	for v.Threads > minNormThreads && (s.N <= 4*v.Threads || v.Threads > maxThreads) {
		v.Threads /= 2
	}
	if f, ok := v.Form(s, maxThreads); ok {
		return f
	}
	v.Held, v.Threads = false, 256
	for v.Threads > minNormThreads && v.Threads > maxThreads {
		v.Threads /= 2
	}
	f, _ := v.Form(s, maxThreads)
	return f
}
