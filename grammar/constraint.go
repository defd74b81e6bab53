package grammar

import "fmt"

// maxMasks is how many masks are kept of a grammar and a vocabulary.
const maxMasks = 256

// Constraint follows tokens through a grammar. It is not for use by several goroutines at a time, but different ones,
// clones too, may be. Clones share what they find out: keep one, and clone it for every generation.
type Constraint struct {
	m      Matcher
	v      *Vocabulary
	ended  bool
	shared *masks
}

// masks are those found so far, under the lock of the grammar's automaton.
type masks struct {
	byState map[*state][]uint64
}

// Constrain returns a Constraint at the start of the text.
func (g *Grammar) Constrain(v *Vocabulary) *Constraint {
	return &Constraint{m: Matcher{g: g}, v: v, shared: &masks{map[*state][]uint64{}}}
}

// Mask sets bit id%64 of mask[id/64] for every token that may come next, and clears all others. Tokens that end the
// generation may come where the text may end. After one of them no other may come.
func (c *Constraint) Mask(mask []uint64) error {
	words := (c.v.Len() + 63) / 64
	if len(mask) < words {
		return fmt.Errorf("grammar: the mask has %d words, expected at least %d for %d tokens", len(mask), words,
			c.v.Len())
	}
	clear(mask)
	if c.ended {
		for _, id := range c.v.ends {
			mask[id/64] |= 1 << (id % 64)
		}
		return nil
	}
	a := &c.m.g.auto
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := c.m.state()
	if err != nil {
		return err
	}
	known := c.shared.byState[s]
	if known == nil {
		if err := c.v.mask(a, s, mask); err != nil {
			return err
		}
		if len(c.shared.byState) >= maxMasks {
			clear(c.shared.byState)
		}
		known = append(known, mask[:words]...)
		c.shared.byState[s] = known
	}
	copy(mask, known)
	return nil
}

// Accept goes on by one token. If it may not come next there is an error, and the Constraint is where it was.
func (c *Constraint) Accept(id int32) error {
	if id < 0 || int(id) >= c.v.Len() {
		return fmt.Errorf("grammar: found token %d, expected 0 to %d", id, c.v.Len()-1)
	}
	end := c.v.isEnd(id)
	switch text := c.v.texts[id]; {
	case end && (c.ended || c.m.CanEnd()):
		c.ended = true
		return nil
	case end:
		return fmt.Errorf("grammar: token %d ends the generation, which may not end here", id)
	case c.ended:
		return fmt.Errorf("grammar: token %d comes after the end of the generation", id)
	case text == "":
		return fmt.Errorf("grammar: token %d has no text, and may not come anywhere", id)
	default:
		if err := c.m.advance(text); err != nil {
			return fmt.Errorf("%w (token %d)", err, id)
		}
		return nil
	}
}

// CanEnd reports whether the text may end here.
func (c *Constraint) CanEnd() bool { return c.ended || c.m.CanEnd() }

// Ended reports whether a token that ends the generation has been accepted.
func (c *Constraint) Ended() bool { return c.ended }

// Reset goes back to the start.
func (c *Constraint) Reset() {
	c.m.Reset()
	c.ended = false
}

// Clone returns a copy that goes on by itself.
func (c *Constraint) Clone() *Constraint {
	d := *c
	return &d
}
