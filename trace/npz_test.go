package trace

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// npy is an .npy array of version 1 with a header as given.
func npy(header string, data []byte) []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func array(descr, shape string, data []byte) []byte {
	return npy(fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape), data)
}

func floats(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

type member struct {
	name string
	data []byte
}

func archive(t testing.TB, method uint16, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: method})
		if err == nil {
			_, err = w.Write(m.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sample(t testing.TB) *Trace {
	t.Helper()
	tr := New()
	tr.Tokens = []int32{1, 511, 0}
	nan := math.Float32frombits(0x7fc12345)
	for _, s := range []struct {
		name string
		n    int
		data []float32
	}{
		{"l_out-1", 2, []float32{1, -2, float32(math.Copysign(0, -1)), 1e-45, nan, float32(math.Inf(-1))}},
		{"embd", 1, []float32{math.MaxFloat32, 0.1, 3}},
		{"attn_norm-0", 3, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		if err := tr.Append(s.name, 3, s.n, s.data); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// same compares order, shapes and bits.
func same(t *testing.T, got, want *Trace) {
	t.Helper()
	if !slices.Equal(got.Sites(), want.Sites()) || !slices.Equal(got.Tokens, want.Tokens) {
		t.Fatalf("sites %v of tokens %v, want %v of %v", got.Sites(), got.Tokens, want.Sites(), want.Tokens)
	}
	for _, site := range want.Sites() {
		g, rows, n, _ := got.Data(site)
		w, wantRows, wantN, _ := want.Data(site)
		if rows != wantRows || n != wantN {
			t.Fatalf("%s: [%d, %d], want [%d, %d]", site, rows, n, wantRows, wantN)
		}
		for i := range w {
			if math.Float32bits(g[i]) != math.Float32bits(w[i]) {
				t.Fatalf("%s: element %d is %x, want %x", site, i, math.Float32bits(g[i]), math.Float32bits(w[i]))
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.npz")
	want := sample(t)
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Over the old file, and byte for byte the same.
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(path); !bytes.Equal(first, second) {
		t.Error("the same trace gave another file")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files after two writes: %v", left)
	}
}

// TestMemberBytes holds the bytes of an array against the .npy format's description, version 1.0.
func TestMemberBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.npz")
	tr := New()
	tr.Tokens = []int32{7}
	if err := tr.Append("embd", 1, 2, []float32{1, -2}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Write(path); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	want := map[string]struct {
		fields []string
		data   []byte
	}{
		"embd.npy":   {[]string{"'descr': '<f4'", "'fortran_order': False", "'shape': (1, 2)"}, floats(1, -2)},
		"tokens.npy": {[]string{"'descr': '<i4'", "'fortran_order': False", "'shape': (1,)"}, []byte{7, 0, 0, 0}},
	}
	for _, f := range z.File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if _, err := buf.ReadFrom(rc); err != nil {
			t.Fatal(err)
		}
		b, w := buf.Bytes(), want[f.Name]
		delete(want, f.Name)
		n := 10 + int(binary.LittleEndian.Uint16(b[8:]))
		header := string(b[10:n])
		if string(b[:8]) != "\x93NUMPY\x01\x00" || n%16 != 0 || header[len(header)-1] != '\n' {
			t.Errorf("%s: header %q", f.Name, b[:n])
		}
		for _, field := range w.fields {
			if !strings.Contains(header, field) {
				t.Errorf("%s: header %q, want %s in it", f.Name, header, field)
			}
		}
		if !bytes.Equal(b[n:], w.data) {
			t.Errorf("%s: data %x, want %x", f.Name, b[n:], w.data)
		}
	}
	if len(want) != 0 {
		t.Errorf("members missing: %v", want)
	}
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "none", "trace.npz")
	if err := sample(t).Write(absent); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), absent+": ") {
		t.Errorf("writing to a folder that is not there: %v", err)
	}
	if err := sample(t).Write(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("writing over a folder: %v", err)
	}
	// The archive cannot hold a name this long, which shows in the middle of the file.
	long := sample(t)
	if err := long.Append(strings.Repeat("x", 1<<16), 1, 1, []float32{1}); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "old.npz")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := long.Write(old); err == nil || !strings.HasPrefix(err.Error(), old+": array \"xxx") {
		t.Errorf("writing a name that does not fit: %v", err)
	}
	if b, _ := os.ReadFile(old); string(b) != "old" {
		t.Errorf("a failed write left %q in the place of the old file", b)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files were left: %v", left)
	}
	if os.Geteuid() == 0 {
		t.Log("SKIPPED: a folder without write permission, which does not stop root")
		return
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := sample(t).Write(filepath.Join(locked, "trace.npz")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("writing to a folder without permission: %v", err)
	}
}

// TestWriteThrough writes to what is no ordinary file: it stays what it is.
func TestWriteThrough(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: links and devices are Unix's")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.npz"), filepath.Join(dir, "link.npz")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.npz", link); err != nil {
		t.Fatal(err)
	}
	if err := sample(t).Write(link); err != nil {
		t.Fatal(err)
	}
	got, err := Read(target)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, sample(t))
	if _, err := os.Readlink(link); err != nil {
		t.Errorf("the link is no link any more: %v", err)
	}
	if err := sample(t).Write(os.DevNull); err != nil {
		t.Errorf("writing to %s: %v", os.DevNull, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is %v, %v", os.DevNull, info.Mode(), err)
	}
}

func TestReadForms(t *testing.T) {
	wide := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 3), 4)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		b := archive(t, method,
			member{"b.npy", array("<f4", "(2, 2)", floats(1, 2, 3, 4))},
			member{"a.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
				floats(1, 4, 2, 5, 3, 6))},
			member{"heads.npy", array("<f4", "(1, 2, 2)", floats(1, 2, 3, 4))},
			member{"turned.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 2), }",
				floats(1, 3, 2, 4))},
			member{"größe-0.npy", npy("{'shape': (1, 1), 'fortran_order': False, 'descr': '<f4'}\n", floats(9))},
			member{"version2.npy", append(append([]byte("\x93NUMPY\x02\x00"), 59, 0, 0, 0),
				append([]byte("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"), floats(7, 8)...)...)},
			member{"row.npy", array("<f4", "(2,)", floats(1, 2))},
			member{"tokens.npy", array("<i8", "(2,)", wide)},
		)
		got, err := read(bytes.NewReader(b), int64(len(b)), smallTrace)
		if err != nil {
			t.Fatal(err)
		}
		want := New()
		want.Tokens = []int32{3, 4}
		for _, s := range []struct {
			name    string
			rows, n int
			data    []float32
		}{{"b", 2, 2, []float32{1, 2, 3, 4}}, {"a", 2, 3, []float32{1, 2, 3, 4, 5, 6}},
			{"heads", 1, 4, []float32{1, 2, 3, 4}}, {"turned", 1, 4, []float32{1, 2, 3, 4}},
			{"größe-0", 1, 1, []float32{9}}, {"version2", 1, 2, []float32{7, 8}}, {"row", 1, 2, []float32{1, 2}}} {
			if err := want.Append(s.name, s.rows, s.n, s.data); err != nil {
				t.Fatal(err)
			}
		}
		same(t, got, want)
	}
}

// TestGoldens reads every file that numpy wrote.
func TestGoldens(t *testing.T) {
	for _, dir := range []string{"../testdata/golden", "../../shared/golden/llamacpp"} {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			files, _ := filepath.Glob(filepath.Join(dir, "*.npz"))
			if len(files) == 0 {
				t.Skipf("SKIPPED: there are no .npz files in %s", dir)
			}
			for _, file := range files {
				tr, err := Read(file)
				if err != nil {
					t.Error(err)
					continue
				}
				_, rows, _, ok := tr.Data("result_norm")
				if !ok || rows != len(tr.Tokens) || rows == 0 {
					t.Errorf("%s: result_norm has %d rows for %d tokens", file, rows, len(tr.Tokens))
				}
				again := filepath.Join(t.TempDir(), "again.npz")
				if err := tr.Write(again); err != nil {
					t.Fatal(err)
				}
				back, err := Read(again)
				if err != nil {
					t.Fatal(err)
				}
				same(t, back, tr)
			}
		})
	}
}
