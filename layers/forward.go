// Package layers is the one place that knows the order of operations: the architecture table, the model's slots,
// and the forward pass for every backend, for prefill and decode alike.
package layers

import (
	"fmt"
	"math"

	"cera/backend"
)

// Forward records the pass of tokens at positions pos, pos+1, ... through every block and the last norm. Keys and
// values go to the cache, which must hold all earlier positions. probe may be nil; the ops are the same with and
// without one. The caller reads Logits, or calls the backend's Flush, to see errors of the device.
func (s *State) Forward(tokens []int32, pos int, probe Probe) error {
	if err := s.upload(tokens, pos); err != nil {
		return err
	}
	var (
		be, m  = s.be, s.m
		rows   = len(tokens)
		ids    = s.tokens.View(0, 1, rows)
		at     = s.pos.View(0, 1, rows)
		x      = s.x.Slice(0, rows)
		delta  = s.delta.Slice(0, rows) // pending: the next norm adds it to x
		h      = s.h.Slice(0, rows)
		q      = s.q.Slice(0, rows)
		k      = s.k.Slice(0, rows)
		v      = s.v.Slice(0, rows)
		kqv    = s.kqv.Slice(0, rows)
		gate   = s.gate.Slice(0, rows)
		up     = s.up.Slice(0, rows)
		act    = s.act.Slice(0, rows)
		rope   = backend.RoPE{Style: m.Rope, HeadDim: m.HeadDim, RotDim: m.RotDim}
		attn   = backend.Attention{NHead: m.Heads, NKV: m.KVHeads, HeadDim: m.HeadDim, Scale: float32(1 / math.Sqrt(float64(m.HeadDim)))}
		noBias backend.Tensor
	)
	site := func(name string, t, bias backend.Tensor) {
		if probe != nil {
			probe.Site(name, t, bias)
		}
	}
	if s.arena.Valid() {
		be.Embed(delta, m.TokEmbd, ids)
	} else {
		be.Embed(x, m.TokEmbd, ids)
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		s.norm(2*i, rows, probe)
		s.project(q, h, b.Q, b.QBias)
		s.project(k, h, b.K, b.KBias)
		s.project(v, h, b.V, b.VBias)
		site(At(SiteQ, i), q, noBias)
		site(At(SiteK, i), k, noBias)
		site(At(SiteV, i), v, noBias)
		be.RoPE(q, at, s.rope, rope)
		be.RoPE(k, at, s.rope, rope)
		site(At(SiteQRope, i), q, noBias)
		site(At(SiteKRope, i), k, noBias)
		be.StoreKV(s.kv[i], k, v, at)
		site(At(SiteCacheK, i), s.kv[i].K.Slice(pos, pos+rows), noBias)
		site(At(SiteCacheV, i), s.kv[i].V.Slice(pos, pos+rows), noBias)
		be.Attention(kqv, q, s.kv[i], at, attn)
		site(At(SiteKQVOut, i), kqv, noBias)

		ffn := &s.norms[2*i+1]
		if ffn.bias.Valid() {
			be.MatMul(delta, kqv, b.O)
			site(At(SiteAttnProj, i), delta, noBias)
		} else {
			s.project(delta, kqv, b.O, b.OBias)
		}
		site(At(SiteAttnOut, i), delta, ffn.bias)

		s.norm(2*i+1, rows, probe)
		be.MatMul(gate, h, b.Gate)
		be.MatMul(up, h, b.Up)
		site(At(SiteFFNGate, i), gate, noBias)
		site(At(SiteFFNUp, i), up, noBias)
		be.GatedAct(act, gate, up, m.Act)
		site(At(SiteFFNAct, i), act, noBias)
		be.MatMul(delta, act, b.Down)
		site(At(SiteFFNOut, i), delta, noBias)
	}
	s.norm(2*m.Layers, rows, probe)
	return nil
}

// project is a MatMul with an optional bias.
func (s *State) project(dst, x backend.Tensor, w backend.Weight, bias backend.Tensor) {
	s.be.MatMul(dst, x, w)
	if bias.Valid() {
		s.be.AddBias(dst, bias)
	}
}

// Logits projects rows lo..hi-1 of the last Forward onto the vocabulary: [hi-lo, Vocab], valid until the next call.
// hi-lo is at most LogitRows.
func (s *State) Logits(lo, hi int, probe Probe) backend.Tensor {
	dst := s.logits.Slice(0, hi-lo)
	s.be.MatMul(dst, s.h.Slice(lo, hi), s.m.head())
	if probe != nil {
		probe.Site(SiteResultOutput, dst, backend.Tensor{})
	}
	return dst
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
