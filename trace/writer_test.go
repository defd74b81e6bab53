package trace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func testManifest() *Manifest {
	return &Manifest{Schema: ManifestSchema, Engine: "cera", Model: "größe.gguf", SHA256: "00", Tokens: 3,
		Sites: []string{"embd", "l_out-0"}}
}

// TestWriter writes the same content by chunks that alternate between sites, and whole.
func TestWriter(t *testing.T) {
	dir := t.TempDir()
	chunks, whole := filepath.Join(dir, "chunks.npz"), filepath.Join(dir, "whole.npz")
	w, err := Create(chunks)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 3 {
		v := float32(i + 1)
		for _, e := range []rowsOf{{"embd", 1, 2, []float32{v, -v}}, {"l_out-0", 2, 1, []float32{v, 2 * v}}} {
			if err := w.Append(e.name, e.rows, e.n, e.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range []rowsOf{{"embd", 1, 3, []float32{1, 2, 3}}, {"embd", 1, 2, []float32{1}},
		{"tokens", 1, 1, []float32{1}}, {"manifest", 1, 1, []float32{1}}} {
		if err := w.Append(e.name, e.rows, e.n, e.data); err == nil {
			t.Errorf("%+v was taken", e)
		}
	}
	if _, err := os.Stat(chunks); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the output is there before it is whole: %v", err)
	}
	w.Tokens, w.Manifest = []int32{4, 5, 6}, testManifest()
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tr := traceOf(t, rowsOf{"embd", 3, 2, []float32{1, -1, 2, -2, 3, -3}},
		rowsOf{"l_out-0", 6, 1, []float32{1, 2, 2, 4, 3, 6}})
	tr.Tokens, tr.Manifest = []int32{4, 5, 6}, testManifest()
	if err := tr.Write(whole); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(chunks)
	b, _ := os.ReadFile(whole)
	if !bytes.Equal(a, b) {
		t.Error("by chunks and whole the files differ")
	}
	back, err := Open(chunks)
	if err != nil {
		t.Fatal(err)
	}
	same(t, back, tr)
	if !reflect.DeepEqual(back.Manifest, tr.Manifest) {
		t.Errorf("manifest %+v, want %+v", back.Manifest, tr.Manifest)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("files were left: %v", left)
	}
	if err := w.Append("embd", 1, 2, []float32{1, 2}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if err := w.Finish(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("finish after close: %v", err)
	}
}

// TestWriterAbandoned leaves what was there before, and nothing else.
func TestWriterAbandoned(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.npz")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append("embd", 1, 1, []float32{1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("the old file is %q", b)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files were left: %v", left)
	}
	if _, err := Create(filepath.Join(dir, "none", "x.npz")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := Create(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("over a folder: %v", err)
	}
	null, err := Create(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := null.Append("embd", 1, 1, []float32{1}); err != nil {
		t.Fatal(err)
	}
	if err := null.Finish(); err != nil {
		t.Errorf("writing to %s: %v", os.DevNull, err)
	}
}

func TestManifestMalformed(t *testing.T) {
	bytesOf := func(text string) []byte { return array("|u1", "("+strconv.Itoa(len(text))+",)", []byte(text)) }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"floats", array("<f4", "(1,)", floats(1)), "<f4, expected |u1 (uint8)"},
		{"no JSON", bytesOf("hello"), "not the JSON of a manifest"},
		{"other type", bytesOf(`{"schema": 1}`), "not the JSON of a manifest"},
		{"other schema", bytesOf(`{"schema": "cera-trace-9"}`), `schema is "cera-trace-9", expected "cera-trace-1"`},
		{"too long", bytesOf(strings.Repeat(" ", maxManifest+1)), "expected at most"},
	} {
		tr := New()
		if err := tr.readArray(manifestName, bytes.NewReader(c.data), uint64(len(c.data))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
	tr := New()
	if err := tr.readArray("a", bytes.NewReader(array("|u1", "(1,)", []byte{1})), 81); err == nil {
		t.Error("a site of bytes was read")
	}
}
