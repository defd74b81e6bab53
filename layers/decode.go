package layers

import (
	"math"

	"cera/backend"
)

// MostAhead is the most steps of a Decoder whose candidates can be read afterwards, and that Draws may have numbers
// for.
const MostAhead = 128

// Decoder runs steps of decoding that live on the device: token, position and the choice of the next token stay there,
// so that many steps can be submitted before the first one's outcome is read.
type Decoder struct {
	s       *State
	id      backend.Tensor // [1, 1] u32
	token   backend.Tensor // [1, 1]
	pos     backend.Tensor // [1, 1]
	history backend.Tensor // [1, ctx] u32: the token chosen after each position

	draw        bool           // the choice is drawn, and not the likeliest
	values, ids backend.Tensor // [places, up to MaxTopK]: the largest logits, at position % places
	u           backend.Tensor // [1, places] random numbers, likewise
	params      backend.Tensor // backend.DrawParams

	at    int                 // position of the next step
	again map[stepKind]func() // steps, recorded
}

// stepKind is what recorded steps differ in: the choice, and how much of the cache attention is laid out for.
type stepKind struct {
	draw  bool
	reach int // positions
}

// Draws says how steps choose by chance.
type Draws struct {
	backend.DrawParams
	U []float64 // a random number in [0, 1) for each step, at most MostAhead
}

// NewDecoder allocates what the steps need beside the state, which must outlive them.
func (s *State) NewDecoder() *Decoder {
	k, places := min(backend.MaxTopK, s.m.Vocab), min(MostAhead, s.ctx)
	return &Decoder{
		s: s, id: s.alloc("next token", 1, 1), history: s.alloc("history", 1, s.ctx),
		token: s.alloc("decoded token", 1, 1), pos: s.alloc("decoded position", 1, 1),
		values: s.alloc("largest logits", places, k), ids: s.alloc("likeliest tokens", places, k),
		u: s.alloc("random numbers", 1, places), params: s.alloc("draw parameters", 1, 4), again: map[stepKind]func(){},
	}
}

// Start says that the next step runs token at position pos, and whether steps draw the next token or, without draws,
// take the likeliest.
func (d *Decoder) Start(token int32, pos int, draws *Draws) {
	be := d.s.be
	be.UploadU32(d.token, []uint32{uint32(token)})
	be.UploadU32(d.pos, []uint32{uint32(pos)})
	d.at = pos
	if d.draw = draws != nil; !d.draw {
		return
	}
	be.Upload(d.params, []float32{draws.Temperature, draws.TopK, draws.TopP, draws.MinP})
	u := make([]float32, d.u.N)
	for i, v := range draws.U {
		u[(pos+i)%len(u)] = float32(v)
	}
	be.Upload(d.u, u)
}

// Step runs one token and puts the chosen next one in its place. Positions past the context do no harm, and nothing of
// use.
func (d *Decoder) Step() {
	kind := stepKind{d.draw, backend.Reach(d.at, d.s.ctx)}
	d.at++
	if again := d.again[kind]; again != nil {
		again()
		return
	}
	be := d.s.be
	d.again[kind] = be.Record(func() {
		p := d.s.pass(1, 0, nil)
		p.reach = kind.reach
		p.tokens, p.pos = d.token, d.pos
		p.forward()
		logits := p.head(value{Tensor: d.s.h.Slice(0, 1), site: SiteResultNorm, layer: -1})
		if d.draw {
			be.TopK(d.values, d.ids, logits.Tensor, d.pos)
			be.Draw(d.id, d.values, d.ids, d.u, d.pos, d.params)
		} else {
			be.ArgMax(d.id, logits.Tensor)
		}
		be.Advance(d.token, d.pos, d.history, d.id)
	})
}

// History reads the tokens that were chosen after positions lo to hi-1, once all steps are done.
func (d *Decoder) History(lo, hi int) ([]int32, error) {
	return d.readIDs(d.history.View(lo, 1, hi-lo))
}

// Candidates reads what the tokens after positions lo to hi-1 were drawn from, of at most MostAhead steps, once all are
// done: the largest logits, in descending order, and their tokens.
func (d *Decoder) Candidates(lo, hi int) (ids [][]int32, logits [][]float32, err error) {
	places, k := d.values.Rows, d.values.N
	allLogits := make([]float32, places*k)
	if err := d.s.be.Read(allLogits, d.values); err != nil {
		return nil, nil, err
	}
	allIDs, err := d.readIDs(d.ids)
	if err != nil {
		return nil, nil, err
	}
	for pos := lo; pos < hi; pos++ {
		at := pos % places * k
		ids, logits = append(ids, allIDs[at:at+k]), append(logits, allLogits[at:at+k])
	}
	return ids, logits, nil
}

func (d *Decoder) readIDs(t backend.Tensor) ([]int32, error) {
	bits := make([]float32, t.Rows*t.N)
	if err := d.s.be.Read(bits, t); err != nil {
		return nil, err
	}
	ids := make([]int32, len(bits))
	for i, b := range bits {
		ids[i] = int32(math.Float32bits(b))
	}
	return ids, nil
}
