package tokenizer

import (
	"cmp"
	"slices"
)

// matcher finds tokens in raw text: the longest first wherever they stand, and of one token the leftmost first. That is
// not the longest at each place from left to right: a longer token may begin within a shorter one.
type matcher struct {
	tokens []specialToken // the longest first
	first  [256]int32     // by the byte that tokens begin with: a node, or None
	nodes  []matchNode    // the tree of the tokens' texts
}

// matchNode is a byte of tokens, after the bytes that lead to it.
type matchNode struct {
	c              byte
	child, sibling int32 // nodes, or None
	ends           int32 // which of tokens ends here, or None
}

type specialToken struct {
	id         int32
	text       string
	stripRight bool
	shorter    int32 // the longest other token that this one begins with, an index of tokens, or None
}

// newMatcher makes a matcher of the tokens that pass.
func newMatcher(t *Tokenizer, pass func(attr) bool) *matcher {
	m := &matcher{}
	for c := range m.first {
		m.first[c] = None
	}
	for id, a := range t.attrs {
		if pass(a) && t.tokens[id] != "" {
			m.tokens = append(m.tokens, specialToken{int32(id), t.tokens[id], a&stripRight != 0, None})
		}
	}
	slices.SortStableFunc(m.tokens, func(a, b specialToken) int { return cmp.Compare(len(b.text), len(a.text)) })
	for i := len(m.tokens) - 1; i >= 0; i-- { // the shortest first, so that they are there when longer ones pass them
		at := &m.first[m.tokens[i].text[0]]
		var node int32
		for _, c := range []byte(m.tokens[i].text) {
			for *at != None && m.nodes[*at].c != c {
				at = &m.nodes[*at].sibling
			}
			if node = *at; node == None {
				node = int32(len(m.nodes))
				*at = node
				m.nodes = append(m.nodes, matchNode{c, None, None, None})
			}
			if m.nodes[node].ends != None {
				m.tokens[i].shorter = m.nodes[node].ends
			}
			at = &m.nodes[node].child
		}
		m.nodes[node].ends = int32(i)
	}
	return m
}

// part is a token, or the text from start to end if id is None.
type part struct {
	start, end int
	id         int32
}

// split cuts text into tokens and what lies between them. A nil matcher finds none.
func (m *matcher) split(text string) []part {
	if text == "" {
		return nil
	}
	whole := []part{{0, len(text), None}}
	if m == nil || len(m.tokens) == 0 {
		return whole
	}
	var at [][]int // by token: where the text may have it
	for i := range len(text) {
		if k := m.longest(text[i:]); k != None {
			if at == nil {
				at = make([][]int, len(m.tokens))
			}
			at[k] = append(at[k], i)
		}
	}
	if at == nil {
		return whole
	}
	taken := make([]bool, len(text))
	var parts []part
	for k, token := range m.tokens {
		slices.Sort(at[k]) // places that longer tokens left are in it
		for _, start := range at[k] {
			end := start + len(token.text)
			switch {
			case taken[start]: // so are shorter ones
			case taken[end-1]:
				// What is taken is at least as long as this token: it cannot lie within it, so looking at the ends is
				// enough.
				if token.shorter != None {
					at[token.shorter] = append(at[token.shorter], start)
				}
			default:
				for token.stripRight && end < len(text) && !taken[end] && isSpace(text[end]) {
					end++
				}
				for i := start; i < end; i++ {
					taken[i] = true
				}
				parts = append(parts, part{start, end, token.id})
			}
		}
		at[k] = nil
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	var all []part
	done := 0
	for _, p := range parts {
		if p.start > done {
			all = append(all, part{done, p.start, None})
		}
		all = append(all, p)
		done = p.end
	}
	if done < len(text) {
		all = append(all, part{done, len(text), None})
	}
	return all
}

// longest returns the longest token that text, which is not empty, begins with: an index of tokens, or None.
func (m *matcher) longest(text string) int32 {
	found, node := None, m.first[text[0]]
	for i := 0; node != None; {
		n := &m.nodes[node]
		if n.c != text[i] {
			node = n.sibling
			continue
		}
		if n.ends != None {
			found = n.ends
		}
		if i++; i == len(text) {
			break
		}
		node = n.child
	}
	return found
}

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
