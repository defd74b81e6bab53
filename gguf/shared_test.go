package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Files from public repositories that a reader must refuse, and say why.
func TestFixtures(t *testing.T) {
	want := map[string]string{ // file name to what the error says; empty: a good file as far as the format goes
		"git-lfs-pointer.gguf":              "Git LFS pointer",
		"llamacpp-example-FUGG-v1.gguf":     "magic is reversed",
		"llamacpp-test_writer-badtype.gguf": `key "dict1": unknown value type 13`,
		"llamacpp-vocab-llama-GGUFv1.gguf":  "version 1 is not supported",
		"weight-inspect-tiny.gguf":          `tensor "test.weight.0"`,
		"weightless-tiny.gguf":              "", // it lacks a hyperparameter, which is for the model's loader to say
	}
	for _, path := range shared(t, "fixtures/*.gguf") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			says, ok := want[name]
			if !ok {
				t.Fatal("a fixture this test does not know")
			}
			f, err := Open(path)
			if says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			var fe *FormatError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want a FormatError about %q", err, says)
			}
			t.Log(err)
		})
	}
}

// Every real file opens, mapped and read, with the same content.
func TestModels(t *testing.T) {
	for _, path := range shared(t, "models/*/*.gguf", "golden/quants.gguf", "golden/tokenizer/*.gguf",
		"testdata/archs/*.gguf") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f.Keys, g.Keys) || !reflect.DeepEqual(f.Tensors, g.Tensors) {
				t.Error("Open and NewFile differ")
			}
			if strings.Contains(path, "models") && (len(f.Tensors) == 0 || !f.Has("general.architecture")) {
				t.Errorf("%d tensors, %d keys", len(f.Tensors), len(f.Keys))
			}
			for i := range f.Tensors {
				x, err := f.Data(&f.Tensors[i])
				if err != nil {
					t.Fatal(err)
				}
				y, err := g.Data(&g.Tensors[i])
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(x, y) {
					t.Errorf("%s differs", f.Tensors[i].Name)
				}
			}
		})
	}
}

// The writer's output for the content of a real file has that content.
func TestCopyOfModel(t *testing.T) {
	f, err := Open(shared(t, "models/trained/stories260K.gguf")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter()
	for _, kv := range f.Keys {
		w.Set(kv.Key, kv.Value)
	}
	for i := range f.Tensors {
		x := &f.Tensors[i]
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		w.Add(x.Name, x.Type, x.Dims, data)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	g, err := NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Keys, g.Keys) || !reflect.DeepEqual(f.Tensors, g.Tensors) {
		t.Error("the copy differs")
	}
}

// Sizes of 27 types against a file that ggml wrote: each tensor ends where ggml put the next.
func TestTypeSizes(t *testing.T) {
	f, err := Open(shared(t, "golden/quants.gguf")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[Type]bool{}
	for i := 1; i < len(f.Tensors); i++ {
		x, next := &f.Tensors[i-1], f.Tensors[i].Offset
		end := x.Offset + x.Size
		if padded := end + -end&(f.Alignment-1); padded != next {
			t.Errorf("%s, type %s: ends at %d, padded to %d, but the next starts at %d", x.Name, x.Type, end, padded,
				next)
		}
		seen[x.Type] = true
	}
	if len(seen) < 20 {
		t.Errorf("saw %d types only", len(seen))
	}
}
