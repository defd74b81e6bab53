package grammar

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// The matcher is a pushdown automaton that follows all derivations at once. What it has found is kept: a set of
// derivations is a state, and where a byte leads from there is looked up the second time. When too much has been kept,
// all of it is dropped, and what is still in use is taken over into the new collection.

const (
	maxConfigs = 1 << 14  // derivations of a state
	maxWork    = 1 << 24  // items entered in one call
	maxKept    = 64 << 20 // bytes of a collection, roughly
)

var errTooComplex = errors.New("grammar: too ambiguous: a text may be derived in too many ways at once")

// frame is an item of an alternative, with what is to come after that alternative: the stack of a derivation. Equal
// frames are one.
type frame struct {
	frameKey
	id      uint32
	entered uint64 // the last step in which the item was entered
	resumed uint64 // the last step that went on from here
}

type frameKey struct {
	parent *frame // nil at the bottom
	pos    int32  // of the item
	count  int32  // of a repetition, how many are done; not counted above a minimum without a maximum
}

// config is a derivation that waits for a byte of the code point that is the item at f.
type config struct {
	f    *frame
	node int32 // within the code point
}

// state is a set of derivations, in the order of their frames.
type state struct {
	configs []config
	accept  bool     // the text may end here
	next    []*state // by kind of byte, nil if not known yet
	era     uint32   // of the collection it belongs to
	run     run
}

// run is where most characters lead, as in the middle of a string: to the same state, or to one that has counted one
// more. With it the mask takes many tokens at once.
type run struct {
	to    *state    // nil if not known yet
	ascii [2]uint64 // the bytes below 0x80 that lead there
}

func (s *state) dead() bool { return len(s.configs) == 0 && !s.accept }

// automaton is the collection of states of a grammar.
type automaton struct {
	mu     sync.Mutex
	g      *Grammar
	frames map[frameKey]*frame
	states map[string]*state
	first  *state
	era    uint32
	kept   int // bytes, roughly
	limit  int // of kept
	work   int // items entered since the call began

	step   uint64
	out    []config
	accept bool
	todo   []*frame
	key    []byte
}

func (a *automaton) init(g *Grammar) {
	a.g, a.limit = g, maxKept
	a.clear()
}

func (a *automaton) clear() {
	a.frames, a.states = map[frameKey]*frame{}, map[string]*state{}
	a.kept, a.first = 0, nil
	a.era++
}

// start returns the state before the first byte.
func (a *automaton) start() (*state, error) {
	a.work = 0
	if a.first == nil {
		if a.kept > a.limit {
			a.clear()
		}
		a.beginStep()
		a.todo = a.todo[:0]
		a.push(nil, int32(a.g.root))
		if err := a.enterAll(); err != nil {
			return nil, err
		}
		a.accept = a.g.rules[a.g.root].nullable
		a.first = a.intern()
	}
	return a.first, nil
}

// advance returns the state after a byte.
func (a *automaton) advance(s *state, b byte) (*state, error) {
	kind := a.g.byteKind[b]
	if t := s.next[kind]; t != nil {
		return t, nil
	}
	from := s
	if a.kept > a.limit {
		a.clear()
	}
	if s.era != a.era {
		from = a.adopt(s)
	}
	a.beginStep()
	for _, c := range from.configs {
		node, ok := a.g.nodes[c.node].next(b)
		switch {
		case !ok:
		case node != charEnd:
			a.out = append(a.out, config{c.f, node})
		default:
			if err := a.resume(c.f.parent, c.f.pos+1, 0); err != nil {
				return nil, err
			}
		}
	}
	t := a.intern()
	s.next[kind], from.next[kind] = t, t
	return t, nil
}

func (a *automaton) beginStep() {
	a.step++
	a.out, a.accept = a.out[:0], false
}

// frame returns the frame of a key.
func (a *automaton) frame(k frameKey) *frame {
	f := a.frames[k]
	if f == nil {
		f = &frame{frameKey: k, id: uint32(len(a.frames))}
		a.frames[k] = f
		a.kept += 100
	}
	return f
}

// nullable reports whether an item may stand for nothing more, after count repetitions.
func (in *instr) nullableAfter(count int32) bool {
	return in.nullable || in.op == opRep && count >= in.min
}

// resume goes on at an item, after something of the alternative has been read. At the alternative's end it goes on
// above.
func (a *automaton) resume(parent *frame, pos, count int32) error {
	for {
		in := &a.g.code[pos]
		if in.op == opEnd {
			if parent == nil {
				a.accept = true
				return nil
			}
			parent, pos, count = parent.parent, parent.pos, parent.count
			continue // at an item: no frame is at an end
		}
		f := a.frame(frameKey{parent, pos, count})
		if f.resumed == a.step {
			return nil
		}
		f.resumed = a.step
		a.todo = append(a.todo[:0], f)
		if err := a.enterAll(); err != nil {
			return err
		}
		if !in.nullableAfter(count) {
			return nil
		}
		pos, count = pos+1, 0
	}
}

