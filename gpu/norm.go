//go:build cgo

package gpu

import (
	"math"

	"cera/backend"
	"cera/shaders"
)

// RMSNorm: dst[r,i] = src[r,i] / sqrt(mean(src[r]²) + eps) * w[i]. w: [1, n]. dst and src may be in one buffer, w
// not with them.
func (b *Backend) RMSNorm(dst, src, w backend.Tensor, eps float32) {
	b.rmsNorm("RMSNorm", dst, src, backend.Tensor{}, w, eps)
}

// AddRMSNorm: src[r,i] += residual[r,i], written back, then RMSNorm of it into dst. residual has src's stride. dst
// and src may be in one buffer, residual and w not with them.
func (b *Backend) AddRMSNorm(dst, src, residual, w backend.Tensor, eps float32) {
	const op = "AddRMSNorm"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	c.tensor("residual", residual, src.Rows, src.N)
	if c.err == nil && residual.Stride != src.Stride {
		c.fail("residual: found stride %d, expected %d, that of src", residual.Stride, src.Stride)
	}
	if c.ok() {
		b.rmsNorm(op, dst, src, residual, w, eps)
	}
}

func (b *Backend) rmsNorm(op string, dst, src, residual, w backend.Tensor, eps float32) {
	if !b.ready(op) {
		return
	}
	add := residual.Valid()
	c := b.check(op)
	c.tensor("dst", dst, anySize, anySize)
	c.tensor("src", src, dst.Rows, dst.N)
	c.tensor("w", w, 1, dst.N)
	read := []operand{{"w", w}}
	if add {
		read = append(read, operand{"residual", residual})
	}
	c.exclusive([]operand{{"dst", dst}, {"src", src}}, read)
	if !c.ok() || dst.Span() == 0 {
		return
	}
	// The kernel has no offsets and no row count: bound as long as they are, its operands say where the rows end.
	bound := []boundTensor{b.bindSpan(op, src), b.bindSpan(op, dst), b.bindSpan(op, w)}
	if add {
		bound = append(bound, b.bindSpan(op, residual))
	}
	form := b.normForm(shaders.NormShape{N: dst.N, Aligned: src.Stride%4 == 0 && dst.Stride%4 == 0})
	p := shaders.RMSNormBatchParams{
		N: u32(dst.N), EpsBits: math.Float32bits(eps), SrcStride: u32(src.Stride), DstStride: u32(dst.Stride),
	}
	binds := make([]binding, len(bound))
	for i, t := range bound {
		binds[i] = t.binding
	}
	b.dispatch(op, shaders.RMSNormBatch{Add: add, Form: form}, p, p.Grid(dst.Rows), binds...)
	if add {
		b.writeBack(op, bound[0])
	}
	b.writeBack(op, bound[1])
}

// normForm returns how to run a norm: as Options.NormVariant asks where that is possible.
func (b *Backend) normForm(s shaders.NormShape) shaders.NormForm {
	if f, ok := b.normVariant.Form(s, b.maxThreads); ok {
		return f
	}
	return shaders.ChooseRMSNorm(s, b.maxThreads)
}

// boundTensor is a tensor with the range that stands for it in a dispatch: its own, or that of a copy.
type boundTensor struct {
	t backend.Tensor
	binding
	copied bool
}

// bindSpan binds exactly t's span. WebGPU wants a binding to start at a multiple of OffsetAlign; a tensor that
// does not, such as one row of a matrix of odd width, is bound through a copy of its span.
func (b *Backend) bindSpan(op string, t backend.Tensor) boundTensor {
	buf := t.Buf.(*buffer)
	out := boundTensor{t: t, binding: span(buf, t)}
	if out.off%uint64(b.limits.OffsetAlign) == 0 {
		return out
	}
	tmp, err := b.temp(t.Span())
	if err != nil {
		b.fail(op, err)
		return out
	}
	b.copyWords(op, tmp, 0, buf, t.Off, t.Span())
	out.binding, out.copied = whole(tmp), true
	return out
}

// writeBack copies what a kernel wrote to the copy of a tensor, and only the tensor's own elements: another
// operand may lie between its rows.
func (b *Backend) writeBack(op string, t boundTensor) {
	if t.copied && b.err == nil {
		b.copyRows(op, t.t, backend.Tensor{Buf: t.buf, Rows: t.t.Rows, N: t.t.N, Stride: t.t.Stride})
	}
}

