package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
	"cera/gguf/gguftest"
)

// Small vocabularies of our own, so that all tests but TestGolden run from a clone alone.

// metadata are a file's keys.
type metadata map[string]any

// with returns a copy with other values; nil removes a key.
func (m metadata) with(changes metadata) metadata {
	m = maps.Clone(m)
	for k, v := range changes {
		if m[k] = v; v == nil {
			delete(m, k)
		}
	}
	return m
}

// file writes the metadata, and a token_embd.weight of rows rows unless they are 0.
func (m metadata) file(t testing.TB, rows int) *gguf.File {
	t.Helper()
	w := gguf.NewWriter()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.Set(k, m[k])
	}
	if rows > 0 {
		w.Add("token_embd.weight", gguf.F32, []uint64{1, uint64(rows)}, make([]byte, 4*rows))
	}
	return gguftest.File(t, w)
}

func (m metadata) open(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := New(m.file(t, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// learn returns the n merges of BPE on words, each a list of symbols: the most frequent pair each time, the
// alphabetically first of equals.
func learn(words [][]string, n int) (merges [][2]string) {
	for range n {
		count := map[[2]string]int{}
		for _, w := range words {
			for i := 1; i < len(w); i++ {
				count[[2]string{w[i-1], w[i]}]++
			}
		}
		var best [2]string
		for pair, k := range count {
			if k > count[best] || k == count[best] && (pair[0]+" "+pair[1] < best[0]+" "+best[1]) {
				best = pair
			}
		}
		if count[best] < 2 {
			break
		}
		merges = append(merges, best)
		for i, w := range words {
			var out []string
			for k := 0; k < len(w); k++ {
				if k+1 < len(w) && w[k] == best[0] && w[k+1] == best[1] {
					out = append(out, w[k]+w[k+1])
					k++
				} else {
					out = append(out, w[k])
				}
			}
			words[i] = out
		}
	}
	return merges
}

// sample is what the vocabularies are learnt from: prose, code, other scripts, and runs.
var sample = prose + strings.Repeat("naïve 中文中文 Привет 12345 don't WE'RE  aaaa    \n\n\t\t=== ", 4) +
	strings.Repeat("a", 70) + strings.Repeat(" ", 40)

// spellBytes spells text as byte-level BPE does.
func spellBytes(text string) []string {
	var out []string
	for _, c := range []byte(text) {
		out = append(out, string(byteRunes[c]))
	}
	return out
}

// byteBPE is a "gpt2" vocabulary with all bytes, merges, and special tokens of every type.
func byteBPE(pre string) metadata {
	var tokens, list []string
	for _, r := range byteRunes {
		tokens = append(tokens, string(r))
	}
	var words [][]string
	for w := range strings.FieldsSeq(strings.ReplaceAll(sample, " ", "\n ")) {
		words = append(words, spellBytes(" "+w), spellBytes(w))
	}
	words = append(words, spellBytes(strings.Repeat(" ", 40)), spellBytes("\n\n\n\n"))
	for _, m := range learn(words, 300) {
		tokens = append(tokens, m[0]+m[1])
		list = append(list, m[0]+" "+m[1])
	}
	types := make([]int32, len(tokens))
	for i := range types {
		types[i] = 1
	}
	add := func(token string, kind int32) { tokens, types = append(tokens, token), append(types, kind) }
	add("<|begin|>", 3)
	add("<|im_end|>", 3)
	add("<tool>", 4)
	add("<unused>", 5)
	add("[extra]", 1)
	add("Ġquux", 1) // no merges lead to it
	id := map[string]uint32{}
	for i, token := range tokens {
		id[token] = uint32(i)
	}
	return metadata{
		keyModel: "gpt2", keyPre: pre, keyTokens: tokens, keyTypes: types, keyMerges: list,
		keyBOS: id["<|begin|>"], keyEOS: id["<|im_end|>"],
	}
}

// sentencePiece is a "llama" vocabulary with byte tokens and scores.
func sentencePiece() metadata {
	tokens := []string{"<unk>", "<s>", "</s>"}
	types := []int32{2, 3, 3}
	scores := []float32{0, 0, 0}
	for c := range 256 {
		tokens, types, scores = append(tokens, fmt.Sprintf("<0x%02X>", c)), append(types, 6), append(scores, 0)
	}
	for _, user := range []string{"<|user|>", "<|end|>"} {
		tokens, types, scores = append(tokens, user), append(types, 4), append(scores, 0)
	}
	text := strings.ReplaceAll(sample, " ", spaceMarker)
	var words [][]string
	for w := range strings.SplitSeq(strings.ReplaceAll(text, spaceMarker, "\n"+spaceMarker), "\n") {
		words = append(words, strings.Split(w, ""))
	}
	words = append(words, strings.Split(strings.Repeat(spaceMarker, 40), ""))
	chars := map[string]bool{}
	for _, w := range words {
		for _, c := range w {
			chars[c] = true
		}
	}
	var pieces []string
	for _, m := range learn(words, 300) {
		if p := m[0] + m[1]; !slices.Contains(pieces, p) {
			pieces = append(pieces, p)
		}
	}
	pieces = append(pieces, slices.Sorted(maps.Keys(chars))...)
	for i, p := range pieces {
		// Some scores are equal, so that the leftmost has to win.
		tokens, types, scores = append(tokens, p), append(types, 1), append(scores, -float32(i/3))
	}
	return metadata{keyModel: "llama", keyTokens: tokens, keyTypes: types, keyScores: scores}
}

// charBPE is a "gemma4" vocabulary: sentencePiece's tokens, with merges.
func charBPE() metadata {
	m := sentencePiece()
	tokens, scores := m[keyTokens].([]string), m[keyScores].([]float32)
	has := map[string]bool{}
	for _, token := range tokens {
		has[token] = true
	}
	type merge struct {
		pair  string
		score float32
	}
	var merges []merge
	for i, token := range tokens {
		for k := range token {
			if k > 0 && scores[i] < 0 && has[token[:k]] && has[token[k:]] {
				merges = append(merges, merge{token[:k] + " " + token[k:], scores[i]})
			}
		}
	}
	slices.SortStableFunc(merges, func(a, b merge) int { return int(b.score - a.score) })
	var list []string
	for _, x := range merges {
		list = append(list, x.pair)
	}
	return m.with(metadata{keyModel: "gemma4", keyScores: nil, keyMerges: list, keyBOS: uint32(1), keyEOS: uint32(2),
		keyUnknown: uint32(0),
		keyTokens:  append(slices.Clone(tokens), "\n\n\n"), keyTypes: append(slices.Clone(m[keyTypes].([]int32)), 1)})
}

// vocabularies are one of each kind.
func vocabularies() map[string]metadata {
	return map[string]metadata{"bytes": byteBPE("qwen2"), "whole pieces": byteBPE("llama3"), "pieces": sentencePiece(),
		"characters": charBPE()}
}
