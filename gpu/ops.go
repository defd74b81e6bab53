//go:build cgo

package gpu

import (
	"math"

	"cera/backend"
	"cera/shaders"
)

// u32 converts a checked size or offset, which is below the largest binding's number of words.
func u32(n int) uint32 { return uint32(n) }

// Embed writes row tokens[i] of table into row i of dst. A token id outside the table gives a row of zeros.
func (b *Backend) Embed(dst backend.Tensor, table backend.Weight, tokens backend.Tensor) {
	const op = "Embed"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(table)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, w.n)
	t := c.tensor("tokens", tokens, 1, dst.Rows)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"tokens", tokens}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	// Each part of the table writes the rows that it holds; a token that none holds leaves zeros.
	if dst.Stride == dst.N {
		b.clearWords(op, d, dst.Off, dst.Span())
	} else {
		for r := range dst.Rows {
			b.clearWords(op, d, dst.Off+r*dst.Stride, dst.N)
		}
	}
	for _, k := range w.chunks {
		p := shaders.EmbedParams{
			N: u32(w.n), Rows: u32(dst.Rows), TokensOff: u32(tokens.Off),
			DstOff: u32(dst.Off), DstStride: u32(dst.Stride), RowLo: u32(k.lo), RowHi: u32(k.hi),
		}
		b.dispatch(op, shaders.Embed{Format: w.format.String()}, p, p.Grid(), whole(k.buf), whole(t), whole(d))
	}
}

// MatMul: dst[r,o] = sum over k of x[r,k] * w[o,k]. dst: [rows, w.Rows()], x: [rows, w.N()]. Few rows go through
// the matrix-vector kernel, many through the tiled one.
func (b *Backend) MatMul(dst, x backend.Tensor, weight backend.Weight) {
	const op = "MatMul"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	w := c.weight(weight)
	if c.err != nil {
		c.ok()
		return
	}
	d := c.tensor("dst", dst, anySize, w.rows)
	s := c.tensor("x", x, dst.Rows, w.n)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"x", x}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	for _, k := range w.chunks {
		p := shaders.MatMulParams{
			K: u32(w.n), M: u32(k.hi - k.lo), Rows: u32(dst.Rows), XOff: u32(x.Off), XStride: u32(x.Stride),
			DstOff: u32(dst.Off + k.lo), DstStride: u32(dst.Stride),
		}
		var v shaders.Variant = shaders.MatMul{Format: w.format.String()}
		grid := p.TileGrid()
		if dst.Rows <= b.matVecRows {
			v, grid = shaders.MatVec{Format: w.format.String()}, p.Grid()
		}
		b.dispatch(op, v, p, grid, whole(k.buf), whole(s), whole(d))
	}
}

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

// ropeStyles names the styles as the shader variants do.
var ropeStyles = map[backend.RopeStyle]string{backend.RopeNorm: "norm"}

// RoPE rotates pairs of every head of x in place by the angles of row pos[r] of table. x: [rows, nHead*HeadDim],
// pos: [1, rows] u32, table: [positions, RotDim].
func (b *Backend) RoPE(x, pos, table backend.Tensor, r backend.RoPE) {
	const op = "RoPE"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	style, known := ropeStyles[r.Style]
	if !known {
		c.fail("unknown style %d", r.Style)
	}
	if r.HeadDim <= 0 || r.RotDim < 0 || r.RotDim > r.HeadDim || r.RotDim%2 != 0 {
		c.fail("found head dim %d and rotated dim %d, expected an even number up to the head dim", r.HeadDim, r.RotDim)
	}
	d := c.tensor("x", x, anySize, anySize)
	if c.err == nil && x.N%r.HeadDim != 0 {
		c.fail("x: found rows of %d, expected a multiple of the head dim %d", x.N, r.HeadDim)
	}
	s := c.tensor("pos", pos, 1, x.Rows)
	tab := c.tensor("table", table, anySize, r.RotDim)
	if c.err == nil && table.Stride != r.RotDim {
		c.fail("table: found stride %d, expected %d, its row length", table.Stride, r.RotDim)
	}
	c.exclusive([]operand{{"x", x}}, []operand{{"pos", pos}, {"table", table}})
	if !c.ok() || x.Span() == 0 || r.RotDim == 0 {
		return
	}
	p := shaders.RoPEParams{
		Rows: u32(x.Rows), NHead: u32(x.N / r.HeadDim), HeadDim: u32(r.HeadDim), RotDim: u32(r.RotDim),
		XOff: u32(x.Off), XStride: u32(x.Stride), PosOff: u32(pos.Off), TableOff: u32(table.Off),
	}
	b.dispatch(op, shaders.RoPE{Style: style}, p, p.Grid(), whole(d), whole(s), whole(tab))
}

