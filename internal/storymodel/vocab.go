package storymodel

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cera/gguf"
	"cera/tokenizer"
)

// Token ids that every vocabulary of the kind "llama" begins with; the 256 byte tokens follow, then the pieces.
const (
	idUnknown = iota
	idBOS
	idEOS
	idBytes
	idPieces = idBytes + 256
)

// Token types of the key tokenizer.ggml.token_type.
const (
	typeNormal  = 1
	typeUnknown = 2
	typeControl = 3
	typeByte    = 6
)

// spaceMarker is how SentencePiece spells a space.
const spaceMarker = "▁"

// Vocabulary is a SentencePiece vocabulary with byte fallback. The score of a piece is minus its rank among the merges,
// so that merging by the highest score, as the tokenizer does, merges in the order of training.
type Vocabulary struct {
	Tokens []string
	Scores []float32
	Types  []int32
}

// TrainVocabulary learns size tokens from texts by byte-pair encoding: each merge joins the pair of neighbours that is
// most frequent then, of equals the one that is first in the alphabet. Pieces stay within a word or a run of marks, and
// a space marker stands only at the front of one.
func TrainVocabulary(texts []string, size int) (*Vocabulary, error) {
	words, chars := countWords(texts)
	merges := size - idPieces - len(chars)
	if merges < 0 {
		return nil, fmt.Errorf("vocabulary of %d tokens: special tokens, bytes and the text's characters alone are %d",
			size, idPieces+len(chars))
	}
	v := &Vocabulary{}
	v.add("<unk>", 0, typeUnknown)
	v.add("<s>", 0, typeControl)
	v.add("</s>", 0, typeControl)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), 0, typeByte)
	}
	for rank := range merges {
		best := mostFrequent(words)
		if best == (pair{}) {
			return nil, fmt.Errorf("vocabulary of %d tokens: the text has no more than %d pieces", size,
				len(v.Tokens)+len(chars))
		}
		v.add(best.left+best.right, -float32(rank), typeNormal)
		for i := range words {
			words[i].merge(best)
		}
	}
	for i, c := range chars {
		v.add(c, -float32(merges+i), typeNormal)
	}
	return v, nil
}

func (v *Vocabulary) add(token string, score float32, kind int32) {
	v.Tokens = append(v.Tokens, token)
	v.Scores = append(v.Scores, score)
	v.Types = append(v.Types, kind)
}

// word is a stretch of text within which pieces merge, as the pieces that it has become.
type word struct {
	pieces []string
	count  int
}

type pair struct{ left, right string }

// countWords returns the words of texts in alphabetical order, and their characters.
func countWords(texts []string) (words []word, chars []string) {
	counts := map[string]int{}
	for _, t := range texts {
		for w := range strings.SplitSeq(t, " ") {
			for _, part := range splitMarks(spaceMarker + w) {
				counts[part]++
			}
		}
	}
	seen := map[string]bool{}
	for text, n := range counts {
		w := word{count: n}
		for _, r := range text {
			w.pieces = append(w.pieces, string(r))
			seen[string(r)] = true
		}
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b word) int { return slices.Compare(a.pieces, b.pieces) })
	for c := range seen {
		chars = append(chars, c)
	}
	slices.Sort(chars)
	return words, chars
}

// splitMarks splits a word with its space marker between letters and marks; an apostrophe counts as a letter.
func splitMarks(w string) (parts []string) {
	isLetter := func(c byte) bool { return c == '\'' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	start := 0
	for i := len(spaceMarker) + 1; i < len(w); i++ {
		if isLetter(w[i]) != isLetter(w[i-1]) {
			parts = append(parts, w[start:i])
			start = i
		}
	}
	return append(parts, w[start:])
}

// mostFrequent returns the most frequent pair of neighbours, or none.
func mostFrequent(words []word) pair {
	counts := map[pair]int{}
	for _, w := range words {
		for i := 1; i < len(w.pieces); i++ {
			counts[pair{w.pieces[i-1], w.pieces[i]}] += w.count
		}
	}
	var best pair
	most := 0
	for p, n := range counts {
		if n > most || n == most && (p.left < best.left || p.left == best.left && p.right < best.right) {
			best, most = p, n
		}
	}
	return best
}

// merge joins every occurrence of a pair, from the left.
func (w *word) merge(p pair) {
	n := 0
	for i := 0; i < len(w.pieces); i++ {
		if i+1 < len(w.pieces) && w.pieces[i] == p.left && w.pieces[i+1] == p.right {
			w.pieces[n] = p.left + p.right
			i++
		} else {
			w.pieces[n] = w.pieces[i]
		}
		n++
	}
	w.pieces = w.pieces[:n]
}

// set writes the vocabulary's keys.
func (v *Vocabulary) set(w *gguf.Writer) {
	w.Set("tokenizer.ggml.model", "llama")
	w.Set("tokenizer.ggml.pre", "default")
	w.Set("tokenizer.ggml.tokens", v.Tokens)
	w.Set("tokenizer.ggml.scores", v.Scores)
	w.Set("tokenizer.ggml.token_type", v.Types)
	w.Set("tokenizer.ggml.unknown_token_id", uint32(idUnknown))
	w.Set("tokenizer.ggml.bos_token_id", uint32(idBOS))
	w.Set("tokenizer.ggml.eos_token_id", uint32(idEOS))
	w.Set("tokenizer.ggml.add_bos_token", true)
	w.Set("tokenizer.ggml.add_eos_token", false)
	w.Set("tokenizer.ggml.add_space_prefix", true)
}

// File returns the vocabulary as a GGUF file without tensors, from which the tokenizer can be made.
func (v *Vocabulary) File() ([]byte, error) {
	w := gguf.NewWriter()
	w.Set("general.architecture", "llama")
	w.Set("general.name", modelName+" vocabulary")
	v.set(w)
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Tokenizer returns the tokenizer of the vocabulary.
func (v *Vocabulary) Tokenizer() (*tokenizer.Tokenizer, error) {
	b, err := v.File()
	if err != nil {
		return nil, err
	}
	f, err := gguf.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return tokenizer.New(f, tokenizer.Options{})
}

// ReadVocabulary returns the vocabulary of an open file.
func ReadVocabulary(f *gguf.File) (*Vocabulary, error) {
	v := &Vocabulary{}
	var err error
	if v.Tokens, err = f.Strings("tokenizer.ggml.tokens"); err != nil {
		return nil, err
	}
	if v.Scores, err = f.Floats("tokenizer.ggml.scores"); err != nil {
		return nil, err
	}
	types, err := f.Uints("tokenizer.ggml.token_type")
	if err != nil {
		return nil, err
	}
	if len(v.Scores) != len(v.Tokens) || len(types) != len(v.Tokens) {
		return nil, fmt.Errorf("%s: %d tokens, %d scores and %d types, expected as many of each", f.Path, len(v.Tokens),
			len(v.Scores), len(types))
	}
	for _, t := range types {
		v.Types = append(v.Types, int32(t))
	}
	return v, nil
}
