package layers

import (
	"fmt"

	"cera/backend"
)

// Norms says which fused kernel runs between attention and MLP.
type Norms uint8

const (
	NormsAuto  Norms = iota // arena where a norm has a bias to add, else batch
	NormsBatch              // add_rmsnorm_batch; a bias goes into the projection
	NormsArena              // fused_residual_rms_norm
)

var normsNames = [...]string{"auto", "batch", "arena"}

func (n Norms) String() string { return normsNames[n] }

// ParseNorms is the inverse of String.
func ParseNorms(s string) (Norms, error) {
	for i, name := range normsNames {
		if s == name {
			return Norms(i), nil
		}
	}
	return 0, fmt.Errorf("norms: %q is not one of auto, batch, arena", s)
}

// ArenaFits tells whether the arena kernel can run the model: its blocks must norm the stream, by RMS.
func (c *Config) ArenaFits() bool { return c.Norm == RMSNorm && c.Place != PostNorm }

// chooseNorms turns NormsAuto into the form that runs.
func (m *Model) chooseNorms(n Norms) (Norms, error) {
	switch {
	case n == NormsArena && !m.ArenaFits():
		return 0, fmt.Errorf("norms arena: %s has no norm between attention and MLP for this kernel; use batch or auto",
			m.Name)
	case n != NormsAuto:
		return n, nil
	}
	arena := &State{m: m, form: NormsArena}
	for i := range m.Blocks {
		if m.ArenaFits() && arena.fusesBias(&m.Blocks[i]) {
			return NormsArena, nil
		}
	}
	return NormsBatch, nil
}

// fusesBias tells whether the bias of a block's output projection is left to the norm after it: in the arena form,
// where nothing else comes between the two.
func (s *State) fusesBias(b *Block) bool {
	return s.form == NormsArena && s.m.Place == PreNorm && s.m.DeltaFactor == 1 && b.O.Bias.Has
}

// operands are the vectors bound to a norm of the stream.
type operands struct{ w, bias backend.Tensor }

// operands returns what is bound to norm i of the stream: the arena's own copies, or the model's.
func (s *State) operands(i int, n *Norm, bias *Vec) operands {
	switch {
	case i < len(s.own):
		return s.own[i]
	case bias != nil:
		return operands{n.W.T, bias.T}
	}
	return operands{w: n.W.T}
}

// buildArena lays out one buffer for everything the arena kernel touches, and copies the weights of the norms and the
// biases that they add into it.
func (s *State) buildArena() {
	m := s.m
	var list []operands
	for i := range m.Blocks {
		b := &m.Blocks[i]
		ffn := operands{w: b.FFNNorm.W.T}
		if s.fusesBias(b) {
			ffn.bias = b.O.Bias.T
		}
		list = append(list, operands{w: b.AttnNorm.W.T}, ffn)
	}
	list = append(list, operands{w: m.OutputNorm.W.T})
	s.arena = s.alloc("norm arena", 4*s.ubatch+1+2*len(list), m.Embd)
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
	for i := range list {
		for _, t := range []*backend.Tensor{&list[i].w, &list[i].bias} {
			if t.Valid() {
				own := take(1)
				s.be.Copy(own, *t)
				*t = own
			}
		}
	}
	s.own = list
}

// Form says which fused kernel this state runs: NormsBatch or NormsArena.
func (s *State) Form() Norms { return s.form }
