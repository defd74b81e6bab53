package layers

import "cera/backend"

// What a block adds to the stream is pending between two norms: the next one adds it. These are its steps.

// sublayer names the sites between one half of a block and the next norm.
type sublayer struct{ normed, scaled, stream string }

var (
	afterAttention = sublayer{SiteAttnPostNorm, SiteAttnScaled, SiteFFNInp}
	afterMLP       = sublayer{SiteFFNPostNorm, SiteFFNScaled, SiteLOut}
)

// pend makes the output of half a block the pending delta, normed and scaled as the architecture asks.
func (p *pass) pend(out value, norm *Norm, sub sublayer) {
	if p.m.Place != PreNorm && norm != nil {
		out = p.rms(value{p.s.delta.Slice(0, p.rows), sub.normed, p.layer}, out, norm, 1)
	}
	if p.m.DeltaFactor != 1 {
		out = p.scale(out, p.m.DeltaFactor, sub.scaled, p.layer)
	}
	p.delta, p.deltaBias, p.after = out, nil, value{site: sub.stream, layer: p.layer}
}

// normed is what half a block works on: the stream with the pending delta, normed if the architecture norms it.
func (p *pass) normed(n *Norm, site string) value {
	if p.m.Place == PostNorm {
		return p.settle()
	}
	return p.norm(n, site)
}

// settle adds the pending delta to the stream.
func (p *pass) settle() value {
	if p.delta.site == "" {
		return p.x
	}
	p.be.Add(p.x.Tensor, p.delta.Tensor)
	before := p.x
	p.x = p.x.as(p.after.site, p.after.layer)
	p.did(OpAdd, "add", p.x, before, p.delta)
	p.delta = value{}
	return p.x
}

// norm adds the pending delta to the stream and norms it into h. The embedding is the first delta of the arena form
// (the stream before it is zero), and the stream itself in the batch form.
func (p *pass) norm(n *Norm, site string) value {
	s, eps := p.s, p.m.Eps
	x, h := s.x.Slice(0, p.rows), value{s.h.Slice(0, p.rows), site, p.layer}
	before, delta, bias := p.x, p.delta, p.deltaBias
	w := s.operands(p.norms, n, bias)
	p.norms++
	var op string
	switch pending := delta.site != ""; {
	case p.m.Norm == LayerNorm:
		op = "layer_norm"
		if pending {
			op = "add, layer_norm"
			p.be.Add(x, delta.Tensor)
		}
		p.be.LayerNorm(h.Tensor, x, n.W.T, n.B.T, eps)
	case s.form == NormsArena:
		op = "fused_residual_rms_norm"
		f := backend.FusedNorm{Out: h.Tensor, In: x, Residual: delta.Tensor, Bias: w.bias, Gamma: w.w, Beta: s.beta,
			Sum: x, Eps: eps}
		if !pending {
			f.In, f.Residual = s.zeros.Slice(0, p.rows), before.Tensor
		}
		p.be.FusedResidualRMSNorm(f)
	case pending:
		op = "add_rmsnorm_batch"
		p.be.AddRMSNorm(h.Tensor, x, delta.Tensor, n.W.T, eps)
	default:
		op = "rmsnorm_batch"
		p.be.RMSNorm(h.Tensor, x, n.W.T, eps)
	}
	p.x.Tensor = x
	if delta.site != "" {
		p.x, p.delta, p.deltaBias = value{x, p.after.site, p.after.layer}, value{}, nil
		p.offer(p.x, backend.Tensor{})
	}
	line := NormSite{Op: op, In: before.name(), Delta: delta.name(), Kind: p.m.Norm, Groups: 1}
	if delta.site != "" {
		line.Stream = p.x.name()
	}
	if bias != nil {
		line.Bias = bias.Name
	}
	p.didNorm(line, h, n, w.w)
	return h
}

// rms norms src into dst, in groups of a row. Nothing is added.
func (p *pass) rms(dst, src value, n *Norm, groups int) value {
	d, s := dst.Tensor, src.Tensor
	if groups > 1 {
		width := s.N / groups
		d, s = d.View(0, d.Rows*groups, width), s.View(0, s.Rows*groups, width)
	}
	p.be.RMSNorm(d, s, n.W.T, p.m.Eps)
	p.didNorm(NormSite{Op: "rmsnorm_batch", In: src.name(), Groups: groups}, dst, n, n.W.T)
	return dst
}

// didNorm ends the step of a norm with the weight that was bound to it.
func (p *pass) didNorm(line NormSite, out value, n *Norm, w backend.Tensor) {
	p.offer(out, backend.Tensor{})
	p.watched(out)
	if p.probe != nil {
		p.probe.Norm(out.name(), w)
	}
	if p.log == nil {
		return
	}
	line.Site, line.Layer, line.Weight, line.Eps = out.name(), out.layer, n.W.Name, p.m.Eps
	if n.B.Has {
		line.Shift = n.B.Name
	}
	p.log.norms = append(p.log.norms, line)
	in := []string{line.In}
	if line.Delta != "" {
		in = append(in, line.Delta)
	}
	p.log.ops = append(p.log.ops, OpSite{
		Site: line.Site, Layer: line.Layer, Kind: OpNorm, Op: line.Op, In: in, Weight: line.Weight, Bias: line.Bias,
	})
}
