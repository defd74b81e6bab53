//go:build unix

package cpufast

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/cpu"
	"cera/gguf"
	"cera/weights"
)

// shrinking is a backend at whose load of a matrix the file loses its tensors.
type shrinking struct {
	*cpu.Backend
	shrink func()
}

func (s shrinking) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	s.shrink()
	return s.Backend.LoadWeight(name, f, rows, n, data)
}

// A file that shrinks while the cores interleave its rows is an error that names file and tensor.
func TestShrinkDuringPack(t *testing.T) {
	const rows, n = 512, 4096
	for _, typ := range []gguf.Type{gguf.Q8_0, gguf.Q4_0, gguf.F16} {
		t.Run(typ.String(), func(t *testing.T) {
			f, err := weights.FormatOf(typ)
			if err != nil {
				t.Fatal(err)
			}
			w := gguf.NewWriter()
			w.Add("matrix", typ, []uint64{n, rows}, make([]byte, rows*f.RowBytes(n)))
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
			var m backend.Weight
			b := weights.Bind(file, []weights.Slot{{Name: "matrix", Rows: rows, N: n, Matrix: &m}})
			err = b.Load(t.Context(), shrinking{New(), func() {
				if err := os.Truncate(path, 1<<12); err != nil {
					t.Error(err)
				}
			}}, nil)
			var bad *weights.FileError
			if !errors.As(err, &bad) || !errors.Is(err, gguf.ErrChanged) || m != nil ||
				!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `tensor "matrix"`) {
				t.Errorf("error %v, weight %v, want a FileError and ErrChanged", err, m)
			}
		})
	}
}
