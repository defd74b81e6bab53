//go:build cgo

package gpu

import (
	"fmt"
	"math/bits"
	"strings"

	"cera/backend"
	"cera/shaders"
)

// Which kernels run an attention, and how: one function decides (planAttention).
//
//	general  any head, any alignment: a workgroup a row and head
//	split    few rows: the positions are split among workgroups, whose query heads share what they read
//	tile     many rows: tiles of queries and keys; the positions are split as well where the queries are few
//
// split and tile take heads of a multiple of 4 elements (8 in a cache of halves) up to shaders.MaxFastHeadDim, in a cache
// whose rows begin at a multiple of 16 bytes.
const (
	attentionGeneral = "general"
	attentionSplit   = "split"
	attentionTile    = "tile"
)

const (
	// splitRows is the number of rows up to which split is the faster one.
	splitRows = 8
	// splitWorkgroups and tileWorkgroups are as many as keep a large device busy: four and two a multiprocessor of 132.
	splitWorkgroups = 512
	tileWorkgroups  = 256
	// Positions of which two workgroups would save less time than a further dispatch takes.
	directPositions = 128
)

// attentionForce is what Options.AttentionVariant asks for; the zero value leaves the choice to planAttention.
type attentionForce struct {
	kernel     string
	workgroups int // of split, or 0
	cols       int // of tile, or 0
	depth      int
}

// parseAttention reads the name of a variant: general, split, tile, or with their numbers split-512 (workgroups) and
// tile-128-16 (keys and depth of a tile).
func parseAttention(name string) (f attentionForce, err error) {
	n, kind := 0, name
	switch {
	case strings.HasPrefix(name, attentionSplit+"-"):
		kind = attentionSplit
		n, err = fmt.Sscanf(name, attentionSplit+"-%d", &f.workgroups)
		if err == nil && (n != 1 || f.workgroups < 1 || f.workgroups > 1<<16) {
			err = fmt.Errorf("expected 1 to %d workgroups", 1<<16)
		}
	case strings.HasPrefix(name, attentionTile+"-"):
		kind = attentionTile
		_, err = fmt.Sscanf(name, attentionTile+"-%d-%d", &f.cols, &f.depth)
		if err == nil && (f.cols != 64 && f.cols != 128 || f.depth != 16 && f.depth != 32) {
			err = fmt.Errorf("expected 64 or 128 keys and a depth of 16 or 32")
		}
	case name != attentionGeneral && name != attentionSplit && name != attentionTile:
		err = fmt.Errorf("expected %s, %s or %s", attentionGeneral, attentionSplit, attentionTile)
	}
	if err != nil {
		return attentionForce{}, fmt.Errorf("attention %q: %w", name, err)
	}
	f.kernel = kind
	return f, nil
}

// attentionShape is what the choice depends on.
type attentionShape struct {
	rows, heads, kv, headDim int
	positions                int  // that a row sees at most
	half                     bool // the cache holds halves
	cacheAligned             bool // keys and values, and their rows, begin at multiples of 16 bytes
	rowsAligned              bool // q and dst do too
}

// attentionPlan is the outcome.
type attentionPlan struct {
	kernel string
	split  shaders.AttentionSplit
	tile   shaders.AttentionTile
	parts  int // of a KV head's query heads, each of which has workgroups of its own
	splits int // of the positions
}

// planAttention chooses the kernel for a shape, on a device with so many bytes of workgroup memory.
func planAttention(s attentionShape, force attentionForce, storage int) attentionPlan {
	general := attentionPlan{kernel: attentionGeneral, parts: 1, splits: 1}
	unit := 4
	if s.half {
		unit = 8
	}
	fast := s.headDim%unit == 0 && s.headDim <= shaders.MaxFastHeadDim && s.cacheAligned
	kernel := force.kernel
	if kernel == "" {
		kernel = attentionTile
		if s.rows <= splitRows || !s.rowsAligned {
			kernel = attentionSplit
		}
	}
	switch {
	case fast && kernel == attentionSplit:
		return planSplit(s, force, storage)
	case fast && kernel == attentionTile && s.rowsAligned:
		return planTile(s, force, storage)
	}
	return general
}

func planSplit(s attentionShape, force attentionForce, storage int) attentionPlan {
	p := attentionPlan{
		kernel: attentionSplit,
		split:  shaders.AttentionSplit{HeadDim: s.headDim, Heads: 4, Half: s.half},
	}
	group := s.heads / s.kv
	if eight := (shaders.AttentionSplit{HeadDim: s.headDim, Heads: 8, Half: s.half}); group > 4 && eight.Storage() <= storage {
		p.split = eight
	}
	p.parts = (group + p.split.Heads - 1) / p.split.Heads
	want := splitWorkgroups
	if force.workgroups > 0 {
		want = force.workgroups
	}
	p.splits = splitsFor(want, s.rows*s.kv*p.parts, s.positions, shaders.SplitTile)
	if s.positions <= directPositions && force.workgroups == 0 {
		p.splits = 1
	}
	return p
}

