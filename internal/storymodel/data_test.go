package storymodel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
	"cera/tokenizer"
)

func readIDs(t *testing.T, path string) (ids []int32) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(b); i += 2 {
		ids = append(ids, int32(binary.LittleEndian.Uint16(b[i:])))
	}
	return ids
}

func TestWriteData(t *testing.T) {
	o := DataOptions{Seed: 3, Stories: 300, HeldOut: 20, VocabSize: 600, VocabFrom: 200}
	dirs := []string{t.TempDir(), filepath.Join(t.TempDir(), "new")}
	var counts *Counts
	for _, dir := range dirs {
		var err error
		if counts, err = WriteData(dir, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{TrainName, HeldOutName, VocabName, CountsName} {
		a, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dirs[1], name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs between two runs (%v)", name, err)
		}
	}

	f, err := gguf.Open(filepath.Join(dirs[0], VocabName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := tokenizer.New(f, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// decode cuts ids at <s> and </s>.
	decode := func(ids []int32) (texts []string) {
		for len(ids) > 0 {
			end := slices.Index(ids, int32(idEOS))
			if ids[0] != idBOS || end < 0 {
				t.Fatalf("a story begins with %d and ends at %d", ids[0], end)
			}
			texts = append(texts, tok.Decode(ids[:end], tokenizer.DecodeOptions{}))
			ids = ids[end+1:]
		}
		return texts
	}
	longest := 0
	for i := range o.Stories {
		longest = max(longest, len(EncodeStory(tok, Story(trainSeed(o.Seed, i)))))
	}
	train, held := readIDs(t, filepath.Join(dirs[0], TrainName)), readIDs(t, filepath.Join(dirs[0], HeldOutName))
	trainTexts, heldTexts := decode(train), decode(held)
	words, size := 0, 0
	for i, text := range trainTexts {
		if want := Story(trainSeed(o.Seed, i)); text != want {
			t.Fatalf("story %d is %q, expected %q", i, text, want)
		}
		words += len(strings.Fields(text))
		size += len(text)
	}
	if !slices.Equal(heldTexts, HeldOut(o.Seed, o.HeldOut)) {
		t.Error("heldout.bin has other stories than HeldOut")
	}
	want := Counts{Seed: 3, Stories: 300, Words: words, Bytes: size, Tokens: len(train), Longest: longest,
		HeldOutStories: 20,
		HeldOutBytes:   len(strings.Join(heldTexts, "")), HeldOutTokens: len(held), Vocab: 600}
	if *counts != want || len(trainTexts) != o.Stories {
		t.Errorf("counts %+v, expected %+v", *counts, want)
	}
	var fromFile Counts
	b, err := os.ReadFile(filepath.Join(dirs[0], CountsName))
	if err == nil {
		err = json.Unmarshal(b, &fromFile)
	}
	if err != nil || fromFile != want {
		t.Errorf("%s has %+v (%v), expected %+v", CountsName, fromFile, err, want)
	}
}

// What is told twice is written once, and what is held out is never trained on.
func TestWriteDataLeavesOutRepeats(t *testing.T) {
	_, tok := trained(t, 50, 500)
	w := &storyWriter{tok: tok, seen: map[uint64]struct{}{}}
	dir := t.TempDir()
	if err := w.write(filepath.Join(dir, HeldOutName), 2, func(i int) uint64 { return uint64(i) }); err != nil {
		t.Fatal(err)
	}
	// 0 and 1 are held out; 5 comes twice.
	seeds := []uint64{0, 5, 1, 7, 5, 9}
	if err := w.write(filepath.Join(dir, TrainName), len(seeds), func(i int) uint64 { return seeds[i] }); err != nil {
		t.Fatal(err)
	}
	var want []int32
	for _, seed := range []uint64{5, 7, 9} {
		want = append(want, EncodeStory(tok, Story(seed))...)
	}
	if got := readIDs(t, filepath.Join(dir, TrainName)); !slices.Equal(got, want) || w.stories != 3 {
		t.Errorf("%d stories, ids %v, expected 3 with %v", w.stories, got, want)
	}
}

func TestWriteDataRejects(t *testing.T) {
	good := DataOptions{Seed: 1, Stories: 50, HeldOut: 1, VocabSize: 500, VocabFrom: 50}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		dir  string
		edit func(*DataOptions)
		want string
	}{
		{"no stories", t.TempDir(), func(o *DataOptions) { o.Stories = 0 }, "expected a seed"},
		{"none held out", t.TempDir(), func(o *DataOptions) { o.HeldOut = 0 }, "expected a seed"},
		{"large seed", t.TempDir(), func(o *DataOptions) { o.Seed = 1 << 20 }, "expected a seed"},
		{"large vocabulary", t.TempDir(), func(o *DataOptions) { o.VocabSize = 1<<16 + 1 }, "expected a seed"},
		{"small vocabulary", t.TempDir(), func(o *DataOptions) { o.VocabSize = 100 }, "vocabulary of 100 tokens"},
		{"folder is a file", file, func(*DataOptions) {}, file},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := good
			tc.edit(&o)
			if _, err := WriteData(tc.dir, o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, expected one with %q", err, tc.want)
			}
		})
	}
}
