package grammar

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Vocabulary is the texts of tokens, ordered for the mask of a grammar. It does not change, and may be used by several
// goroutines at a time.
type Vocabulary struct {
	texts []string
	ends  []int32    // ids of the tokens that end the generation, in ascending order
	trie  []trieNode // in depth-first order; the first is a child of the root
	under []subtree  // by node
	ids   []int32    // tokens in the order of their texts
}

// trieNode is a beginning of tokens.
type trieNode struct {
	skip   int32 // the node after those that begin with this one
	tokens int32 // how many tokens are this text
	first  int32 // where they are in ids
	depth  uint16
	b      byte // the last byte
}

// subtree is what comes below a node.
type subtree struct {
	ascii  [2]uint64 // the bytes below 0x80
	height uint16    // of its longest token
	more   bool      // there are other bytes
}

// NewVocabulary takes the texts of all tokens by id: the bytes that each adds to the output. A token without text, as a
// control token, is never allowed. ends are the tokens that end a generation, whatever their text.
func NewVocabulary(texts []string, ends []int32) (*Vocabulary, error) {
	if len(texts) == 0 || len(texts) > math.MaxInt32 {
		return nil, fmt.Errorf("grammar: the vocabulary has %d tokens, expected 1 to %d", len(texts), math.MaxInt32)
	}
	v := &Vocabulary{texts: slices.Clone(texts), ends: slices.Clone(ends)}
	slices.Sort(v.ends)
	for _, id := range v.ends {
		if id < 0 || int(id) >= len(texts) {
			return nil, fmt.Errorf("grammar: the token %d ends a generation, expected 0 to %d", id, len(texts)-1)
		}
	}
	total := 0
	for id, text := range texts {
		if len(text) > math.MaxUint16 {
			return nil, fmt.Errorf("grammar: token %d has %d bytes, expected at most %d", id, len(text), math.MaxUint16)
		}
		if text == "" || v.isEnd(int32(id)) {
			continue
		}
		if total += len(text); total > math.MaxInt32 {
			return nil, fmt.Errorf("grammar: tokens 0 to %d have %d bytes, expected at most %d", id, total,
				math.MaxInt32)
		}
		v.ids = append(v.ids, int32(id))
	}
	slices.SortFunc(v.ids, func(a, b int32) int {
		return cmp.Or(strings.Compare(texts[a], texts[b]), cmp.Compare(a, b))
	})
	v.build()
	return v, nil
}

// build makes the trie of the sorted tokens.
func (v *Vocabulary) build() {
	var path []int32 // nodes from the root to the last
	last := ""
	leave := func(depth int) {
		for _, n := range path[depth:] {
			v.trie[n].skip = int32(len(v.trie))
		}
		path = path[:depth]
	}
	for i, id := range v.ids {
		text := v.texts[id]
		same := 0
		for same < len(last) && same < len(text) && last[same] == text[same] {
			same++
		}
		leave(same)
		for d := same; d < len(text); d++ {
			path = append(path, int32(len(v.trie)))
			v.trie = append(v.trie, trieNode{first: int32(i), depth: uint16(d + 1), b: text[d]})
		}
		v.trie[path[len(path)-1]].tokens++
		last = text
	}
	leave(0)
	v.under = make([]subtree, len(v.trie))
	for i := len(v.trie) - 1; i >= 0; i-- { // what is below first
		u := &v.under[i]
		for child := int32(i) + 1; child < v.trie[i].skip; child = v.trie[child].skip {
			c, b := &v.under[child], v.trie[child].b
			u.ascii[0] |= c.ascii[0]
			u.ascii[1] |= c.ascii[1]
			u.more = u.more || c.more || b >= 0x80
			u.height = max(u.height, c.height+1)
			if b < 0x80 {
				u.ascii[b/64] |= 1 << (b % 64)
			}
		}
	}
}

func (v *Vocabulary) isEnd(id int32) bool {
	_, ok := slices.BinarySearch(v.ends, id)
	return ok
}

// Len returns the number of tokens.
func (v *Vocabulary) Len() int { return len(v.texts) }

// minSubtree is how many nodes must be below one for a look at all of them at once to be worth it.
const minSubtree = 16

// mask sets the bits of the tokens that may come after s.
func (v *Vocabulary) mask(a *automaton, s *state, mask []uint64) error {
	states := []*state{s} // by depth
	for i := 0; i < len(v.trie); {
		n := &v.trie[i]
		from := states[n.depth-1]
		next := from.next[a.g.byteKind[n.b]]
		if next == nil {
			var err error
			if next, err = a.advance(from, n.b); err != nil {
				return err
			}
		}
		if next.dead() {
			i = int(n.skip)
			continue
		}
		if int(n.depth) == len(states) {
			states = append(states, next)
		} else {
			states[n.depth] = next
		}
		end := n.first + n.tokens
		if n.skip-int32(i) > minSubtree {
			all, err := a.allowsAll(next, &v.under[i])
			if err != nil {
				return err
			}
			if all {
				end = int32(len(v.ids))
				if int(n.skip) < len(v.trie) {
					end = v.trie[n.skip].first
				}
				i = int(n.skip) - 1
			}
		}
		for _, id := range v.ids[n.first:end] {
			mask[id/64] |= 1 << (id % 64)
		}
		i++
	}
	if s.accept {
		for _, id := range v.ends {
			mask[id/64] |= 1 << (id % 64)
		}
	}
	return nil
}
