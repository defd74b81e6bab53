package layers

import (
	"fmt"

	"cera/backend"
)

// State is what one sequence needs beside the model: activations for a batch of up to UBatch tokens, and the KV
// cache.
type State struct {
	be     backend.Backend
	m      *Model
	ubatch int
	ctx    int
	form   Norms // NormsBatch or NormsArena
	half   bool  // the KV cache holds halves

	tokens, pos      backend.Tensor // [1, ubatch] u32
	x, delta, h      backend.Tensor // [ubatch, Embd]: stream, pending delta, normed rows
	logits           backend.Tensor // [logitRows, Vocab]
	raw              scratch        // Embd a token, where the delta is what is made of it by a norm
	q, kqv           scratch        // HeadDim*Heads a token
	k, v             scratch        // HeadDim*KVHeads
	qkv              scratch        // all three, of a fused projection
	qNormed, kNormed scratch        // where the architecture norms them
	gate, up, act    scratch        // FF a token, or ExpertFF a slot
	down             scratch        // Embd a slot
	routerLogits     scratch        // Experts a token
	routeWeights     scratch        // ExpertsUsed a token
	sharedGate       scratch        // one a token
	ids              backend.Tensor // [1, ubatch*ExpertsUsed] u32, the experts of each token

	ropes  []backend.Tensor // of Config.Ropes: [ctx, RotDim], see backend.RoPE
	kv     []backend.KV     // a block each: [ctx, HeadDim*KVHeads]
	stored [2]scratch       // HeadDim*KVHeads a token: what a probe sees of a cache of halves, once there was one

	arena       backend.Tensor // in the arena form, holds x, delta, h and what the norms read beside them
	zeros, beta backend.Tensor // [ubatch, Embd] and [1, Embd], never written
	own         []operands     // the norms' own vectors there, in forward order

	owned []backend.Tensor

	watch func(site string, t backend.Tensor) // nil: nobody
}

// Watch has f called after every step of the walks from here on, with the site and the tensor of its outcome; a step
// that is part of the op before it is called for in its turn. Unlike a probe, f sees the steps alone, and none is added
// for it. nil ends it.
func (s *State) Watch(f func(site string, t backend.Tensor)) { s.watch = f }

// Bytes that one slice of logits may take; a long batch is projected onto the vocabulary in several.
const logitBytes = 16 << 20

// ParseKV reads the type of the KV cache's values: f32 or f16.
func ParseKV(s string) (backend.Format, error) {
	switch s {
	case "f32":
		return backend.F32, nil
	case "f16":
		return backend.F16, nil
	}
	return 0, fmt.Errorf("KV cache: %q is not one of f32, f16", s)
}

// NewState allocates the state for batches of up to ubatch tokens and ctx positions, with a KV cache of F32 or F16.
func NewState(be backend.Backend, m *Model, ubatch, ctx int, norms Norms, kv backend.Format) (*State, error) {
	if ubatch < 1 || ctx < 1 {
		return nil, fmt.Errorf("state: batches of %d tokens and a context of %d are not possible", ubatch, ctx)
	}
	if kv != backend.F32 && kv != backend.F16 {
		return nil, fmt.Errorf("state: a KV cache of %v is not possible; it holds F32 or F16", kv)
	}
	form, err := m.chooseNorms(norms)
	if err != nil {
		return nil, err
	}
	s := &State{be: be, m: m, ubatch: ubatch, ctx: ctx, form: form, half: kv == backend.F16}
	if form == NormsArena {
		s.buildArena()
	} else {
		s.x = s.alloc("stream", ubatch, m.Embd)
		s.delta = s.alloc("delta", ubatch, m.Embd)
		s.h = s.alloc("normed", ubatch, m.Embd)
	}
	s.tokens, s.pos = s.alloc("tokens", 1, ubatch), s.alloc("positions", 1, ubatch)
	s.logits = s.alloc("logits", min(ubatch, max(1, logitBytes/4/m.Vocab)), m.Vocab)
	s.allocScratch()
	for i := range m.Blocks {
		c := backend.KV{Half: s.half}
		width := c.Width(m.HeadDim * m.Blocks[i].KVHeads)
		c.K = s.alloc(fmt.Sprintf("k cache %d", i), ctx, width)
		c.V = s.alloc(fmt.Sprintf("v cache %d", i), ctx, width)
		s.kv = append(s.kv, c)
	}
	if err := s.buildRopes(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// allocScratch allocates what steps of a block write and read, as large as the widest block needs it.
func (s *State) allocScratch() {
	m := s.m
	var q, kv, ff int
	for _, b := range m.Shapes {
		q, kv, ff = max(q, m.HeadDim*b.Heads), max(kv, m.HeadDim*b.KVHeads), max(ff, b.FF)
	}
	up, slots := ff, m.ExpertsUsed
	if m.MLP == FusedMLP {
		up = 2 * ff
	}
	if m.Experts > 0 {
		ff = max(slots*m.ExpertFF, m.SharedFF)
		up = ff
	}
	for _, t := range []struct {
		dst  *scratch
		name string
		n    int
	}{
		{&s.raw, "sublayer", when(m.Place != PreNorm, m.Embd)},
		{&s.q, "q", when(m.QKV == SplitQKV, q)},
		{&s.k, "k", when(m.QKV == SplitQKV, kv)},
		{&s.v, "v", when(m.QKV == SplitQKV, kv)},
		{&s.qkv, "qkv", when(m.QKV == FusedQKV, q+2*kv)},
		{&s.qNormed, "q normed", when(m.QK != NoQKNorm, q)},
		{&s.kNormed, "k normed", when(m.QK != NoQKNorm, kv)},
		{&s.kqv, "kqv", q},
		{&s.gate, "gate", when(m.MLP == GatedMLP || m.Experts > 0, ff)},
		{&s.up, "up", up},
		{&s.act, "act", ff},
		{&s.down, "down", slots * m.Embd},
		{&s.routerLogits, "router logits", m.Experts},
		{&s.routeWeights, "expert weights", slots},
		{&s.sharedGate, "shared gate", when(m.SharedFF > 0, 1)},
	} {
		if t.n > 0 {
			t.dst.Tensor = s.alloc(t.name, s.ubatch, t.n)
		}
	}
	if slots > 0 {
		s.ids = s.alloc("expert ids", 1, s.ubatch*slots)
	}
}

// when is n if it is needed, and 0 if not.
func when(needed bool, n int) int {
	if needed {
		return n
	}
	return 0
}

// sublayer is where attention and MLP put what they give: it is the delta, unless a norm makes that of it.
func (s *State) sublayer() scratch {
	if s.m.Place != PreNorm {
		return s.raw
	}
	return scratch{s.delta}
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

// unpacked returns n values of rows of a cache of halves, as a probe sees them. i is 0 for keys and 1 for values.
func (s *State) unpacked(i int, t backend.Tensor, n int) backend.Tensor {
	if !s.stored[i].Valid() {
		widest := 0
		for _, b := range s.m.Shapes {
			widest = max(widest, s.m.HeadDim*b.KVHeads)
		}
		s.stored[i].Tensor = s.alloc("unpacked cache", s.ubatch, widest)
	}
	dst := s.stored[i].of(n).first(t.Rows)
	s.be.UnpackHalf(dst, t)
	return dst
}

// Ctx returns the number of positions the KV cache holds.
func (s *State) Ctx() int { return s.ctx }

// UBatch returns the largest number of tokens Forward takes.
func (s *State) UBatch() int { return s.ubatch }

// LogitRows returns the largest number of rows Logits takes.
func (s *State) LogitRows() int { return s.logits.Rows }
