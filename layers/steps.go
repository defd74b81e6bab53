package layers

import "cera/backend"

// The steps of attention, of the MLP and of a mixture of experts, each one op of the backend.

// headNorm norms queries or keys, a head at a time or all heads of a token together.
func (p *pass) headNorm(dst scratch, x value, n *Norm, site string) value {
	groups := 1
	if p.m.QK == HeadQKNorm {
		groups = x.N / p.m.HeadDim
	}
	return p.rms(value{dst.of(x.N).first(p.rows), site, p.layer}, x, n, groups)
}

// ropeStore rotates queries and keys in place, and stores keys and values.
func (p *pass) ropeStore(b *Block, q, k, v value) (_, keys, values value) {
	p.be.RopeStoreKV(p.s.kv[p.layer], q.Tensor, k.Tensor, v.Tensor, p.pos, p.s.ropes[b.Rope], p.m.ropeShape())
	q = p.roped(b, q, "rope of q", SiteQRope)
	k = p.roped(b, k, "rope of k", SiteKRope)
	keys, values = p.stored(k, v)
	return q, keys, values
}

// roped ends the step of a rotation that was made.
func (p *pass) roped(b *Block, x value, op, site string) value {
	out := x.as(site, p.layer)
	if line := p.did(OpRoPE, op, out, x); line != nil {
		line.Rope, line.Turn = p.m.ropeShape(), p.m.Ropes[b.Rope]
		line.HeadDim = line.Rope.HeadDim
		if line.Turn.Factors {
			if f := p.m.factors(); f.Has {
				line.Weight = f.Name
			}
		}
	}
	return out
}

// store puts keys and values into the cache.
func (p *pass) store(k, v value) (keys, values value) {
	p.be.StoreKV(p.s.kv[p.layer], k.Tensor, v.Tensor, p.pos)
	return p.stored(k, v)
}

// stored ends the step of keys and values that were put into the cache, and returns its rows of these tokens. Of a
// cache of halves a probe sees a copy in f32.
func (p *pass) stored(k, v value) (keys, values value) {
	kv := p.s.kv[p.layer]
	for i, c := range []struct {
		dst   *value
		cache backend.Tensor
		src   value
		op    string
		site  string
	}{{&keys, kv.K, k, "KV store of k", SiteCacheK}, {&values, kv.V, v, "KV store of v", SiteCacheV}} {
		stored := c.cache.Slice(p.from, p.from+p.rows)
		if p.s.half && p.probe != nil {
			stored = p.s.unpacked(i, stored, c.src.N)
		}
		*c.dst = value{stored, c.site, p.layer}
		if line := p.did(OpStore, c.op, *c.dst, c.src); line != nil {
			line.HeadDim, line.Half = p.m.HeadDim, p.s.half
		}
	}
	return keys, values
}

func (p *pass) attend(b *Block, q, keys, values value) value {
	shape := backend.Attention{
		NHead: b.Heads, NKV: b.KVHeads, HeadDim: p.m.HeadDim, Scale: p.m.AttnScale,
		Window: b.Window, Softcap: p.m.AttnSoftcap, Sinks: b.Sinks.T,
	}
	out := value{p.s.kqv.of(q.N).first(p.rows), SiteKQVOut, p.layer}
	p.be.Attention(out.Tensor, q.Tensor, p.s.kv[p.layer].First(p.reach), p.pos, shape)
	if line := p.did(OpAttention, "attention", out, q, keys, values); line != nil {
		line.HeadDim, line.Attn = shape.HeadDim, shape
		if b.Sinks.Has {
			line.Weight = b.Sinks.Name
		}
	}
	return out
}

func (p *pass) act(dst scratch, x value) value {
	out := value{dst.first(p.rows), SiteFFNAct, p.layer}
	p.be.Act(out.Tensor, x.Tensor, p.m.Act)
	if line := p.did(OpAct, "activation", out, x); line != nil {
		line.Act = p.m.Act
	}
	return out
}

// gatedAct works on as many rows as gate and up have.
func (p *pass) gatedAct(dst scratch, gate, up value, site string) value {
	out := value{dst.of(gate.N).first(gate.Rows), site, p.layer}
	p.be.GatedAct(out.Tensor, gate.Tensor, up.Tensor, p.m.Act)
	return p.activated(out, gate, up)
}

// activated ends the step of a gated activation that was made.
func (p *pass) activated(out, gate, up value) value {
	if line := p.did(OpGatedAct, "gated activation", out, gate, up); line != nil {
		line.Act = p.m.Act
	}
	return out
}

// scale multiplies in place.
func (p *pass) scale(x value, factor float32, site string, layer int) value {
	p.be.Scale(x.Tensor, factor)
	out := x.as(site, layer)
	if line := p.did(OpScale, "scale", out, x); line != nil {
		line.Factor = factor
	}
	return out
}

