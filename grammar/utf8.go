package grammar

import (
	"slices"
	"sort"
)

// A class of code points becomes an automaton over the bytes of their UTF-8, so that a token may end within a
// character. Overlong forms and surrogates are in no class, and so in no automaton.

// byteRange leads from a node to the next on any of the bytes lo to hi.
type byteRange struct {
	lo, hi byte
	next   int32 // a node, or charEnd
}

// charEnd stands in place of a node after the last byte of a character.
const charEnd int32 = -1

// byteNode is the ranges that lead on, in ascending order.
type byteNode []byteRange

// next returns where a byte leads.
func (n byteNode) next(b byte) (node int32, ok bool) {
	for _, r := range n {
		if b <= r.hi {
			return r.next, b >= r.lo
		}
	}
	return 0, false
}

// byteNodes makes nodes. Nodes with the same ranges are one.
type byteNodes struct {
	nodes []byteNode
	index map[string]int32
	sets  map[string]int32 // first nodes by their sets
	key   []byte
	any   [4]int32 // by n, the node after which n more bytes of any value come
}

func newByteNodes() *byteNodes {
	b := &byteNodes{index: map[string]int32{}, sets: map[string]int32{}}
	b.any[0] = charEnd
	for n := 1; n < len(b.any); n++ {
		b.any[n] = b.add(byteNode{{0x80, 0xBF, b.any[n-1]}})
	}
	return b
}

func (b *byteNodes) add(n byteNode) int32 {
	b.key = b.key[:0]
	for _, r := range n {
		b.key = append(b.key, r.lo, r.hi, byte(r.next), byte(r.next>>8), byte(r.next>>16), byte(r.next>>24))
	}
	id, ok := b.index[string(b.key)]
	if !ok {
		id = int32(len(b.nodes))
		b.index[string(b.key)] = id
		b.nodes = append(b.nodes, slices.Clone(n))
	}
	return id
}

// class returns the first node of a normalized set.
func (b *byteNodes) class(set []runeRange) int32 {
	key := make([]byte, 0, 8*len(set))
	for _, r := range set {
		for _, x := range [2]rune{r.lo, r.hi} {
			key = append(key, byte(x), byte(x>>8), byte(x>>16))
		}
	}
	if id, ok := b.sets[string(key)]; ok {
		return id
	}
	var first byteNode
	for _, r := range clip(set, 0, 0x7F) {
		first = append(first, byteRange{byte(r.lo), byte(r.hi), charEnd})
	}
	for _, form := range []struct {
		lo, hi    rune // what has this form
		lead, end byte // first bytes
		more      int  // bytes after the first
	}{
		{0x80, 0x7FF, 0xC0, 0xDF, 1}, {0x800, 0xFFFF, 0xE0, 0xEF, 2}, {0x10000, 0x10FFFF, 0xF0, 0xF7, 3},
	} {
		part := clip(set, form.lo, form.hi)
		for lead := int(form.lead); lead <= int(form.end); lead++ {
			first = b.lead(first, byte(lead), part, rune(lead-int(form.lead))<<(6*form.more), form.more)
		}
	}
	id := b.add(first)
	b.sets[string(key)] = id
	return id
}

// clip returns what of a set is within lo to hi.
func clip(set []runeRange, lo, hi rune) (out []runeRange) {
	for _, r := range within(set, lo, hi) {
		out = append(out, runeRange{max(r.lo, lo), min(r.hi, hi)})
	}
	return out
}

// within returns the ranges of a set that have code points of lo to hi.
func within(set []runeRange, lo, hi rune) []runeRange {
	from := sort.Search(len(set), func(i int) bool { return set[i].hi >= lo })
	to := from + sort.Search(len(set)-from, func(i int) bool { return set[from+i].lo > hi })
	return set[from:to]
}

// lead appends to a node the byte after which more bytes give the code points of set from base on, if there are any.
func (b *byteNodes) lead(n byteNode, lead byte, set []runeRange, base rune, more int) byteNode {
	end := base + 1<<(6*more) - 1
	set = within(set, base, end)
	if len(set) == 0 {
		return n
	}
	next := b.any[more]
	if set[0].lo > base || set[0].hi < end {
		var node byteNode
		for i := range rune(64) {
			node = b.lead(node, byte(0x80+i), set, base+i<<(6*(more-1)), more-1)
		}
		next = b.add(node)
	}
	if last := len(n) - 1; last >= 0 && n[last].next == next && n[last].hi == lead-1 {
		n[last].hi = lead
		return n
	}
	return append(n, byteRange{lead, lead, next})
}
