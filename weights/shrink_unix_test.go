//go:build unix

package weights

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
)

// shrinking is a device at whose Takes, or at whose load of one matrix, the file loses its tensors.
type shrinking struct {
	*device
	path, at string
	atTakes  bool
	t        *testing.T
}

func (d shrinking) shrink() {
	if err := os.Truncate(d.path, 1<<12); err != nil {
		d.t.Error(err)
	}
}

func (d shrinking) Takes(f backend.Format) bool {
	if d.atTakes {
		d.shrink()
	}
	return d.device.Takes(f)
}

func (d shrinking) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	if name == d.at {
		d.shrink()
	}
	return d.device.LoadWeight(name, f, rows, n, slices.Clone(data)) // as the cpu backend does
}

// A file that shrinks while its weights are loaded is an error that names file and tensor, wherever its bytes are read, and
// leaves nothing on the device.
func TestLoadOfShrinkingFile(t *testing.T) {
	const rows, n = 64, 1024
	for _, c := range []struct {
		name   string
		typ    gguf.Type // of the matrices
		at     string    // the matrix at whose load the file shrinks
		takes  bool      // it shrinks when the format has been asked for
		after  string    // it shrinks after this tensor
		tensor string    // that the error names
	}{
		{name: "before the first load", typ: gguf.F16, takes: true, tensor: "first"},
		{name: "at the upload", typ: gguf.F16, at: "second", tensor: "second"},
		{name: "between two tensors", typ: gguf.F16, after: "first", tensor: "second"},
		{name: "before a vector", typ: gguf.F16, after: "second", tensor: "vector"},
		{name: "at a re-encoding", typ: gguf.IQ2_XS, takes: true, tensor: "first"}, // on all cores
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := FormatOf(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			w := gguf.NewWriter()
			for _, name := range []string{"first", "second"} {
				w.Add(name, c.typ, []uint64{n, rows}, make([]byte, rows*f.RowBytes(n)))
			}
			w.Add("vector", gguf.F32, []uint64{n}, make([]byte, 4*n))
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
			var first, second backend.Weight
			var vector backend.Tensor
			b := Bind(file, []Slot{
				{Name: "first", Rows: rows, N: n, Matrix: &first},
				{Name: "second", Rows: rows, N: n, Matrix: &second},
				{Name: "vector", Rows: 1, N: n, Vector: &vector},
			})
			d := shrinking{newDevice(), path, c.at, c.takes, t}
			err = b.Load(t.Context(), d, func(_, _ int64, name string) {
				if name == c.after {
					d.shrink()
				}
			})
			var bad *FileError
			if !errors.As(err, &bad) || !errors.Is(err, gguf.ErrChanged) {
				t.Fatalf("error %v, want a FileError and ErrChanged", err)
			}
			for _, want := range []string{path, `tensor "` + c.tensor + `"`} {
				if strings.Count(err.Error(), want) != 1 {
					t.Errorf("error %q does not say %q once", err, want)
				}
			}
			if len(d.live) != 0 || first != nil || second != nil || vector.Valid() {
				t.Errorf("still on the device: %v", d.live)
			}
			if _, err := DecodeTensor(file, "first"); !errors.Is(err, gguf.ErrChanged) {
				t.Errorf("DecodeTensor of the file that shrank: %v, want ErrChanged", err)
			}
		})
	}
}
