//go:build cgo && unix

package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// shrinking is a device at whose load of one matrix the file loses its tensors.
type shrinking struct {
	*Backend
	shrink func(name string)
}

func (s shrinking) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	s.shrink(name)
	return s.Backend.LoadWeight(name, f, rows, n, data)
}

// A file that shrinks in the very moment in which its weights are packed or copied, on whatever core, is an error that names file
// and tensor. Nothing stays on the device, and the device works on.
func TestShrinkDuringUpload(t *testing.T) {
	for _, c := range []struct {
		name    string
		typ     gguf.Type
		rows, n int
		to      int64 // bytes that are left
	}{
		{"packed, many pieces", gguf.Q8_0, 9000, 4096, 1 << 12},
		{"packed, the second half", gguf.Q4_K, 9000, 4096, 9 << 20},
		{"packed, through the queue", gguf.Q8_0, 64, 1024, 1 << 12},
		{"as it is, many pieces", gguf.F16, 5000, 4096, 1 << 12},
		{"as it is, the last pages", gguf.Q6_K, 9000, 4096, 9000*3360 - 1<<14},
		{"as it is, through the queue", gguf.F32, 16, 1024, 1 << 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := weights.FormatOf(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			w := gguf.NewWriter()
			for _, name := range []string{"first", "second"} {
				w.Add(name, c.typ, []uint64{uint64(c.n), uint64(c.rows)}, make([]byte, c.rows*f.RowBytes(c.n)))
			}
			path := filepath.Join(t.TempDir(), "model.gguf")
			out, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteTo(out); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			file, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			b := open(t, Options{})
			var first, second backend.Weight
			bound := weights.Bind(file, []weights.Slot{
				{Name: "second", Rows: c.rows, N: c.n, Matrix: &second},
				{Name: "first", Rows: c.rows, N: c.n, Matrix: &first},
			})
			err = bound.Load(t.Context(), shrinking{b, func(name string) {
				if name == "first" {
					if err := os.Truncate(path, c.to); err != nil {
						t.Error(err)
					}
				}
			}}, nil)
			var bad *weights.FileError
			if !errors.As(err, &bad) || !errors.Is(err, gguf.ErrChanged) {
				t.Fatalf("error %v, want a FileError and ErrChanged", err)
			}
			for _, want := range []string{path, `tensor "first"`, "at byte"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if m := b.Memory(); m != (Memory{}) || first != nil || second != nil {
				t.Errorf("still on the device: %+v", m)
			}
			data := encoded(f, 70, c.n)
			again := b.LoadWeight("again", f, 70, c.n, data)
			if again == nil {
				t.Fatal(b.Flush())
			}
			checkStored(t, b, again.(*weight), data)
		})
	}
}
