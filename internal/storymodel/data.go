package storymodel

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"cera/tokenizer"
	"cera/trace"
)

// DataOptions says how much training data WriteData makes.
type DataOptions struct {
	Seed      uint64 // selects the stories, below 2^20
	Stories   int    // to train on
	HeldOut   int    // never trained on
	VocabSize int    // tokens
	VocabFrom int    // stories that the vocabulary is learned from, the first of those to train on
}

// DefaultData returns the options that the built-in model was trained with.
func DefaultData() DataOptions {
	return DataOptions{Seed: 1, Stories: 600_000, HeldOut: 2000, VocabSize: 1024, VocabFrom: 50_000}
}

// Names of the files in a data folder.
const (
	TrainName   = "train.bin"   // token ids, uint16 little-endian: <s>, a story, </s>, <s>, the next story, ...
	HeldOutName = "heldout.bin" // likewise
	VocabName   = "vocab.gguf"  // the vocabulary alone, for any GGUF tokenizer
	CountsName  = "data.json"   // Counts
)

// Counts says what WriteData wrote.
type Counts struct {
	Seed           uint64 `json:"seed"`
	Stories        int    `json:"stories"`
	Repeated       int    `json:"repeated"` // told twice by chance and left out
	Words          int    `json:"words"`
	Bytes          int    `json:"bytes"`
	Tokens         int    `json:"tokens"`         // with <s> and </s>
	Longest        int    `json:"longest_tokens"` // of a story
	HeldOutStories int    `json:"held_out_stories"`
	HeldOutBytes   int    `json:"held_out_bytes"`
	HeldOutTokens  int    `json:"held_out_tokens"`
	Vocab          int    `json:"vocab"`
}

// trainSeed returns the seed of story i of those to train on, heldOutSeed of those held out. The two never meet.
func trainSeed(seed uint64, i int) uint64   { return seed<<40 | uint64(i) }
func heldOutSeed(seed uint64, i int) uint64 { return seed<<40 | 1<<39 | uint64(i) }

// WriteData writes the stories as token ids to files in dir, with the vocabulary. No story is in it twice, and what is
// held out is not among those to train on. The same options give the same files.
func WriteData(dir string, o DataOptions) (*Counts, error) {
	if o.Seed >= 1<<20 || o.Stories < 1 || o.HeldOut < 1 || o.Stories > 1<<30 || o.HeldOut > 1<<30 || o.VocabFrom < 1 ||
		o.VocabSize > 1<<16 {
		return nil, fmt.Errorf("options %+v: expected a seed below 2^20, 1 to 2^30 stories of each kind, a "+
			"vocabulary of at most 65536 tokens from at least one story", o)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	v, err := TrainVocabulary(tellAll(min(o.VocabFrom, o.Stories), func(i int) uint64 { return trainSeed(o.Seed, i) }),
		o.VocabSize)
	if err != nil {
		return nil, err
	}
	file, err := v.File()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, VocabName), file, 0o666); err != nil {
		return nil, err
	}
	t, err := v.Tokenizer()
	if err != nil {
		return nil, err
	}
	c := &Counts{Seed: o.Seed, Vocab: len(v.Tokens)}
	w := &storyWriter{tok: t, seen: map[uint64]struct{}{}}
	// First what is held out: a story told twice by chance then stays held out.
	err = w.write(filepath.Join(dir, HeldOutName), o.HeldOut, func(i int) uint64 { return heldOutSeed(o.Seed, i) })
	if err != nil {
		return nil, err
	}
	c.HeldOutStories, c.HeldOutBytes, c.HeldOutTokens = w.stories, w.bytes, w.tokens
	err = w.write(filepath.Join(dir, TrainName), o.Stories, func(i int) uint64 { return trainSeed(o.Seed, i) })
	if err != nil {
		return nil, err
	}
	c.Stories, c.Bytes, c.Words, c.Tokens, c.Longest, c.Repeated = w.stories, w.bytes, w.words, w.tokens, w.longest,
		o.Stories-w.stories
	return c, WriteJSON(filepath.Join(dir, CountsName), c)
}

// HeldOut returns the first n stories that data of the seed holds out.
func HeldOut(seed uint64, n int) []string {
	return tellAll(n, func(i int) uint64 { return heldOutSeed(seed, i) })
}

// tellAll returns the stories of n seeds, told on all cores.
func tellAll(n int, seed func(int) uint64) []string {
	texts := make([]string, n)
	onAllCores(n, func(i int) { texts[i] = Story(seed(i)) })
	return texts
}

// onAllCores calls do for 0 to n-1, shared out among the cores.
func onAllCores(n int, do func(i int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// storyWriter writes stories that it has not written before, and counts them by file.
type storyWriter struct {
	tok  *tokenizer.Tokenizer
	seen map[uint64]struct{} // hashes of the stories

	stories, bytes, words, tokens, longest int
}

// write tells the stories of n seeds into one file, a batch at a time.
func (w *storyWriter) write(path string, n int, seed func(int) uint64) error {
	w.stories, w.bytes, w.words, w.tokens, w.longest = 0, 0, 0, 0, 0
	return trace.WriteFile(path, func(out io.Writer) error {
		const batch = 1 << 14
		texts, data := make([]string, batch), make([][]byte, batch)
		var all []byte // of a batch
		for at := 0; at < n; at += batch {
			k := min(batch, n-at)
			onAllCores(k, func(i int) {
				texts[i] = Story(seed(at + i))
				data[i] = tokenBytes(data[i][:0], EncodeStory(w.tok, texts[i]))
			})
			for i, text := range texts[:k] {
				h := fnv.New64a()
				h.Write([]byte(text))
				if _, again := w.seen[h.Sum64()]; again {
					continue
				}
				w.seen[h.Sum64()] = struct{}{}
				w.stories++
				w.bytes += len(text)
				w.words += strings.Count(text, " ") + 1
				w.tokens += len(data[i]) / 2
				w.longest = max(w.longest, len(data[i])/2)
				all = append(all, data[i]...)
			}
			if _, err := out.Write(all); err != nil {
				return err
			}
			all = all[:0]
		}
		return nil
	})
}

// EncodeStory returns a story as the model reads it: <s>, the text, </s>.
func EncodeStory(t *tokenizer.Tokenizer, text string) []int32 {
	return append(t.Encode(text, tokenizer.EncodeOptions{AddSpecial: true}), t.EOS())
}

func tokenBytes(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(id))
	}
	return dst
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o666)
}
