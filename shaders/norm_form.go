package shaders

import (
	"fmt"
	"strconv"
)

// NormForm is one way to run a norm: the defines of held_row.tmpl. The zero value reads rows twice, a float at a time,
// with 256 threads.
type NormForm struct {
	Threads int  // of a workgroup; 0 is 256
	Vec4    bool // four floats at a time
	Held    int  // elements, or fours of them, that a thread keeps in registers; 0 reads rows twice
	Whole   bool // rows are as long as Threads * Held elements, or fours
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
	if f.Whole {
		d["WHOLE"] = "1"
	}
	return d
}

// NormShape is what the choice of a form depends on.
type NormShape struct {
	N       int  // row length in floats
	Aligned bool // every offset and stride in use is a multiple of 4 floats
}

// maxHeldFloats is how many floats of a row a thread keeps at most: twice as many again are under way while it reads, and
// more would leave too few threads on the card.
const maxHeldFloats = 32

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
// rows that are not made of fours, or with more of a row in registers than a thread keeps.
func (v NormVariant) Form(s NormShape, maxThreads int) (NormForm, bool) {
	count := s.N
	if v.Vec4 {
		count /= 4
	}
	f := NormForm{Threads: v.Threads, Vec4: v.Vec4}
	switch {
	case v.Threads < minNormThreads || v.Threads > maxThreads:
		return NormForm{}, false
	case v.Vec4 && (s.N%4 != 0 || !s.Aligned):
		return NormForm{}, false
	case v.Held && s.N > maxHeldFloats*v.Threads:
		return NormForm{}, false
	case v.Held:
		f.Held = max(1, ceilDiv(uint32(count), uint32(v.Threads)))
		f.Whole = f.Held*f.Threads == count
	}
	return f, true
}

// ChooseRMSNorm returns the form in which either norm kernel runs a shape, on a device with workgroups of up to
// maxThreads threads, at least 256 of them.
//
// Fours and registers are taken where they can be. There are 256 threads, more where those could not hold the row, and
// fewer while half as many would still find two fours each. How many rows there are changes nothing, so that the norm of
// a token does not depend on its batch, to the bit.
func ChooseRMSNorm(s NormShape, maxThreads int) NormForm {
	v := NormVariant{Vec4: s.N%4 == 0 && s.Aligned, Held: true, Threads: 256}
	for v.Threads < min(maxThreads, maxNormThreads) && s.N > maxHeldFloats*v.Threads {
		v.Threads *= 2
	}
	for v.Threads > minNormThreads && s.N <= 4*v.Threads {
		v.Threads /= 2
	}
	if f, ok := v.Form(s, maxThreads); ok {
		return f
	}
	v.Held, v.Threads = false, 256
	f, _ := v.Form(s, maxThreads)
	return f
}
