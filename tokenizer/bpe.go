package tokenizer

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"cera/gguf"
)

// bpe is BPE by a list of merges, on bytes or on characters.
type bpe struct {
	t       *Tokenizer
	symbols map[string]int32 // what merges are about, in the vocabulary's spelling; ids from Len() on are no tokens
	merges  mergeTable
	first   [256]int32 // of merges of bytes: the symbol of each byte
	spell   [256]rune  // of merges of bytes: how the vocabulary spells each
	glued   glue
}

// newBPE reads the merges.
func newBPE(f *gguf.File, t *Tokenizer) (*bpe, error) {
	list, err := f.Strings(keyMerges)
	if err != nil {
		return nil, err
	}
	b := &bpe{t: t, symbols: map[string]int32{}, spell: byteRunes}
	extra := int32(len(t.tokens))
	intern := func(s string) int32 {
		if id, ok := t.vocab[s]; ok {
			return id
		}
		id, ok := b.symbols[s]
		if !ok {
			id = extra
			extra++
			b.symbols[strings.Clone(s)] = id
		}
		return id
	}
	b.merges = newMergeTable(len(list))
	for i, merge := range list {
		// The first part may begin with a space, but not be empty.
		cut := -1
		if len(merge) > 1 {
			cut = strings.IndexByte(merge[1:], ' ') + 1
		}
		if cut < 1 || cut == len(merge)-1 {
			return nil, fail(f, keyMerges, "has %.60q as merge %d, expected two parts with a space between them", merge,
				i)
		}
		left, right := merge[:cut], merge[cut+1:]
		b.merges.add(intern(left), intern(right), int32(i), intern(left+right))
	}
	for c := range 256 {
		if t.pre.chars {
			t.byteID[c] = byteTokenID(t, byte(c))
			continue
		}
		spelled := string(b.spell[c])
		b.first[c] = intern(spelled)
		t.byteID[c] = None
		if id, ok := t.vocab[spelled]; ok {
			t.byteID[c] = id
		}
	}
	if t.pre.chars {
		for _, vocab := range []map[string]int32{t.vocab, b.symbols} {
			for s := range vocab {
				b.glued.learn(s)
			}
		}
	}
	return b, nil
}

func (b *bpe) pair(left, right int32, _ string) (rank, merged int32) {
	if left < 0 || right < 0 {
		return noMerge, 0
	}
	return b.merges.get(left, right)
}

func (b *bpe) encode(s *scratch, text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // each byte that is at fault becomes U+FFFD
	}
	if b.t.pre.chars {
		text = strings.ReplaceAll(text, " ", spaceMarker)
	}
	ends, from := append(s.ends[:0], len(text)), s.from
	for _, stage := range b.t.pre.stages {
		from, ends = ends, from[:0]
		start := 0
		for _, end := range from {
			ends = stage.split.split(text[start:end], start, ends)
			start = end
		}
	}
	s.ends, s.from = ends, from
	start := 0
	for _, end := range ends {
		if piece := text[start:end]; b.t.pre.chars {
			b.glued.each(piece, func(word string) { s.word(b, word) })
		} else {
			s.word(b, piece)
		}
		start = end
	}
}

// encodeWord encodes a piece, without the help of what is remembered of earlier ones.
func (b *bpe) encodeWord(s *scratch, word string) {
	t := b.t
	if t.pre.chars && strings.Trim(word, "\n") == "" {
		if id, ok := t.vocab[word]; ok {
			s.out = append(s.out, id)
			return
		}
	}
	if t.pre.ignoreMerges {
		s.spelled = s.spelled[:0]
		for _, c := range []byte(word) {
			s.spelled = utf8.AppendRune(s.spelled, b.spell[c])
		}
		if id, ok := t.vocab[string(s.spelled)]; ok {
			s.out = append(s.out, id)
			return
		}
	}
	m := &s.merger
	m.reset(b, word)
	if t.pre.chars {
		for i, r := range word {
			m.add(i, b.symbol(word[i:i+utf8.RuneLen(r)]))
		}
	} else {
		for i := range len(word) {
			m.add(i, b.first[word[i]])
		}
	}
	m.run()
	for i, id := range m.id {
		if t.valid(id) {
			s.out = append(s.out, id)
		} else {
			s.bytes(t, word[m.pos[i]:m.pos[i+1]])
		}
	}
}

func (b *bpe) symbol(text string) int32 {
	if id, ok := b.t.vocab[text]; ok {
		return id
	}
	if id, ok := b.symbols[text]; ok {
		return id
	}
	return None
}

// mergeTable maps pairs of symbols to the rank of their merge and what they become: a hash table with open addressing.
type mergeTable struct {
	keys   []uint64 // left<<32 | right, +1 so that 0 is a free place
	values []uint64 // rank<<32 | merged
}

func newMergeTable(n int) mergeTable {
	size := 4
	for size < 2*n {
		size *= 2
	}
	return mergeTable{make([]uint64, size), make([]uint64, size)}
}

// hashFactor is for multiplicative hashing. It is another one each time the program runs, so that no file can choose
// merges that all want the same place.
var hashFactor = rand.Uint64() | 1

// place returns where key is, or would be.
func (t *mergeTable) place(key uint64) int {
	mask := len(t.keys) - 1
	i := int(key*hashFactor>>32) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

// add adds a merge; of two of the same pair the first counts.
func (t *mergeTable) add(left, right, rank, merged int32) {
	key := uint64(left)<<32 | uint64(right) + 1
	if i := t.place(key); t.keys[i] == 0 {
		t.keys[i], t.values[i] = key, uint64(rank)<<32|uint64(merged)
	}
}

func (t *mergeTable) get(left, right int32) (rank, merged int32) {
	i := t.place(uint64(left)<<32 | uint64(right) + 1)
	if t.keys[i] == 0 {
		return noMerge, 0
	}
	return int32(t.values[i] >> 32), int32(t.values[i])
}

// byteRunes spells bytes as printable characters, as GPT-2's vocabulary does: those that are printable in Latin-1 stand
// for themselves, the others are U+0100 and on in their order.
var byteRunes = func() (spell [256]rune) {
	next := rune(0x100)
	for c := range spell {
		if c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE {
			spell[c] = rune(c)
		} else {
			spell[c] = next
			next++
		}
	}
	return spell
}()

// runeByte is byteRunes the other way round.
func runeByte(r rune) (byte, bool) {
	c, ok := bytesByRune[r]
	return c, ok
}

var bytesByRune = func() map[rune]byte {
	m := map[rune]byte{}
	for c, r := range byteRunes {
		m[r] = byte(c)
	}
	return m
}()
