package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory returns the bytes allocated since the program started.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// small is a good file of version v: keys before and after general.architecture, a gap, tensors out of order.
func small(v uint32) raw {
	r := header(v, 2, 4)
	r = r.kv("tokenizer.tokens", 9).u32(8).u64(3).str("a").str("").str("\xff\xfe")
	r = r.kv("general.architecture", 8).str("llama")
	r = r.kvU32("general.alignment", 8)
	r = r.kv("deep", 9).u32(9).u64(2).u32(0).u64(1).bytes(7).u32(9).u64(0)
	r = r.info("late", 0, 64, 2, 1).info("early", 24, 0, 3, 1, 1, 1)
	r = r.pad(8).bytes(1, 2, 3).zeros(61)
	return r.u32(math.Float32bits(1.5)).u32(math.Float32bits(-2))
}

func TestVersions(t *testing.T) {
	for _, v := range []uint32{2, 3} {
		file := small(v)
		path := write(t, t.TempDir(), "small.gguf", file)
		opened, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		read, err := NewFile(file.reader(), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*File{opened, read} {
			if f.Version != v || f.Alignment != 8 {
				t.Errorf("version %d, alignment %d, want %d, 8", f.Version, f.Alignment, v)
			}
			if want := map[bool]string{true: path, false: ""}[f == opened]; f.Path != want {
				t.Errorf("path %q, want %q", f.Path, want)
			}
			wantKeys := []KV{
				{"tokenizer.tokens", ValueArray, []string{"a", "", "\xff\xfe"}},
				{"general.architecture", ValueString, "llama"},
				{"general.alignment", ValueUint32, uint32(8)},
				{"deep", ValueArray, []any{[]uint8{7}, []any{}}},
			}
			if d := cmp.Diff(wantKeys, f.Keys); d != "" {
				t.Errorf("keys (-want +got):\n%s", d)
			}
			wantTensors := []Tensor{
				{"late", F32, []uint64{2, 1}, 64, 8, 0},
				{"early", I8, []uint64{3, 1, 1, 1}, 0, 3, 0},
			}
			if d := cmp.Diff(wantTensors, f.Tensors); d != "" {
				t.Errorf("tensors (-want +got):\n%s", d)
			}
			tensor, ok := f.Tensor("early")
			if !ok {
				t.Fatal("no tensor early")
			}
			if b, err := f.Data(tensor); err != nil || !bytes.Equal(b, []byte{1, 2, 3}) {
				t.Errorf("data of early: %v, %v", b, err)
			}
			late, _ := f.Tensor("late")
			want := raw{}.u32(math.Float32bits(1.5)).u32(math.Float32bits(-2))
			if b, err := f.Data(late); err != nil || !bytes.Equal(b, want) {
				t.Errorf("data of late: %v, %v, want %v", b, err, want)
			}
		}
	}
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		dims    []uint64
		n, rows int
	}{
		{nil, 0, 0},
		{[]uint64{7}, 7, 1},
		{[]uint64{7, 3}, 7, 3},
		{[]uint64{7, 3, 2}, 7, 6},
		{[]uint64{7, 3, 2, 5}, 7, 30},
	} {
		x := &Tensor{Dims: c.dims}
		if x.N() != c.n || x.Rows() != c.rows {
			t.Errorf("%v: N %d, Rows %d, want %d, %d", c.dims, x.N(), x.Rows(), c.n, c.rows)
		}
	}
}

// Data of a mapped file is the mapping itself, and cannot be appended into the next tensor.
func TestDataIsNotCopied(t *testing.T) {
	f, err := Open(write(t, t.TempDir(), "small.gguf", small(3)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := f.Data(&f.Tensors[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Data(&f.Tensors[0])
	if err != nil {
		t.Fatal(err)
	}
	if f.parts[0].mapped != nil && &a[0] != &b[0] {
		t.Error("two calls of Data gave two copies")
	}
	if cap(a) != len(a) {
		t.Errorf("cap %d, want the length %d", cap(a), len(a))
	}
}

// Nothing that a caller can pass makes a panic.
func TestOddCalls(t *testing.T) {
	var none *File
	if _, ok := none.Tensor("x"); ok {
		t.Error("nil file has a tensor")
	}
	if none.Has("x") || none.Parts() != nil || none.Close() != nil {
		t.Error("nil file has something")
	}
	if _, err := none.String("x"); !errors.Is(err, ErrMissing) {
		t.Errorf("nil file: %v, want ErrMissing", err)
	}
	var tensor *Tensor
	if tensor.N() != 0 || tensor.Rows() != 0 {
		t.Error("nil tensor has a shape")
	}
	if _, err := NewFile(nil, 24); err == nil {
		t.Error("nil reader: no error")
	}
	if _, err := NewFile(small(3).reader(), -1); err == nil {
		t.Error("negative size: no error")
	}
	if _, err := NewFile(small(3).reader(), 1<<60); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("size too large: %v, want an unexpected EOF", err)
	}
	broken := errors.New("broken disk")
	if _, err := NewFile(failing{broken}, 100); !errors.Is(err, broken) {
		t.Errorf("failing reader: %v, want %v", err, broken)
	}
	f, err := Open(write(t, t.TempDir(), "small.gguf", small(3)))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]*Tensor{
		"nil":      nil,
		"part":     {Name: "x", Part: 1},
		"negative": {Name: "x", Part: -1},
		"offset":   {Name: "x", Offset: math.MaxUint64},
		"size":     {Name: "x", Size: math.MaxUint64},
		"wrap":     {Name: "x", Offset: 8, Size: math.MaxUint64 - 7},
		"end":      {Name: "x", Offset: 64, Size: 9},
	} {
		if b, err := f.Data(x); err == nil {
			t.Errorf("%s: %d bytes and no error", name, len(b))
		}
	}
	if _, err := (&File{}).Data(&Tensor{}); err == nil {
		t.Error("zero File: no error")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := f.Data(&f.Tensors[0]); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Data after Close: %v, want ErrClosed", err)
	}
	if s, err := f.String("general.architecture"); err != nil || s != "llama" {
		t.Errorf("metadata after Close: %q, %v", s, err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestOpenNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.gguf")); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "none.gguf") {
		t.Errorf("absent file: %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
}

// Values longer than a read window, through a reader that gives them in windows.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	tokens := make([]string, 200_000)
	for i := range tokens {
		tokens[i] = fmt.Sprint(i)
	}
	scores := make([]float64, 100_001)
	for i := range scores {
		scores[i] = float64(i) / 3
	}
	w := NewWriter()
	w.Set("long", long)
	w.Set("tokens", tokens)
	w.Set("scores", scores)
	w.Set("flags", make([]bool, 70_000))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	before := memory()
	f, err := NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if took := memory() - before; took > 12*uint64(b.Len()) {
		t.Errorf("took %d bytes of memory for a file of %d", took, b.Len())
	}
	want := []KV{{"long", ValueString, long}, {"tokens", ValueArray, tokens}, {"scores", ValueArray, scores},
		{"flags", ValueArray, make([]bool, 70_000)}}
	if !reflect.DeepEqual(want, f.Keys) {
		t.Error("values differ from what was written")
	}
	allocs := testing.AllocsPerRun(1, func() { _, _ = NewFile(bytes.NewReader(b.Bytes()), int64(b.Len())) })
	if allocs > 1000 {
		t.Errorf("%v allocations for %d strings", allocs, len(tokens))
	}
}
