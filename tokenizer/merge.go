package tokenizer

// merger merges neighbouring symbols of one piece, the best pair first, until no pair can merge. It is scratch memory,
// used for one piece after the other.
type merger struct {
	pairs pairer

	text string  // the piece
	pos  []int   // where each symbol begins in it, and its length as a last entry
	id   []int32 // what pairer knows each symbol by
	// Of each symbol and its successor: the rank of their merge, the lowest first, noMerge if they do not merge; and
	// what they become.
	rank   []int32
	merged []int32

	next, prev []int32  // of long pieces: symbols as a list
	heap       []uint64 // of long pieces: rank<<32 | symbol, the lowest first, outdated ones among them

	steps int // pairs looked at and ranks compared, for the tests
}

// pairer knows which symbols merge.
type pairer interface {
	// pair returns the rank of the merge of two neighbours, known by left and right and spelled text, and what they
	// become.
	pair(left, right int32, text string) (rank, merged int32)
}

const noMerge = int32(-1)

// shortPiece is the number of symbols up to which a scan for the best pair is faster than a heap.
const shortPiece = 32

// reset begins a piece.
func (m *merger) reset(pairs pairer, text string) {
	m.pairs, m.text = pairs, text
	m.pos, m.id = m.pos[:0], m.id[:0]
}

// add appends a symbol that begins at pos.
func (m *merger) add(pos int, id int32) {
	m.pos = append(m.pos, pos)
	m.id = append(m.id, id)
}

// run merges. Afterwards the symbols are id[i], spelled text[pos[i]:pos[i+1]].
func (m *merger) run() {
	n := len(m.id)
	m.pos = append(m.pos, len(m.text))
	if n < 2 {
		return
	}
	m.rank = append(m.rank[:0], make([]int32, n)...)
	m.merged = append(m.merged[:0], make([]int32, n)...)
	for i := range n - 1 {
		m.look(i, i+1, m.pos[i+2])
	}
	m.rank[n-1] = noMerge
	if n <= shortPiece {
		m.scan()
	} else {
		m.queue()
	}
}

// look sets the rank of symbol l with its successor r, which ends at end.
func (m *merger) look(l, r, end int) {
	m.steps++
	m.rank[l], m.merged[l] = m.pairs.pair(m.id[l], m.id[r], m.text[m.pos[l]:end])
}

// scan merges by looking for the best pair each time.
func (m *merger) scan() {
	for {
		m.steps += len(m.rank)
		best := -1
		for i, r := range m.rank {
			if r != noMerge && (best < 0 || r < m.rank[best]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		m.id[best] = m.merged[best]
		m.pos = remove(m.pos, best+1)
		m.id = remove(m.id, best+1)
		m.rank = remove(m.rank, best+1)
		m.merged = remove(m.merged, best+1)
		if best+1 < len(m.id) {
			m.look(best, best+1, m.pos[best+2])
		} else {
			m.rank[best] = noMerge
		}
		if best > 0 {
			m.look(best-1, best, m.pos[best+1])
		}
	}
}

func remove[T any](s []T, i int) []T {
	copy(s[i:], s[i+1:])
	return s[:len(s)-1]
}

// queue merges by a heap of pairs, in n log n steps.
func (m *merger) queue() {
	n := len(m.id)
	m.next, m.prev = m.next[:0], m.prev[:0]
	m.heap = m.heap[:0]
	for i := range n {
		m.next = append(m.next, int32(i+1))
		m.prev = append(m.prev, int32(i-1))
		if m.rank[i] != noMerge {
			m.heap = append(m.heap, uint64(m.rank[i])<<32|uint64(i))
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		m.steps++
		top := m.heap[0]
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
		m.down(0)
		l := int(top & (1<<32 - 1))
		if m.rank[l] != int32(top>>32) {
			continue // outdated: one of the two has merged since
		}
		r := m.next[l]
		m.id[l] = m.merged[l]
		m.rank[r] = noMerge
		after := m.next[r]
		m.next[l] = after
		m.rank[l] = noMerge
		if int(after) < n {
			m.prev[after] = int32(l)
			m.pushPair(l, int(after))
		}
		if before := m.prev[l]; before >= 0 {
			m.pushPair(int(before), l)
		}
	}
	k := 0
	for i := 0; i < n; i = int(m.next[i]) {
		m.pos[k], m.id[k] = m.pos[i], m.id[i]
		k++
	}
	m.id = m.id[:k]
	m.pos = append(m.pos[:k], len(m.text))
}

// pushPair looks at symbol l and its successor r, and queues them if they merge.
func (m *merger) pushPair(l, r int) {
	m.look(l, r, m.pos[m.next[r]])
	if m.rank[l] == noMerge {
		return
	}
	m.heap = append(m.heap, uint64(m.rank[l])<<32|uint64(l))
	for i := len(m.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if m.heap[parent] <= m.heap[i] {
			return
		}
		m.heap[parent], m.heap[i] = m.heap[i], m.heap[parent]
		i = parent
	}
}

// down moves the entry at i down to its place in the heap.
func (m *merger) down(i int) {
	h := m.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