// softcap bends logits in place.
func (p *pass) softcap(x value, limit float32, site string) value {
	p.be.Softcap(x.Tensor, limit)
	out := x.as(site, -1)
	if line := p.did(OpSoftcap, "softcap", out, x); line != nil {
		line.Factor = limit
	}
	return out
}

// ids are the experts of the last route, one a slot.
func (p *pass) ids() backend.Tensor { return p.s.ids.View(0, 1, p.rows*p.m.ExpertsUsed) }

func (p *pass) router() backend.Router {
	return backend.Router{Kind: p.m.Router, Used: p.m.ExpertsUsed, Normalize: p.m.Normalize}
}

// route picks the experts of each token and returns their weights.
func (p *pass) route(logits value) value {
	used := p.m.ExpertsUsed
	out := value{p.s.routeWeights.of(used).first(p.rows), SiteMoEWeights, p.layer}
	p.be.Route(p.s.ids.View(0, p.rows, used), out.Tensor, logits.Tensor, p.router())
	if line := p.did(OpRoute, "routing", out, logits); line != nil {
		line.Router = p.router()
	}
	return out
}

// expertMatMul is a projection by each token's experts, to slots of n elements, ExpertsUsed a token. The logits say
// which experts those are: the log has them as an input.
func (p *pass) expertMatMul(dst scratch, x, logits value, w *Linear, n int, site string) value {
	out := value{dst.of(n).first(p.rows * p.m.ExpertsUsed), site, p.layer}
	p.be.ExpertMatMul(out.Tensor, x.Tensor, w.W, p.ids())
	if w.Bias.Has {
		p.be.ExpertBias(out.Tensor, w.Bias.T, p.ids())
	}
	if line := p.did(OpExpertMatMul, "expert matmul "+shortName(w.Name), out, x, logits); line != nil {
		line.Weight, line.Router = w.Name, p.router()
		if w.Bias.Has {
			line.Bias = w.Bias.Name
		}
	}
	return out
}

// combine is the weighted sum of a token's slots.
func (p *pass) combine(dst scratch, x, weights value) value {
	out := value{dst.of(x.N).first(p.rows), SiteMoEOut, p.layer}
	p.be.Combine(out.Tensor, x.Tensor, weights.Tensor)
	p.did(OpCombine, "weighted sum of experts", out, x, weights)
	return out
}

// addShared adds what the shared expert gives, or as much of it as its gate lets through.
func (p *pass) addShared(b *Block, sum, shared, h value) value {
	out := sum.as(SiteFFNOut, p.layer)
	if !b.SharedGate.Has {
		p.be.Add(sum.Tensor, shared.Tensor)
		p.did(OpAdd, "add", out, sum, shared)
		return out
	}
	gate := p.matmul(p.s.sharedGate.of(1), h, &b.SharedGate, SiteSharedLogit)
	p.be.AddGated(sum.Tensor, shared.Tensor, gate.Tensor)
	p.did(OpAddGated, "add, gated", out, sum, shared, gate)
	return out
}

// projectThree projects h to queries, keys and values.
func (p *pass) projectThree(b *Block, h value, q, k, v scratch) (_, _, _ value) {
	dst := []backend.Tensor{q.first(p.rows), k.first(p.rows), v.first(p.rows)}
	p.be.MatMuls(dst, h.Tensor, []backend.Weight{b.Q.W, b.K.W, b.V.W})
	return p.projected(dst[0], h, &b.Q, part{SiteQ, q.N})[0],
		p.projected(dst[1], h, &b.K, part{SiteK, k.N})[0],
		p.projected(dst[2], h, &b.V, part{SiteV, v.N})[0]
}

// gatedMLP is act(gate(h)) * up(h).
func (p *pass) gatedMLP(b *Block, h value) value {
	gate, up, dst := p.s.gate.of(b.FF), p.s.up.of(b.FF), p.s.act.of(b.FF)
	if b.Gate.Bias.Has || b.Up.Bias.Has {
		return p.gatedAct(dst, p.project(gate, h, &b.Gate, SiteFFNGate), p.project(up, h, &b.Up, SiteFFNUp), SiteFFNAct)
	}
	g, u, act := gate.first(p.rows), up.first(p.rows), value{dst.first(p.rows), SiteFFNAct, p.layer}
	p.be.GatedMatMul(act.Tensor, g, u, h.Tensor, b.Gate.W, b.Up.W, p.m.Act)
	return p.activated(act,
		p.projected(g, h, &b.Gate, part{SiteFFNGate, b.FF})[0],
		p.projected(u, h, &b.Up, part{SiteFFNUp, b.FF})[0])
}
