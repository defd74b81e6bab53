package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cera/gguf"
	"cera/internal/hostile"
)

// inspectRecords returns what inspect prints as JSON of files of every kind: good ones, with what a GPU holds in
// another format, without a tensor, and those of the hostile ones that have the form of GGUF.
func inspectRecords(t *testing.T) (all [][]byte) {
	t.Helper()
	dir := t.TempDir()
	bare := filepath.Join(dir, "bare.gguf")
	f, err := os.Create(bare)
	if err != nil {
		t.Fatal(err)
	}
	w := gguf.NewWriter()
	w.Set("general.architecture", "none")
	w.Set("a.nan", float32(math.NaN()))
	w.Set("a.inf", math.Inf(1))
	w.Set("a.true", true)
	w.Set("a.list", []float32{1, float32(math.Inf(-1))})
	w.Set("a.long", make([]int32, longArray+1))
	if _, err := w.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	look := func(path string, validate bool) []byte {
		args := []string{"inspect", "--json", path}
		if validate {
			args = append(args, "--validate")
		}
		var out, errOut writer
		run(context.Background(), args, &out, &errOut)
		return []byte(out.text)
	}
	all = append(all, look(bare, false), look(q2File(t), true),
		look(filepath.Join("..", "..", "testdata", "archs", "llama.gguf"), false))
	shown := 0
	for _, row := range hostile.Rows() {
		if row.Stage == hostile.Format {
			continue
		}
		path, err := row.Make(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if text := look(path, row.Stage == hostile.Values); len(text) > 0 {
			all = append(all, text)
			shown++
		}
	}
	if shown < 100 {
		t.Errorf("%d of the hostile files were shown, expected at least 100", shown)
	}
	return all
}
