package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// splitPart is a part with one tensor "t<no>" of four bytes, all no+1.
func splitPart(no, count uint16, total int32, edit func(w *Writer)) []byte {
	w := NewWriter()
	if no == 0 {
		w.Set("general.architecture", "llama")
	}
	w.Set("split.no", no)
	w.Set("split.count", count)
	w.Set("split.tensors.count", total)
	return splitBytes(no, w, edit)
}

func splitBytes(no uint16, w *Writer, edit func(w *Writer)) []byte {
	if edit == nil {
		w.Add(fmt.Sprintf("t%d", no), I8, []uint64{4}, bytes.Repeat([]byte{byte(no) + 1}, 4))
	} else {
		edit(w)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func splitName(no, count int) string { return fmt.Sprintf("m-%05d-of-%05d.gguf", no+1, count) }

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, dir, splitName(i, 3), splitPart(uint16(i), 3, 3, nil))
	}
	path := filepath.Join(dir, splitName(0, 3))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := f.String("general.architecture"); err != nil || s != "llama" || f.Path != path {
		t.Errorf("architecture %q, %v, path %s", s, err, f.Path)
	}
	if len(f.Parts()) != 3 || f.Parts()[2] != filepath.Join(dir, splitName(2, 3)) {
		t.Errorf("parts %v", f.Parts())
	}
	for i := range 3 {
		x, ok := f.Tensor(fmt.Sprintf("t%d", i))
		if !ok {
			t.Fatalf("no tensor t%d", i)
		}
		got, err := f.Data(x)
		if x.Part != i || err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i) + 1}, 4)) {
			t.Errorf("t%d: part %d, data %v, %v", i, x.Part, got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A set of one is a whole model under any name.
func TestSplitOfOne(t *testing.T) {
	b := splitPart(0, 1, 1, nil)
	f, err := Open(write(t, t.TempDir(), "any.gguf", b))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFile(bytes.NewReader(b), int64(len(b))); err != nil {
		t.Fatal(err)
	}
}

func TestSplitMalformed(t *testing.T) {
	type files map[string][]byte
	good := func() files {
		return files{
			splitName(0, 3): splitPart(0, 3, 3, nil),
			splitName(1, 3): splitPart(1, 3, 3, nil),
			splitName(2, 3): splitPart(2, 3, 3, nil),
		}
	}
	without := func(keys ...string) []byte { // part 2 with some keys only
		w := NewWriter()
		for _, k := range keys {
			w.Set(k, map[string]uint16{"split.no": 1, "split.count": 3}[k])
		}
		return splitBytes(1, w, nil)
	}
	for _, c := range []struct {
		name  string
		open  string // empty: the first part
		edit  func(f files)
		where string // the file that the error names
		want  []string
	}{
		{"second missing", "", func(f files) { delete(f, splitName(1, 3)) }, splitName(0, 3),
			[]string{"1 of 3 parts", splitName(1, 3)}},
		{"all others missing", "", func(f files) { delete(f, splitName(1, 3)); delete(f, splitName(2, 3)) },
			splitName(0, 3),
			[]string{"2 of 3 parts", splitName(1, 3), splitName(2, 3)}},
		{"opened at the second", splitName(1, 3), nil, splitName(1, 3),
			[]string{"part 2 of 3", "open the first part", splitName(0, 3)}},
		{"renamed", "model.gguf", func(f files) { f["model.gguf"] = f[splitName(0, 3)] }, "model.gguf",
			[]string{"split.count", "-00001-of-00003.gguf"}},
		{"name says two", splitName(0, 2), func(f files) { f[splitName(0, 2)] = f[splitName(0, 3)] }, splitName(0, 2),
			[]string{"split.count", "is 3", "2 parts"}},
		{"first and second swapped", "", func(f files) {
			f[splitName(0, 3)], f[splitName(1, 3)] = f[splitName(1, 3)], f[splitName(0, 3)]
		},
			splitName(0, 3), []string{"split.no", "is 1", "part 1, whose number is 0"}},
		{"second and third swapped", "", func(f files) {
			f[splitName(1, 3)], f[splitName(2, 3)] = f[splitName(2, 3)], f[splitName(1, 3)]
		},
			splitName(1, 3), []string{"split.no", "is 2", "part 2 of 3", "want 1"}},
		{"other count", "", func(f files) { f[splitName(2, 3)] = splitPart(2, 4, 3, nil) }, splitName(2, 3),
			[]string{"split.count", "is 4", "want 3"}},
		{"other total in a part", "", func(f files) { f[splitName(2, 3)] = splitPart(2, 3, 7, nil) }, splitName(2, 3),
			[]string{"split.tensors.count", "is 7", "want 3"}},
		{"wrong total", "", func(f files) {
			for i := range 3 {
				f[splitName(i, 3)] = splitPart(uint16(i), 3, 4, nil)
			}
		}, splitName(0, 3), []string{"split.tensors.count", "is 4", "3 parts hold 3 tensors"}},
		{"negative total", "", func(f files) { f[splitName(0, 3)] = splitPart(0, 3, -1, nil) }, splitName(0, 3),
			[]string{"split.tensors.count", "int32 -1"}},
		{"negative total in a part", "", func(f files) { f[splitName(1, 3)] = splitPart(1, 3, -1, nil) },
			splitName(1, 3), []string{"split.tensors.count", "int32 -1"}},
		{"part without keys", "", func(f files) { f[splitName(1, 3)] = without() }, splitName(1, 3),
			[]string{"split.count", "missing", "part 2 of 3"}},
		{"part without number", "", func(f files) { f[splitName(1, 3)] = without("split.count") }, splitName(1, 3),
			[]string{"split.no", "missing"}},
		{"tensor in two parts", "", func(f files) {
			f[splitName(2, 3)] = splitPart(2, 3, 3, func(w *Writer) { w.Add("t1", I8, []uint64{1}, []byte{0}) })
		}, splitName(2, 3), []string{`tensor "t1"`, "part 2", splitName(1, 3)}},
		{"part is a pointer", "", func(f files) {
			f[splitName(1, 3)] = []byte("version https://git-lfs.github.com/spec/v1\n")
		}, splitName(1, 3),
			[]string{"part 2 of 3", "Git LFS"}},
		{"part is cut", "", func(f files) { f[splitName(2, 3)] = f[splitName(2, 3)][:100] }, splitName(2, 3),
			[]string{"part 3 of 3"}},
		{"part is empty", "", func(f files) { f[splitName(2, 3)] = nil }, splitName(2, 3),
			[]string{"part 3 of 3", "empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, f := t.TempDir(), good()
			if c.edit != nil {
				c.edit(f)
			}
			for name, b := range f {
				write(t, dir, name, b)
			}
			if c.open == "" {
				c.open = splitName(0, 3)
			}
			got, err := Open(filepath.Join(dir, c.open))
			if err == nil {
				got.Close()
				t.Fatalf("no error, want %q", c.want)
			}
			var fe *FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("error %v, want a *FormatError", err)
			}
			if fe.Path != filepath.Join(dir, c.where) {
				t.Errorf("error is about %s, want %s", fe.Path, c.where)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// The list of missing parts stays short however many are missing.
func TestSplitManyMissing(t *testing.T) {
	path := write(t, t.TempDir(), splitName(0, 500), splitPart(0, 500, 500, nil))
	_, err := Open(path)
	if err == nil || !strings.Contains(err.Error(), "499 of 500 parts") ||
		!strings.Contains(err.Error(), "and 491 more") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
