package layers

import (
	"fmt"
	"math"

	"cera/backend"
)

// State is what one sequence needs beside the model: activations for a batch of up to UBatch tokens, and the KV
// cache.
type State struct {
	be     backend.Backend
	m      *Model
	ubatch int
	ctx    int
	norms  []norm

	tokens, pos   backend.Tensor // [1, ubatch] u32
	x, delta, h   backend.Tensor // [ubatch, Embd]: stream, pending delta, normed rows
	q, kqv        backend.Tensor // [ubatch, HeadDim*Heads]
	k, v          backend.Tensor // [ubatch, HeadDim*KVHeads]
	gate, up, act backend.Tensor // [ubatch, FF]
	logits        backend.Tensor // [logitRows, Vocab]
	rope          backend.Tensor // [ctx, RotDim], see backend.RoPE
	kv            []backend.KV   // a layer each: [ctx, HeadDim*KVHeads]

	arena       backend.Tensor // in the arena form, holds x, delta, h and what the norms read beside them
	zeros, beta backend.Tensor // [ubatch, Embd] and [1, Embd], never written

	owned []backend.Tensor
}

// Bytes that one slice of logits may take; a long batch is projected onto the vocabulary in several.
const logitBytes = 16 << 20

// NewState allocates the state for batches of up to ubatch tokens and ctx positions.
func NewState(be backend.Backend, m *Model, ubatch, ctx int, norms Norms) (*State, error) {
	if ubatch < 1 || ctx < 1 {
		return nil, fmt.Errorf("state: batches of %d tokens and a context of %d are not possible", ubatch, ctx)
	}
	s := &State{be: be, m: m, ubatch: ubatch, ctx: ctx}
	if norms == NormsAuto {
		norms = NormsBatch
		for i := range m.Blocks {
			if m.Blocks[i].OBias.Valid() {
				norms = NormsArena
			}
		}
	}
	s.norms = modelNorms(m, norms == NormsArena)
	if norms == NormsArena {
		s.buildArena()
	} else {
		s.x = s.alloc("stream", ubatch, m.Embd)
		s.delta = s.alloc("delta", ubatch, m.Embd)
		s.h = s.alloc("normed", ubatch, m.Embd)
	}
	q, kv := m.HeadDim*m.Heads, m.HeadDim*m.KVHeads
	s.tokens, s.pos = s.alloc("tokens", 1, ubatch), s.alloc("positions", 1, ubatch)
	s.q, s.kqv = s.alloc("q", ubatch, q), s.alloc("kqv", ubatch, q)
	s.k, s.v = s.alloc("k", ubatch, kv), s.alloc("v", ubatch, kv)
	s.gate, s.up, s.act = s.alloc("gate", ubatch, m.FF), s.alloc("up", ubatch, m.FF), s.alloc("act", ubatch, m.FF)
	s.logits = s.alloc("logits", min(ubatch, max(1, logitBytes/4/m.Vocab)), m.Vocab)
	for i := range m.Blocks {
		s.kv = append(s.kv, backend.KV{
			K: s.alloc(fmt.Sprintf("k cache %d", i), ctx, kv),
			V: s.alloc(fmt.Sprintf("v cache %d", i), ctx, kv),
		})
	}
	if err := s.buildRope(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the state's memory on the device.
func (s *State) Close() {
	for _, t := range s.owned {
		s.be.Free(t)
	}
	s.owned = nil
}

func (s *State) alloc(name string, rows, n int) backend.Tensor {
	t := s.be.Alloc(name, rows, n)
	if t.Valid() {
		s.owned = append(s.owned, t)
	}
	return t
}

// buildArena lays out one buffer for everything the arena kernel touches, and copies the norms' weights and biases
// into it.
func (s *State) buildArena() {
	n := s.m.Embd
	vectors := 1 + len(s.norms)
	for _, nm := range s.norms {
		if nm.bias.Valid() {
			vectors++
		}
	}
	s.arena = s.alloc("norm arena", 4*s.ubatch+vectors, n)
	if !s.arena.Valid() {
		return
	}
	next := 0
	take := func(rows int) backend.Tensor {
		t := s.arena.Slice(next, next+rows)
		next += rows
		return t
	}
	s.x, s.delta, s.h, s.zeros, s.beta = take(s.ubatch), take(s.ubatch), take(s.ubatch), take(s.ubatch), take(1)
	for i := range s.norms {
		nm := &s.norms[i]
		for _, t := range []*backend.Tensor{&nm.w, &nm.bias} {
			if t.Valid() {
				own := take(1)
				s.be.Copy(own, *t)
				*t = own
			}
		}
	}
}

// buildRope fills the angle table in float64: pair j of position p turns by p * RopeBase^(-2j/RotDim) / freqs[j].
func (s *State) buildRope() error {
	m := s.m
	pairs := m.RotDim / 2
	freqs := make([]float32, pairs)
	if m.RopeFreqs.Valid() {
		if err := s.be.Read(freqs, m.RopeFreqs); err != nil {
			return err
		}
	} else {
		for j := range freqs {
			freqs[j] = 1
		}
	}
	table := make([]float32, s.ctx*m.RotDim)
	for j, f := range freqs {
		theta := math.Pow(float64(m.RopeBase), -2*float64(j)/float64(m.RotDim)) / float64(f)
		for p := range s.ctx {
			sin, cos := math.Sincos(float64(p) * theta)
			table[p*m.RotDim+2*j], table[p*m.RotDim+2*j+1] = float32(cos), float32(sin)
		}
	}
	s.rope = s.alloc("rope table", s.ctx, m.RotDim)
	s.be.Upload(s.rope, table)
	return s.be.Flush()
}

// Ctx returns the number of positions the KV cache holds.
func (s *State) Ctx() int { return s.ctx }

// UBatch returns the largest number of tokens Forward takes.
func (s *State) UBatch() int { return s.ubatch }

// LogitRows returns the largest number of rows Logits takes.
func (s *State) LogitRows() int { return s.logits.Rows }
