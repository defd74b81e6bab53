package main

import (
	"archive/zip"
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/trace"
)

// TestDiffUnfit compares a trace with a damaged copy of itself: a clear error and exit code 2, whichever of the two is
// damaged.
func TestDiffUnfit(t *testing.T) {
	const golden = "../../testdata/golden/llama.npz"
	dir := t.TempDir()
	// damaged is the trace with another form of one site.
	damaged := func(site string, change func(data []float32, rows, n int) ([]float32, int,
		int)) func(t *testing.T) string {
		return func(t *testing.T) string {
			tr, err := trace.Read(golden)
			if err != nil {
				t.Fatal(err)
			}
			out := trace.New()
			out.Tokens = tr.Tokens
			for _, s := range tr.Sites() {
				data, rows, n, _ := tr.Data(s)
				if s == site {
					if data, rows, n = change(data, rows, n); data == nil {
						continue
					}
				}
				if err := out.Append(s, rows, n, data); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(t.TempDir(), "damaged.npz")
			if err := out.Write(path); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	file := func(data []byte) func(t *testing.T) string {
		return func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "damaged.npz")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	dump := filepath.Join(dir, "dump.npz")
	var out, errOut writer
	if code := run(context.Background(),
		[]string{"dump", "../../testdata/archs/llama.gguf", "--device", "cpu", "--out", dump, "--quiet"}, &out,
		&errOut); code != 0 {
		t.Fatalf("dump: exit code %d, %s", code, errOut.text)
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T) string
		want string
	}{
		{"a NaN", damaged("ffn_norm-1", func(data []float32, rows, n int) ([]float32, int, int) {
			data[3*n+2] = float32(math.NaN())
			return data, rows, n
		}), "ffn_norm-1: not finite: "},
		{"an infinity", damaged("result_norm", func(data []float32, rows, n int) ([]float32, int, int) {
			data[0] = float32(math.Inf(-1))
			return data, rows, n
		}), "result_norm: not finite: "},
		{"swapped axes", damaged("l_out-0", func(data []float32, rows, n int) ([]float32, int, int) {
			turned := make([]float32, len(data))
			for i, v := range data {
				turned[i%n*rows+i/n] = v
			}
			return turned, n, rows
		}), "the axes look swapped"},
		{"a missing site", damaged("ffn_norm-0", func([]float32, int, int) ([]float32, int, int) { return nil, 0, 0 }),
			"ffn_norm-0 is missing in the "},
		{"a missing row", damaged("ffn_out-1", func(data []float32, rows, n int) ([]float32, int, int) {
			return data[n:], rows - 1, n
		}), "ffn_out-1: shape "},
		{"cut short", file(raw[:len(raw)/2]), "damaged.npz: not an .npz file"},
		{"a site lost from a dump", func(t *testing.T) string { return without(t, dump, "kqv_out-1.npy") },
			`array "kqv_out-1" is missing: the manifest lists it`},
		{"a header that claims 2^60 rows", func(t *testing.T) string {
			return replaced(t, golden, "embd.npy", claiming(member(t, golden, "embd.npy")))
		}, "embd"},
		{"a header that is no header", func(t *testing.T) string {
			return replaced(t, golden, "embd.npy", []byte("\x93NUMPY\x01\x00\xff\xff"))
		}, "embd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.make(t)
			for _, args := range [][]string{{"diff", path, golden}, {"diff", golden, path}} {
				var out, errOut writer
				code := run(context.Background(), args, &out, &errOut)
				if code != exitUsage || !strings.Contains(errOut.text, c.want) {
					t.Errorf("%v: exit code %d, want %d and %q; printed\n%s", args, code, exitUsage, c.want,
						errOut.text)
				}
			}
		})
	}
}

// claiming is an array whose header says that it has 2^60 rows, in as many bytes.
func claiming(npy []byte) []byte {
	const shape = "(12,32,), }"
	huge := "(1152921504606846976,32,), }"
	out := bytes.Replace(npy, []byte(shape+strings.Repeat(" ", len(huge)-len(shape))), []byte(huge), 1)
	if bytes.Equal(out, npy) {
		panic("the header has another form")
	}
	return out
}

// member returns the bytes of a file in an archive.
func member(t *testing.T, archive, name string) []byte {
	t.Helper()
	var found []byte
	eachMember(t, archive, func(n string, data []byte) {
		if n == name {
			found = data
		}
	})
	if found == nil {
		t.Fatalf("%s has no %s", archive, name)
	}
	return found
}

// without is a copy of an archive that lacks one file, replaced one with other bytes in it.
func without(t *testing.T, archive, name string) string { return replaced(t, archive, name, nil) }

func replaced(t *testing.T, archive, name string, with []byte) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	eachMember(t, archive, func(n string, data []byte) {
		if n == name {
			data = with
		}
		if data == nil {
			return
		}
		f, err := w.Create(n)
		if err == nil {
			_, err = f.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.npz")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func eachMember(t *testing.T, archive string, f func(name string, data []byte)) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		if _, err := data.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
		f(m.Name, data.Bytes())
	}
}
