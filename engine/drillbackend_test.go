package engine_test

import (
	"cera/backend"
)

// drill is a backend in which one call of one op goes wrong. Calls of an op count from 0 in every pass, which begins
// with Embed.
type drill struct {
	backend.Backend
	f     fault
	count map[string]int
	load  func(name string, f backend.Format, data []byte) []byte // changes a weight on its way to the device; optional
	saved map[string][]byte                                       // weights that load wants to see again

	norms  []backend.Tensor // weights of the norms of this pass so far
	stream backend.Tensor   // as the last norm had it
}

// call is one call of an op: its operands, which a fault may exchange before it runs it, and the device.
type call struct {
	*drill
	be                backend.Backend
	dst, a, b, w, pos *backend.Tensor // dst; the other operands in order; a norm's or bias' weight; positions
	weight            *backend.Weight
	eps               *float32
	rope              *backend.RoPE
	attn              *backend.Attention
	kv                *backend.KV
	router            *backend.Router
	run               func()
}

func (d *drill) do(op string, c call) {
	n := d.count[op]
	d.count[op]++
	if op == "norm" {
		d.norms, d.stream = append(d.norms[:n], *c.w), *c.a
	}
	if d.f.do == nil || d.f.op != op || d.f.at >= 0 && d.f.at != n {
		c.run()
		return
	}
	c.drill, c.be = d, d.Backend
	d.f.do(c)
}

func (d *drill) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	if d.load != nil {
		data = d.load(name, f, append([]byte(nil), data...))
	}
	return d.Backend.LoadWeight(name, f, rows, n, data)
}

func (d *drill) Embed(dst backend.Tensor, table backend.Weight, tokens backend.Tensor) {
	d.count = map[string]int{}
	d.do("embed", call{dst: &dst, weight: &table, pos: &tokens, run: func() { d.Backend.Embed(dst, table, tokens) }})
}

func (d *drill) RMSNorm(dst, src, w backend.Tensor, eps float32) {
	d.do("norm", call{dst: &dst, a: &src, w: &w, eps: &eps, run: func() { d.Backend.RMSNorm(dst, src, w, eps) }})
}

func (d *drill) AddRMSNorm(dst, src, residual, w backend.Tensor, eps float32) {
	d.do("norm", call{dst: &dst, a: &src, b: &residual, w: &w, eps: &eps,
		run: func() { d.Backend.AddRMSNorm(dst, src, residual, w, eps) }})
}

func (d *drill) MatMul(dst, x backend.Tensor, w backend.Weight) {
	d.do("matmul", call{dst: &dst, a: &x, weight: &w, run: func() { d.Backend.MatMul(dst, x, w) }})
}

// MatMuls, RopeStoreKV and GatedMatMul are their parts, each a call that may go wrong.
func (d *drill) MatMuls(dst []backend.Tensor, x backend.Tensor, w []backend.Weight) {
	backend.MatMulEach(d, dst, x, w)
}

func (d *drill) RopeStoreKV(c backend.KV, q, k, v, pos, table backend.Tensor, p backend.RoPE) {
	backend.RopeThenStore(d, c, q, k, v, pos, table, p)
}

func (d *drill) GatedMatMul(dst, gate, up, x backend.Tensor, wGate, wUp backend.Weight, act backend.Activation) {
	backend.MatMulThenAct(d, dst, gate, up, x, wGate, wUp, act)
}

func (d *drill) AddBias(x, bias backend.Tensor) {
	d.do("bias", call{dst: &x, w: &bias, run: func() { d.Backend.AddBias(x, bias) }})
}

func (d *drill) RoPE(x, pos, table backend.Tensor, p backend.RoPE) {
	d.do("rope", call{dst: &x, pos: &pos, a: &table, rope: &p, run: func() { d.Backend.RoPE(x, pos, table, p) }})
}

func (d *drill) StoreKV(c backend.KV, k, v, pos backend.Tensor) {
	d.do("store", call{kv: &c, a: &k, b: &v, pos: &pos, run: func() { d.Backend.StoreKV(c, k, v, pos) }})
}

func (d *drill) Attention(dst, q backend.Tensor, c backend.KV, pos backend.Tensor, p backend.Attention) {
	d.do("attention", call{dst: &dst, a: &q, kv: &c, pos: &pos, attn: &p,
		run: func() { d.Backend.Attention(dst, q, c, pos, p) }})
}