// LayerNorm: dst[r,i] = (src[r,i] - mean(src[r])) / sqrt(variance(src[r]) + eps) * w[i] + bias[i]. w, bias: [1, n];
// bias is optional. The sum of a row's magnitudes must be below 2^127.
func (b *Backend) LayerNorm(dst, src, w, bias backend.Tensor, eps float32) {
	const op = "LayerNorm"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("src", src, dst.Rows, dst.N)
	ws := c.tensor("w", w, 1, dst.N)
	read := []operand{{"src", src}, {"w", w}}
	var bs *buffer
	if bias.Valid() {
		bs = c.tensor("bias", bias, 1, dst.N)
		read = append(read, operand{"bias", bias})
	}
	c.exclusive([]operand{{"dst", dst}}, read)
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.LayerNormParams{
		Rows: u32(dst.Rows), N: u32(dst.N), SrcOff: u32(src.Off), SrcStride: u32(src.Stride),
		DstOff: u32(dst.Off), DstStride: u32(dst.Stride), WOff: u32(w.Off), BiasOff: u32(bias.Off),
		EpsBits: math.Float32bits(eps),
	}
	binds := []binding{whole(s), whole(ws), whole(d)}
	if bs != nil {
		binds = append(binds, whole(bs))
	}
	b.dispatch(op, shaders.ChooseLayerNorm(bs != nil, dst.N, b.maxThreads), p, p.Grid(), binds...)
}

// FusedResidualRMSNorm is the norm of in + residual + bias with a shift. All operands are views of one buffer, the
// matrices with stride n; Sum may be In or Residual itself.
func (b *Backend) FusedResidualRMSNorm(f backend.FusedNorm) {
	const op = "FusedResidualRMSNorm"
	if !b.ready(op) {
		return
	}
	rows, n := f.Out.Rows, f.Out.N
	c := b.check(op)
	matrices := []operand{{"out", f.Out}, {"in", f.In}, {"residual", f.Residual}}
	vectors := []operand{{"gamma", f.Gamma}, {"beta", f.Beta}}
	if f.Sum.Valid() {
		matrices = append(matrices, operand{"sum", f.Sum})
	}
	if f.Bias.Valid() {
		vectors = append(vectors, operand{"bias", f.Bias})
	}
	arena := c.tensor("out", f.Out, anySize, anySize)
	for _, m := range matrices {
		c.tensor(m.role, m.t, rows, n)
		if c.err == nil && m.t.Stride != n {
			c.fail("%s: found stride %d, expected %d, the row length", m.role, m.t.Stride, n)
		}
	}
	for _, v := range vectors {
		c.tensor(v.role, v.t, 1, n)
	}
	all := append(matrices, vectors...)
	for _, x := range all {
		if c.err == nil && x.t.Buf != f.Out.Buf {
			c.fail("%s is in buffer %s, out in %s; expected one buffer", x.role, x.t.Buf.(*buffer).name, arena.name)
		}
		if x.role != "out" {
			c.apart("out", f.Out, x.role, x.t)
		}
		inPlace := (x.role == "in" || x.role == "residual") && x.t.Off == f.Sum.Off
		if f.Sum.Valid() && x.role != "sum" && !inPlace {
			c.apart("sum", f.Sum, x.role, x.t)
		}
	}
	if !c.ok() || f.Out.Span() == 0 {
		return
	}
	p := shaders.FusedResidualRMSNormParams{
		Outer: u32(rows), Inner: u32(n), InOff: u32(f.In.Off), ResidualOff: u32(f.Residual.Off),
		BiasOff:  u32(f.Bias.Off),
		GammaOff: u32(f.Gamma.Off), BetaOff: u32(f.Beta.Off), OutOff: u32(f.Out.Off), EpsBits: math.Float32bits(f.Eps),
		SumOff: u32(f.Sum.Off),
	}
	if f.Bias.Valid() {
		p.HasBias = 1
	}
	offsets := 0
	for _, x := range all {
		offsets |= x.t.Off // a multiple of 4 where all of them are
	}
	v := shaders.FusedResidualRMSNorm{Tee: f.Sum.Valid(),
		Form: b.normForm(shaders.NormShape{N: n, Aligned: n%4 == 0 && offsets%4 == 0, Arena: true})}
	b.dispatch(op, v, p, p.Grid(), whole(arena))
}
