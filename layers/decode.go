package layers

import (
	"math"

	"cera/backend"
)

// Decoder runs steps of greedy decoding that live on the device: token, position and the choice of the next token stay
// there, so that many steps can be submitted before the first one's outcome is read.
type Decoder struct {
	s       *State
	id      backend.Tensor // [1, 1] u32
	token   backend.Tensor // [1, 1]
	pos     backend.Tensor // [1, 1]
	history backend.Tensor // [1, ctx] u32: the token chosen after each position
	again   func()         // the step, recorded; nil before the first
}

// NewDecoder allocates what the steps need beside the state, which must outlive them.
func (s *State) NewDecoder() *Decoder {
	return &Decoder{
		s: s, id: s.alloc("next token", 1, 1), history: s.alloc("history", 1, s.ctx),
		token: s.alloc("decoded token", 1, 1), pos: s.alloc("decoded position", 1, 1),
	}
}

// Start says that the next step runs token at position pos.
func (d *Decoder) Start(token int32, pos int) {
	d.s.be.UploadU32(d.token, []uint32{uint32(token)})
	d.s.be.UploadU32(d.pos, []uint32{uint32(pos)})
}

// Step runs one token and puts the most likely next one in its place. Positions past the context do no harm, and nothing
// of use.
func (d *Decoder) Step() {
	if d.again != nil {
		d.again()
		return
	}
	d.again = d.s.be.Record(func() {
		p := d.s.pass(1, 0, nil)
		p.tokens, p.pos = d.token, d.pos
		p.forward()
		logits := p.head(value{Tensor: d.s.h.Slice(0, 1), site: SiteResultNorm, layer: -1})
		d.s.be.ArgMax(d.id, logits.Tensor)
		d.s.be.Advance(d.token, d.pos, d.history, d.id)
	})
}

// History reads the tokens that were chosen after positions lo to hi-1, once all steps are done.
func (d *Decoder) History(lo, hi int) ([]int32, error) {
	bits := make([]float32, hi-lo)
	if err := d.s.be.Read(bits, d.history.View(lo, 1, hi-lo)); err != nil {
		return nil, err
	}
	ids := make([]int32, len(bits))
	for i, b := range bits {
		ids[i] = int32(math.Float32bits(b))
	}
	return ids, nil
}
