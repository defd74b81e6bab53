//go:build cgo

package gpu

import (
	"fmt"

	"cera/backend"
	"cera/shaders"
)

// halfKind is what the device's own conversion makes of subnormal halves.
type halfKind uint8

const (
	halvesUnknown halfKind = iota
	halvesKept
	halvesFlushed
)

// flushesHalves tells whether the device's own conversion takes subnormal halves for zero, which WGSL allows. The first
// call tries it, and waits for the device.
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