func planTile(s attentionShape, force attentionForce, storage int) attentionPlan {
	p := attentionPlan{kernel: attentionTile, parts: 1}
	p.tile = shaders.AttentionTile{HeadDim: s.headDim, Cols: 128, Depth: 16, Values: 16, Half: s.half}
	if s.headDim > 128 {
		p.tile.Cols = 64 // a thread's registers hold twice the output
	}
	if force.cols > 0 {
		wanted := p.tile
		wanted.Cols, wanted.Depth = force.cols, force.depth
		if wanted.Storage() <= storage {
			p.tile = wanted
		}
	}
	if p.tile.Storage() > storage {
		p.tile.Values = 8
	}
	tiles := (s.rows*(s.heads/s.kv) + shaders.TileRows - 1) / shaders.TileRows
	// A split of less than two tiles would not be worth its merging.
	p.splits = splitsFor(tileWorkgroups, tiles*s.kv, s.positions, 2*p.tile.Cols)
	return p
}

// splitsFor returns how many splits make as many workgroups as are wanted, of at least step positions each where a row sees
// as many as it can.
func splitsFor(want, each, positions, step int) int {
	return max(1, min(want/each, (positions+step-1)/step, shaders.MaxSplits))
}

// attend records an attention whose operands are checked. sinks may be nil.
func (b *Backend) attend(op string, p shaders.AttentionParams, plan attentionPlan, half bool, q, k, v, pos, dst, sinks *buffer) {
	binds := []binding{whole(q), whole(k), whole(v), whole(pos)}
	end := []binding{whole(dst)}
	if sinks != nil {
		end = append(end, whole(sinks))
	}
	p.Splits, p.Parts = u32(plan.splits), u32(plan.parts)
	if plan.kernel == attentionGeneral {
		b.dispatch(op, shaders.Attention{Sinks: sinks != nil, Half: half}, p, p.Grid(), append(binds, end...)...)
		return
	}
	exact := half && b.flushesHalves(op)
	if b.err != nil {
		return
	}
	merge := shaders.AttentionMerge{HeadDim: int(p.HeadDim), Sinks: sinks != nil}
	direct := plan.splits == 1
	first := end // what the first kernel writes, and sinks where it is the only one
	if !direct {
		found, err := b.partials(merge.Words(p))
		if err != nil {
			b.fail(op, err)
			return
		}
		first = []binding{whole(found)}
	}
	if plan.kernel == attentionSplit {
		s := plan.split
		s.ExactHalves, s.Direct, s.Sinks = exact, direct, direct && sinks != nil
		b.dispatch(op, s, p, s.Grid(p), append(binds, first...)...)
	} else {
		t := plan.tile
		t.ExactHalves, t.Direct, t.Sinks = exact, direct, direct && sinks != nil
		b.dispatch(op, t, p, t.Grid(p), append(binds, first...)...)
	}
	if !direct {
		b.dispatch(op, merge, p, merge.Grid(p), append(first, end...)...)
	}
}

// partials returns a buffer of at least so many words for what splits leave until they are merged. There is one for each
// power of two, kept for good: recorded steps refer to it.
func (b *Backend) partials(words int) (*buffer, error) {
	class := bits.Len(uint(words - 1))
	if buf := b.partial[class]; buf != nil {
		return buf, nil
	}
	words = min(1<<class, max(words, int(b.limits.MaxBinding/wordBytes)))
	buf, err := b.newBuffer("attention splits", words, internalBuffer, storageUsage)
	if err != nil {
		return nil, err
	}
	if b.partial == nil {
		b.partial = map[int]*buffer{}
	}
	b.partial[class] = buf
	return buf, nil
}

// halfKind is what the device's own conversion makes of subnormal halves.
type halfKind uint8

const (
	halvesUnknown halfKind = iota
	halvesKept
	halvesFlushed
)

// flushesHalves tells whether the device's own conversion takes subnormal halves for zero, which WGSL allows. The first call
// tries it, and waits for the device.
func (b *Backend) flushesHalves(op string) bool {
	if b.halves == halvesUnknown && b.err == nil {
		tape := b.tape // what the trial runs is no part of a recorded step
		b.tape = nil
		kind, err := b.tryHalves()
		b.tape = tape
		if err != nil {
			b.fail(op, fmt.Errorf("trial of halves: %w", err))
			return true
		}
		b.halves = kind
	}
	return b.halves == halvesFlushed
}

// tryHalves converts every subnormal half.
func (b *Backend) tryHalves() (halfKind, error) {
	const n = 1 << 11 // 2 × 1,023 subnormals, and both zeros
	src, dst := b.Alloc("halves", 1, n/2), b.Alloc("values", 1, n)
	defer func() {
		b.Free(src)
		b.Free(dst)
	}()
	words := make([]uint32, n/2)
	half := func(i int) uint32 { return uint32(i&1023 | i>>10<<15) }
	for i := range words {
		words[i] = half(2*i) | half(2*i+1)<<16
	}
	b.UploadU32(src, words)
	b.unpackHalf("UnpackHalf", dst, src, true)
	got := make([]float32, n)
	if err := b.Read(got, dst); err != nil {
		return halvesUnknown, err
	}
	for i, v := range got {
		want := float32(i&1023) * 0x1p-24
		if i>>10 != 0 {
			want = -want
		}
		if v != want {
			return halvesFlushed, nil
		}
	}
	return halvesKept, nil
}

// unpackHalf records the conversion of packed halves.
func (b *Backend) unpackHalf(op string, dst, src backend.Tensor, builtIn bool) {
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("src", src, dst.Rows, (dst.N+1)/2)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"src", src}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.UnpackHalfParams{
		Rows: u32(dst.Rows), N: u32(dst.N), SrcOff: u32(src.Off), SrcStride: u32(src.Stride),
		DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
	}
	b.dispatch(op, shaders.UnpackHalf{BuiltIn: builtIn}, p, p.Grid(), whole(s), whole(d))
}