// StoreKV writes row r of k and v into row pos[r] of the cache. pos: [1, rows] u32.
func (b *Backend) StoreKV(kv backend.KV, k, v, pos backend.Tensor) {
	const op = "StoreKV"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	ks := c.tensor("k", k, anySize, anySize)
	vs := c.tensor("v", v, k.Rows, k.N)
	ps := c.tensor("pos", pos, 1, k.Rows)
	kc := c.tensor("cache K", kv.K, anySize, k.N)
	vc := c.tensor("cache V", kv.V, kv.K.Rows, k.N)
	c.exclusive([]operand{{"cache K", kv.K}, {"cache V", kv.V}}, []operand{{"k", k}, {"v", v}, {"pos", pos}})
	if !c.ok() || k.Span() == 0 {
		return
	}
	p := shaders.StoreKVParams{
		Rows: u32(k.Rows), N: u32(k.N), KOff: u32(k.Off), KStride: u32(k.Stride), VOff: u32(v.Off), VStride: u32(v.Stride),
		PosOff: u32(pos.Off), KCOff: u32(kv.K.Off), KCStride: u32(kv.K.Stride), VCOff: u32(kv.V.Off), VCStride: u32(kv.V.Stride),
	}
	b.dispatch(op, shaders.StoreKV{}, p, p.Grid(), whole(ks), whole(vs), whole(ps), whole(kc), whole(vc))
}

// Attention: row r of dst is softmax(q·Kᵀ·scale)·V over cache rows 0..pos[r], a head at a time. dst and q:
// [rows, NHead*HeadDim]; pos: [1, rows] u32; query head h reads KV head h / (NHead/NKV).
func (b *Backend) Attention(dst, q backend.Tensor, kv backend.KV, pos backend.Tensor, a backend.Attention) {
	const op = "Attention"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	if a.NHead <= 0 || a.NKV <= 0 || a.HeadDim <= 0 || a.NHead%a.NKV != 0 || a.HeadDim > shaders.MaxHeadDim || a.NHead > math.MaxInt32 {
		c.fail("found %d heads, %d KV heads, head dim %d; expected heads to be a multiple of KV heads and a head dim of 1 to %d", a.NHead, a.NKV, a.HeadDim, shaders.MaxHeadDim)
	}
	width, kvWidth := a.NHead*a.HeadDim, a.NKV*a.HeadDim
	d := c.tensor("dst", dst, anySize, width)
	s := c.tensor("q", q, dst.Rows, width)
	kc := c.tensor("cache K", kv.K, anySize, kvWidth)
	vc := c.tensor("cache V", kv.V, kv.K.Rows, kvWidth)
	ps := c.tensor("pos", pos, 1, dst.Rows)
	c.exclusive([]operand{{"dst", dst}}, []operand{{"q", q}, {"cache K", kv.K}, {"cache V", kv.V}, {"pos", pos}})
	if !c.ok() || dst.Rows == 0 {
		return
	}
	p := shaders.AttentionParams{
		Rows: u32(dst.Rows), NHead: u32(a.NHead), NKV: u32(a.NKV), HeadDim: u32(a.HeadDim),
		QOff: u32(q.Off), QStride: u32(q.Stride), KOff: u32(kv.K.Off), KStride: u32(kv.K.Stride),
		VOff: u32(kv.V.Off), VStride: u32(kv.V.Stride), PosOff: u32(pos.Off),
		DstOff: u32(dst.Off), DstStride: u32(dst.Stride), ScaleBits: math.Float32bits(a.Scale),
	}
	b.dispatch(op, shaders.Attention{}, p, p.Grid(), whole(s), whole(kc), whole(vc), whole(ps), whole(d))
}

// activations names the activations as the shader variants do.
var activations = map[backend.Activation]string{backend.SiLU: "silu"}

// GatedAct: dst[r,i] = act(gate[r,i]) * up[r,i].
func (b *Backend) GatedAct(dst, gate, up backend.Tensor, act backend.Activation) {
	const op = "GatedAct"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	name, known := activations[act]
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
	b.dispatch(op, shaders.GatedAct{Act: name}, p, p.Grid(), whole(g), whole(u), whole(d))
}