func (d *drill) GatedAct(dst, gate, up backend.Tensor, act backend.Activation) {
	d.do("act", call{dst: &dst, a: &gate, b: &up, run: func() { d.Backend.GatedAct(dst, gate, up, act) }})
}

func (d *drill) FusedResidualRMSNorm(p backend.FusedNorm) {
	d.do("norm", call{
		dst: &p.Out, a: &p.Sum, b: &p.Residual, w: &p.Gamma, eps: &p.Eps,
		run: func() { d.Backend.FusedResidualRMSNorm(p) },
	})
}

func (d *drill) LayerNorm(dst, src, w, bias backend.Tensor, eps float32) {
	d.do("norm", call{dst: &dst, a: &src, b: &bias, w: &w, eps: &eps,
		run: func() { d.Backend.LayerNorm(dst, src, w, bias, eps) }})
}

func (d *drill) Scale(x backend.Tensor, factor float32) {
	d.do("scale", call{dst: &x, run: func() { d.Backend.Scale(x, factor) }})
}

func (d *drill) Softcap(x backend.Tensor, limit float32) {
	d.do("softcap", call{dst: &x, run: func() { d.Backend.Softcap(x, limit) }})
}

func (d *drill) Add(dst, x backend.Tensor) {
	d.do("add", call{dst: &dst, a: &x, run: func() { d.Backend.Add(dst, x) }})
}

func (d *drill) Act(dst, src backend.Tensor, act backend.Activation) {
	d.do("act", call{dst: &dst, a: &src, run: func() { d.Backend.Act(dst, src, act) }})
}

func (d *drill) Route(ids, weights, logits backend.Tensor, p backend.Router) {
	d.do("route", call{dst: &weights, pos: &ids, a: &logits, router: &p,
		run: func() { d.Backend.Route(ids, weights, logits, p) }})
}

func (d *drill) ExpertMatMul(dst, x backend.Tensor, w backend.Weight, ids backend.Tensor) {
	d.do("expert matmul", call{dst: &dst, a: &x, weight: &w, pos: &ids,
		run: func() { d.Backend.ExpertMatMul(dst, x, w, ids) }})
}

func (d *drill) ExpertBias(x, bias, ids backend.Tensor) {
	d.do("expert bias", call{dst: &x, w: &bias, pos: &ids, run: func() { d.Backend.ExpertBias(x, bias, ids) }})
}

func (d *drill) Combine(dst, x, weights backend.Tensor) {
	d.do("combine", call{dst: &dst, a: &x, b: &weights, run: func() { d.Backend.Combine(dst, x, weights) }})
}

func (d *drill) AddGated(dst, x, gate backend.Tensor) {
	d.do("add gated", call{dst: &dst, a: &x, b: &gate, run: func() { d.Backend.AddGated(dst, x, gate) }})
}

// host reads a tensor.
func (c call) host(t backend.Tensor) []float32 {
	data := make([]float32, t.Rows*t.N)
	if err := c.be.Read(data, t); err != nil {
		panic(err)
	}
	return data
}

// ids reads a tensor of positions or token ids.
func (c call) ids(t backend.Tensor) []uint32 {
	data := c.host(t)
	out := make([]uint32, len(data))
	for i, v := range data {
		out[i] = bits(v)
	}
	return out
}

// other returns positions that f makes of those there are.
func (c call) other(f func(p uint32) uint32) backend.Tensor {
	return c.reordered(func(at []uint32) {
		for i, p := range at {
			at[i] = f(p)
		}
	})
}

// reordered returns the positions or ids as f leaves them.
func (c call) reordered(f func(ids []uint32)) backend.Tensor {
	at := c.ids(*c.pos)
	f(at)
	t := c.be.Alloc("other ids", 1, len(at))
	c.be.UploadU32(t, at)
	return t
}

// patch runs the op and passes each of dst's values through f.
func (c call) patch(f func(r, i int, v float32) float32) {
	c.run()
	data := c.host(*c.dst)
	for i, v := range data {
		data[i] = f(i/c.dst.N, i%c.dst.N, v)
	}
	c.be.Upload(*c.dst, data)
}

// columns returns n columns of t from column lo on.
func columns(t backend.Tensor, lo, n int) backend.Tensor {
	t.Off += lo
	t.N = n
	return t
}