// after returns the frame that goes on behind the item at pos: the parent itself at the end of the alternative, so that
// a rule that ends with itself takes no stack.
func (a *automaton) after(parent *frame, pos int32) *frame {
	if a.g.code[pos+1].op == opEnd {
		return parent
	}
	return a.frame(frameKey{parent, pos + 1, 0})
}

// enterAll adds the derivations of the items in todo that are not of nothing: all that begin with a code point.
func (a *automaton) enterAll() error {
	for len(a.todo) > 0 {
		f := a.todo[len(a.todo)-1]
		a.todo = a.todo[:len(a.todo)-1]
		if a.work++; a.work > maxWork || a.kept > a.limit+maxKept {
			return errTooComplex
		}
		if f.entered == a.step {
			continue
		}
		f.entered = a.step
		in := &a.g.code[f.pos]
		switch in.op {
		case opClass:
			if len(a.out) == maxConfigs {
				return errTooComplex
			}
			a.out = append(a.out, config{f, in.arg})
		case opRule:
			a.push(a.after(f.parent, f.pos), in.arg)
		case opRep:
			switch count := f.count + 1; {
			case in.max < 0:
				a.push(a.frame(frameKey{f.parent, f.pos, min(count, in.min)}), in.arg)
			case count < in.max:
				a.push(a.frame(frameKey{f.parent, f.pos, count}), in.arg)
			case count == in.max:
				a.push(a.after(f.parent, f.pos), in.arg)
			}
		}
	}
	return nil
}

// push notes what a rule may begin with: the first item of each alternative, and what is behind items that may be
// nothing. The end of an alternative is not noted: that all of it is nothing is known to who entered the rule.
func (a *automaton) push(parent *frame, rule int32) {
	for _, pos := range a.g.rules[rule].alts {
		for {
			in := &a.g.code[pos]
			if in.op == opEnd {
				break
			}
			a.todo = append(a.todo, a.frame(frameKey{parent, pos, 0}))
			if !in.nullable {
				break
			}
			pos++
		}
	}
}

// intern returns the state of what the step has found.
func (a *automaton) intern() *state {
	slices.SortFunc(a.out, func(x, y config) int { return cmp.Compare(x.f.id, y.f.id) })
	a.key = a.key[:0]
	for _, c := range a.out {
		a.key = append(a.key, byte(c.f.id), byte(c.f.id>>8), byte(c.f.id>>16), byte(c.f.id>>24),
			byte(c.node), byte(c.node>>8), byte(c.node>>16), byte(c.node>>24))
	}
	if a.accept {
		a.key = append(a.key, 1)
	}
	s := a.states[string(a.key)]
	if s == nil {
		s = &state{configs: slices.Clone(a.out), accept: a.accept, next: make([]*state, a.g.byteKinds), era: a.era}
		a.states[string(a.key)] = s
		a.kept += 200 + 24*len(s.configs) + 8*len(s.next)
	}
	return s
}

// adopt returns the same state in the present collection.
func (a *automaton) adopt(s *state) *state {
	known := map[*frame]*frame{nil: nil}
	a.beginStep()
	a.accept = s.accept
	for _, c := range s.configs {
		var path []*frame
		f := c.f
		for ; ; f = f.parent {
			if _, ok := known[f]; ok {
				break
			}
			path = append(path, f)
		}
		top := known[f]
		for i := len(path) - 1; i >= 0; i-- {
			top = a.frame(frameKey{top, path[i].pos, path[i].count})
			known[path[i]] = top
		}
		a.out = append(a.out, config{top, c.node})
	}
	return a.intern()
}

// allowsAll reports whether it is plain that all of a subtree may come after s: whatever its bytes are, they go along
// the runs.
func (a *automaton) allowsAll(s *state, u *subtree) (bool, error) {
	if u.more {
		return false, nil
	}
	for range u.height {
		if s.run.to == nil {
			if err := a.findRun(s); err != nil {
				return false, err
			}
		}
		if r := &s.run; r.to.dead() || u.ascii[0]&^r.ascii[0] != 0 || u.ascii[1]&^r.ascii[1] != 0 {
			return false, nil
		}
		if s.run.to == s {
			break
		}
		s = s.run.to
	}
	return true, nil
}

// findRun finds where most of the bytes below 0x80 lead.
func (a *automaton) findRun(s *state) error {
	var to [128]*state
	votes := map[*state]int{}
	for b := range to {
		next, err := a.advance(s, byte(b))
		if err != nil {
			return err
		}
		to[b] = next
		votes[next]++
		if s.run.to == nil || votes[next] > votes[s.run.to] {
			s.run.to = next
		}
	}
	for b, next := range to {
		if next == s.run.to {
			s.run.ascii[b/64] |= 1 << (b % 64)
		}
	}
	return nil
}
