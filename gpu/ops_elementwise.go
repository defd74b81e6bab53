//go:build cgo

package gpu

import (
	"math"

	"cera/backend"
	"cera/shaders"
)

// AddBias: x[r,i] += bias[i], in place. bias: [1, n].
func (b *Backend) AddBias(x, bias backend.Tensor) {
	const op = "AddBias"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("x", x, anySize, anySize)
	s := c.tensor("bias", bias, 1, x.N)
	c.exclusive([]operand{{"x", x}}, []operand{{"bias", bias}})
	if !c.ok() || x.Span() == 0 {
		return
	}
	p := shaders.AddBiasParams{
		Rows: u32(x.Rows), N: u32(x.N), XOff: u32(x.Off), XStride: u32(x.Stride), BiasOff: u32(bias.Off),
	}
	b.dispatch(op, shaders.AddBias{}, p, p.Grid(), whole(d), whole(s))
}

// Add: dst[r,i] += x[r,i], in place.
func (b *Backend) Add(dst, x backend.Tensor) {
	const op = "Add"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("x", x, dst.Rows, dst.N)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.AddParams{
		Rows: u32(dst.Rows), N: u32(dst.N), DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
		XOff: u32(x.Off), XStride: u32(x.Stride),
	}
	b.dispatch(op, shaders.Add{}, p, p.Grid(), whole(d), whole(s))
}

// AddGated: dst[r,i] += x[r,i] / (1 + exp(-gate[r,0])), in place. gate: [rows, 1].
func (b *Backend) AddGated(dst, x, gate backend.Tensor) {
	const op = "AddGated"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("x", x, dst.Rows, dst.N)
	g := c.tensor("gate", gate, dst.Rows, 1)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}, {"gate", gate}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.AddGatedParams{
		Rows: u32(dst.Rows), N: u32(dst.N), DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
		XOff: u32(x.Off), XStride: u32(x.Stride), GateOff: u32(gate.Off), GateStride: u32(gate.Stride),
	}
	b.dispatch(op, shaders.AddGated{}, p, p.Grid(), whole(d), whole(s), whole(g))
}

// Scale: x[r,i] *= factor, in place.
func (b *Backend) Scale(x backend.Tensor, factor float32) {
	const op = "Scale"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	d := c.tensor("x", x, anySize, anySize)
	if !c.ok() || x.Span() == 0 {
		return
	}
	p := shaders.ScaleParams{
		Rows: u32(x.Rows), N: u32(x.N), XOff: u32(x.Off), XStride: u32(x.Stride), FactorBits: math.Float32bits(factor),
	}
	b.dispatch(op, shaders.Scale{}, p, p.Grid(), whole(d))
}

// Softcap: x[r,i] = limit * tanh(x[r,i] / limit), in place. limit is a positive number.
func (b *Backend) Softcap(x backend.Tensor, limit float32) {
	const op = "Softcap"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	if !positive(limit) {
		c.fail("found limit %g, expected a positive number", limit)
	}
	d := c.tensor("x", x, anySize, anySize)
	if !c.ok() || x.Span() == 0 {
		return
	}
	p := shaders.SoftcapParams{
		Rows: u32(x.Rows), N: u32(x.N), XOff: u32(x.Off), XStride: u32(x.Stride), LimitBits: math.Float32bits(limit),
	}
	b.dispatch(op, shaders.Softcap{}, p, p.Grid(), whole(d))
}

// activations names the functions of one value as the shader variants do.
var activations = map[backend.Activation]string{backend.SiLU: "silu", backend.GELUTanh: "gelu_tanh"}

// gatedActivations names what GatedAct does beside.
var gatedActivations = map[backend.Activation]string{backend.ClampedSwiGLU: "clamped_swiglu"}

// Act: dst[r,i] = act(src[r,i]).
func (b *Backend) Act(dst, src backend.Tensor, act backend.Activation) {
	const op = "Act"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	name, known := activations[act]
	if gated, ok := gatedActivations[act]; ok {
		c.fail("activation %s takes a gate and a value: it is for GatedAct alone", gated)
	} else if !known {
		c.fail("unknown activation %d", uint8(act))
	}
	d := c.tensor("dst", dst, anySize, anySize)
	s := c.tensor("src", src, dst.Rows, dst.N)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"src", src}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.ActParams{
		Rows: u32(dst.Rows), N: u32(dst.N), SrcOff: u32(src.Off), SrcStride: u32(src.Stride),
		DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
	}
	b.dispatch(op, shaders.Act{Act: name}, p, p.Grid(), whole(s), whole(d))
}

// GatedAct: dst[r,i] = act(gate[r,i]) * up[r,i], or what ClampedSwiGLU does instead.
func (b *Backend) GatedAct(dst, gate, up backend.Tensor, act backend.Activation) {
	const op = "GatedAct"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	name, known := activations[act]
	if !known {
		name, known = gatedActivations[act]
	}
	if !known {
		c.fail("unknown activation %d", uint8(act))
	}
	d := c.tensor("dst", dst, anySize, anySize)
	g := c.tensor("gate", gate, dst.Rows, dst.N)
	u := c.tensor("up", up, dst.Rows, dst.N)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"gate", gate}, {"up", up}})
	if !c.ok() || dst.Span() == 0 {
		return
	}
	p := shaders.GatedActParams{
		Rows: u32(dst.Rows), N: u32(dst.N), GateOff: u32(gate.Off), GateStride: u32(gate.Stride),
		UpOff: u32(up.Off), UpStride: u32(up.Stride), DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
	}
	if act == backend.ClampedSwiGLU {
		p.LimitBits, p.AlphaBits = math.Float32bits(backend.SwiGLULimit), math.Float32bits(backend.SwiGLUAlpha)
	}
	b.dispatch(op, shaders.GatedAct{Act: name}, p, p.Grid(), whole(g), whole(u), whole(d))
}
