//go:build cgo

package gpu

import (
	"math"

	"cera/backend"
	"cera/shaders"
)

// ropeStyles names the styles as the shader variants do.
var ropeStyles = map[backend.RopeStyle]string{backend.RopeNorm: "norm", backend.RopeNeoX: "neox"}

// RoPE rotates pairs of every head of x in place by the angles of row pos[r] of table. x: [rows, nHead*HeadDim],
// pos: [1, rows] u32, table: [positions, RotDim].
func (b *Backend) RoPE(x, pos, table backend.Tensor, r backend.RoPE) {
	const op = "RoPE"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	style := c.rope(r, table)
	d := c.rotated("x", x, r)
	s := c.tensor("pos", pos, 1, x.Rows)
	tab := c.tensor("table", table, anySize, r.RotDim)
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

// rope checks the shape of a rotation and its table, and returns the style's name.
func (c *checker) rope(r backend.RoPE, table backend.Tensor) string {
	style, known := ropeStyles[r.Style]
	if !known {
		c.fail("unknown style %d", r.Style)
	}
	if r.HeadDim <= 0 || r.RotDim < 0 || r.RotDim > r.HeadDim || r.RotDim%2 != 0 {
		c.fail("found head dim %d and rotated dim %d, expected an even number up to the head dim", r.HeadDim, r.RotDim)
	}
	if c.err == nil && table.Stride != r.RotDim {
		c.fail("table: found stride %d, expected %d, its row length", table.Stride, r.RotDim)
	}
	return style
}

// rotated checks a tensor of heads.
func (c *checker) rotated(role string, x backend.Tensor, r backend.RoPE) *buffer {
	buf := c.tensor(role, x, anySize, anySize)
	if c.err == nil && x.N%r.HeadDim != 0 {
		c.fail("%s: found rows of %d, expected a multiple of the head dim %d", role, x.N, r.HeadDim)
	}
	return buf
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
	kc := c.tensor("cache K", kv.K, anySize, kv.Width(k.N))
	vc := c.tensor("cache V", kv.V, kv.K.Rows, kv.Width(k.N))
	c.exclusive([]operand{{"cache K", kv.K}, {"cache V", kv.V}}, []operand{{"k", k}, {"v", v}, {"pos", pos}})
	if !c.ok() || k.Span() == 0 {
		return
	}
	p := shaders.StoreKVParams{
		Rows: u32(k.Rows), N: u32(k.N), KOff: u32(k.Off), KStride: u32(k.Stride), VOff: u32(v.Off),
		VStride: u32(v.Stride),
		PosOff:  u32(pos.Off), KCOff: u32(kv.K.Off), KCStride: u32(kv.K.Stride),
		VCOff: u32(kv.V.Off), VCStride: u32(kv.V.Stride),
	}
	b.dispatch(op, shaders.StoreKV{Half: kv.Half}, p, p.Grid(), whole(ks), whole(vs), whole(ps), whole(kc), whole(vc))
}

// RopeStoreKV is RoPE of q and of k, and StoreKV of k and v: in one dispatch where each has a buffer of its own and
// halves pair up within a head.
func (b *Backend) RopeStoreKV(kv backend.KV, q, k, v, pos, table backend.Tensor, r backend.RoPE) {
	const op = "RopeStoreKV"
	if !b.ready(op) {
		return
	}
	if q.Buf == k.Buf || q.Buf == v.Buf || k.Buf == v.Buf || kv.K.Buf == kv.V.Buf || kv.Half && r.HeadDim%2 != 0 ||
		r.RotDim == 0 || q.Span() == 0 || k.Span() == 0 {
		backend.RopeThenStore(b, kv, q, k, v, pos, table, r)
		return
	}
	c := b.check(op)
	style := c.rope(r, table)
	qs := c.rotated("q", q, r)
	ks := c.rotated("k", k, r)
	vs := c.tensor("v", v, k.Rows, k.N)
	ps := c.tensor("pos", pos, 1, k.Rows)
	tab := c.tensor("table", table, anySize, r.RotDim)
	kc := c.tensor("cache K", kv.K, anySize, kv.Width(k.N))
	vc := c.tensor("cache V", kv.V, kv.K.Rows, kv.Width(k.N))
	if c.err == nil && q.Rows != k.Rows {
		c.fail("q: found %d rows, expected %d, those of k", q.Rows, k.Rows)
	}
	c.alone([]operand{{"q", q}, {"k", k}, {"cache K", kv.K}, {"cache V", kv.V}},
		[]operand{{"v", v}, {"pos", pos}, {"table", table}})
	if !c.ok() {
		return
	}
	p := shaders.RoPEStoreParams{
		Rows: u32(k.Rows), NHead: u32(q.N / r.HeadDim), NKV: u32(k.N / r.HeadDim), HeadDim: u32(r.HeadDim),
		RotDim: u32(r.RotDim),
		QOff:   u32(q.Off), QStride: u32(q.Stride), KOff: u32(k.Off), KStride: u32(k.Stride), VOff: u32(v.Off),
		VStride: u32(v.Stride),
		PosOff:  u32(pos.Off), TableOff: u32(table.Off), KCOff: u32(kv.K.Off), KCStride: u32(kv.K.Stride),
		VCOff: u32(kv.V.Off), VCStride: u32(kv.V.Stride),
	}
	b.dispatch(op, shaders.RoPEStore{Style: style, Half: kv.Half}, p, p.Grid(),
		whole(qs), whole(ks), whole(vs), whole(ps), whole(tab), whole(kc), whole(vc))
}

// UnpackHalf: dst[r,i] is the value of half i of row r of src, two a word. dst: [rows, n], src: [rows, ceil(n/2)].
func (b *Backend) UnpackHalf(dst, src backend.Tensor) { b.unpackHalf("UnpackHalf", dst, src, false) }

// Attention: row r of dst is softmax(s)·V over cache rows j from max(0, pos[r]-Window+1) to pos[r], a head at a time,
// with s[j] = q·K[j]·Scale, passed through the softcap where there is one. dst and q: [rows, NHead*HeadDim]; pos:
// [1, rows] u32; Sinks: [1, NHead]; query head h reads KV head h / (NHead/NKV).
func (b *Backend) Attention(dst, q backend.Tensor, kv backend.KV, pos backend.Tensor, a backend.Attention) {
	const op = "Attention"
	if !b.ready(op) {
		return
	}
	c := b.check(op)
	c.attention(a)
	width, kvWidth := a.NHead*a.HeadDim, kv.Width(a.NKV*a.HeadDim)
	d := c.tensor("dst", dst, anySize, width)
	s := c.tensor("q", q, dst.Rows, width)
	kc := c.tensor("cache K", kv.K, anySize, kvWidth)
	vc := c.tensor("cache V", kv.V, kv.K.Rows, kvWidth)
	ps := c.tensor("pos", pos, 1, dst.Rows)
	read := []operand{{"q", q}, {"cache K", kv.K}, {"cache V", kv.V}, {"pos", pos}}
	var sinks *buffer
	if a.Sinks.Valid() {
		sinks = c.tensor("sinks", a.Sinks, 1, a.NHead)
		read = append(read, operand{"sinks", a.Sinks})
	}
	c.exclusive([]operand{{"dst", dst}}, read)
	if c.err == nil && kv.K.Rows == 0 {
		c.fail("cache K: found no rows, expected one for every position")
	}
	if !c.ok() || dst.Rows == 0 {
		return
	}
	p := shaders.AttentionParams{
		Rows: u32(dst.Rows), NHead: u32(a.NHead), NKV: u32(a.NKV), HeadDim: u32(a.HeadDim),
		QOff: u32(q.Off), QStride: u32(q.Stride), KOff: u32(kv.K.Off), KStride: u32(kv.K.Stride),
		VOff: u32(kv.V.Off), VStride: u32(kv.V.Stride), PosOff: u32(pos.Off),
		DstOff: u32(dst.Off), DstStride: u32(dst.Stride), ScaleBits: math.Float32bits(a.Scale),
		Positions: u32(kv.K.Rows), Window: u32(min(a.Window, kv.K.Rows)), // wider than the cache is all of it
		SinksOff: u32(a.Sinks.Off),
	}
	if a.Softcap > 0 {
		p.SoftcapBits = math.Float32bits(a.Softcap)
	}
	shape := attentionShape{
		rows: dst.Rows, heads: a.NHead, kv: a.NKV, headDim: a.HeadDim, positions: kv.K.Rows, half: kv.Half,
		cacheAligned: byVector(kv.K) && byVector(kv.V), rowsAligned: byVector(q) && byVector(dst),
	}
	if p.Window > 0 {
		shape.positions = int(p.Window)
	}
	plan := planAttention(shape, b.attention, b.limits.WorkgroupStorage, b.maxThreads)
	b.attend(op, p, plan, kv.Half, s, kc, vc, ps, d, sinks)
}

// byVector tells whether t and its rows begin at multiples of four words, and so its buffer can be bound as vectors.
func byVector(t backend.Tensor) bool { return t.Off%4 == 0 && (t.Stride%4 == 0 || t.Rows == 1) }

// attention checks the shape of an attention op.
func (c *checker) attention(a backend.Attention) {
	heads := a.NHead > 0 && a.NHead <= math.MaxInt32 && a.NKV > 0 && a.NHead%a.NKV == 0
	if !heads || a.HeadDim <= 0 || a.HeadDim > shaders.MaxHeadDim {
		c.fail("found %d heads, %d KV heads, head dim %d; expected heads to be a multiple of KV heads and a head dim "+
			"of 1 to %d", a.NHead, a.NKV, a.HeadDim, shaders.MaxHeadDim)
	}
	if a.Window < 0 {
		c.fail("found a window of %d positions, expected 0 or more", a.Window)
	}
	if a.Softcap != 0 && !positive(a.Softcap) {
		c.fail("found softcap %g, expected 0 or a positive number", a.Softcap)
	}
}

// positive reports whether v is a number above 0, and finite.
func positive(v float32) bool { return v > 0 && !math.IsInf(float64(v), 1) }
