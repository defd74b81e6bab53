// Package layers is the one place that knows the order of operations: the architecture table, the model's slots,
// and the forward pass for every backend, for prefill and decode alike.
package layers

import (
	"fmt"

	"cera/backend"
)

// Forward records the pass of tokens at positions pos, pos+1, ... through every block and the last norm. Keys and
// values go to the cache, which must hold all earlier positions. probe may be nil; the ops are the same with and
// without one. The caller reads Logits, or calls the backend's Flush, to see errors of the device.
func (s *State) Forward(tokens []int32, pos int, probe Probe) error {
	if err := s.upload(tokens, pos); err != nil {
		return err
	}
	p := s.pass(len(tokens), pos, probe)
	p.forward()
	return nil
}

// Logits projects rows lo..hi-1 of the last Forward onto the vocabulary: [hi-lo, Vocab], valid until the next call.
// hi-lo is at most LogitRows.
func (s *State) Logits(lo, hi int, probe Probe) backend.Tensor {
	p := s.pass(hi-lo, 0, probe)
	return p.head(value{Tensor: s.h.Slice(lo, hi), site: SiteResultNorm, layer: -1}).Tensor
}

// forward is the model from the embedding to the last norm.
func (p *pass) forward() {
	m := p.m
	p.embed()
	for i := range m.Blocks {
		b := &m.Blocks[i]
		p.layer = i
		p.attention(b, p.normed(&b.AttnNorm, SiteAttnNorm))
		h := p.normed(&b.FFNNorm, m.ffnNormSite())
		if m.Experts > 0 {
			p.experts(b, h)
		} else {
			p.mlp(b, h)
		}
	}
	p.layer = -1
	p.norm(&m.OutputNorm, SiteResultNorm)
}

// attention is softmax(q·Kᵀ)·V of the heads, and the projection of what they give, which becomes the pending delta.
func (p *pass) attention(b *Block, h value) {
	q, k, v := p.qkv(b, h)
	if p.m.QK != NoQKNorm {
		q = p.headNorm(p.s.qNormed, q, &b.QNorm, SiteQNormed)
		k = p.headNorm(p.s.kNormed, k, &b.KNorm, SiteKNormed)
	}
	var keys, values value
	if b.Rope >= 0 {
		q, keys, values = p.ropeStore(b, q, k, v)
	} else {
		keys, values = p.store(k, v)
	}
	heads := p.attend(b, q, keys, values)
	out := p.s.sublayer()
	if !p.s.fusesBias(b) {
		p.pend(p.project(out, heads, &b.O, SiteAttnOut), &b.AttnPostNorm, afterAttention)
		return
	}
	proj := p.matmul(out, heads, &b.O.Mat, SiteAttnProj)
	p.offer(proj.as(SiteAttnOut, p.layer), b.O.Bias.T)
	p.pend(proj, nil, afterAttention)
	p.deltaBias = &b.O.Bias
}

// qkv projects h to queries, keys and values.
func (p *pass) qkv(b *Block, h value) (q, k, v value) {
	s, nq, nkv := p.s, p.m.HeadDim*b.Heads, p.m.HeadDim*b.KVHeads
	if p.m.QKV == SplitQKV {
		return p.projectThree(b, h, s.q.of(nq), s.k.of(nkv), s.v.of(nkv))
	}
	parts := p.projectParts(s.qkv.of(nq+2*nkv), h, &b.QKV, part{SiteQ, nq}, part{SiteK, nkv}, part{SiteV, nkv})
	return parts[0], parts[1], parts[2]
}

// mlp is down(act(gate(h)) * up(h)), or down(act(up(h))); it becomes the pending delta.
func (p *pass) mlp(b *Block, h value) {
	s := p.s
	var act value
	switch p.m.MLP {
	case PlainMLP:
		act = p.act(s.act.of(b.FF), p.project(s.up.of(b.FF), h, &b.Up, SiteFFNUp))
	case FusedMLP:
		parts := p.projectParts(s.up.of(2*b.FF), h, &b.Up, part{SiteFFNGate, b.FF}, part{SiteFFNUp, b.FF})
		act = p.gatedAct(s.act.of(b.FF), parts[0], parts[1], SiteFFNAct)
	default:
		act = p.gatedMLP(b, h)
	}
	p.pend(p.project(s.sublayer(), act, &b.Down, SiteFFNOut), &b.FFNPostNorm, afterMLP)
}

// experts is the weighted sum of the MLPs that a router picks for each token, and of one that every token takes; it
// becomes the pending delta.
func (p *pass) experts(b *Block, h value) {
	s, m := p.s, p.m
	logits := p.project(s.routerLogits.of(m.Experts), h, &b.Router, SiteMoELogits)
	weights := p.route(logits)
	gate := p.expertMatMul(s.gate, h, logits, &b.GateExps, m.ExpertFF, SiteMoEGate)
	up := p.expertMatMul(s.up, h, logits, &b.UpExps, m.ExpertFF, SiteMoEUp)
	act := p.gatedAct(s.act, gate, up, SiteMoEAct)
	down := p.expertMatMul(s.down, act, logits, &b.DownExps, m.Embd, SiteMoEDown)
	out := p.combine(s.sublayer(), down, weights)
	if m.SharedFF > 0 {
		n := m.SharedFF
		gate := p.project(s.gate.of(n), h, &b.GateShared, SiteSharedGate)
		up := p.project(s.up.of(n), h, &b.UpShared, SiteSharedUp)
		act := p.gatedAct(s.act.of(n), gate, up, SiteSharedAct)
		out = p.addShared(b, out, p.project(s.down.of(m.Embd), act, &b.DownShared, SiteSharedOut), h)
	}
	p.pend(out, &b.FFNPostNorm, afterMLP)
}

// head is the projection onto the vocabulary.
func (p *pass) head(h value) value {
	m := p.m
	site := SiteResultOutput
	if m.LogitFactor != 1 || m.FinalSoftcap != 0 {
		site = SiteLogitsRaw
	}
	logits := p.matmul(scratch{p.s.logits}.of(m.Vocab), h, m.head(), site)
	if m.LogitFactor != 1 {
		site = SiteResultOutput
		if m.FinalSoftcap != 0 {
			site = SiteLogitsScaled
		}
		logits = p.scale(logits, m.LogitFactor, site, -1)
	}
	if m.FinalSoftcap != 0 {
		logits = p.softcap(logits, m.FinalSoftcap, SiteResultOutput)
	}
	return logits
}

// upload checks a batch and puts its ids and positions on the device.
func (s *State) upload(tokens []int32, pos int) error {
	rows := len(tokens)
	if rows < 1 || rows > s.ubatch {
		return fmt.Errorf("batch of %d tokens: expected 1 to %d", rows, s.ubatch)
	}
	if pos < 0 || pos > s.ctx-rows {
		return fmt.Errorf("positions %d to %d do not fit a context of %d", pos, pos+rows-1, s.ctx)
	}
	ids, at := make([]uint32, rows), make([]uint32, rows)
	for i, t := range tokens {
		if t < 0 || int(t) >= s.m.Vocab {
			return fmt.Errorf("token %d at position %d: the vocabulary has %d", t, pos+i, s.m.Vocab)
		}
		ids[i], at[i] = uint32(t), uint32(pos+i)
	}
	s.be.UploadU32(s.tokens.View(0, 1, rows), ids)
	s.be.UploadU32(s.pos.View(0, 1, rows), at)
	return nil
}
