package trace

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tensorsFile is a .safetensors file with a header as given.
func tensorsFile(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no .npy files") {
		t.Errorf("empty folder: %v", err)
	}
	write("readme.txt", []byte("hello"))
	write("model.norm.npy", array("<f4", "(2, 2)", floats(1, 2, 3, 4)))
	write("tokens.npy", array("<i4", "(2,)", []byte{1, 0, 0, 0, 2, 0, 0, 0}))
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := traceOf(t, rowsOf{"model.norm", 2, 2, []float32{1, 2, 3, 4}})
	want.Tokens = []int32{1, 2}
	same(t, got, want)
	write("bad.npy", array("<f4", "(2, 2147483647)", floats(1)))
	if _, err := Open(dir); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, "bad.npy")+": its shape") {
		t.Errorf("bad array: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "bad.npy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub.npy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("folder for an array: %v", err)
	}
	if _, err := Open(os.DevNull); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("device: %v", err)
	}
}

func TestSafetensors(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},` +
		`"half":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},` +
		`"brain":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},` +
		`"embd":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},` +
		`"tokens":{"dtype":"I64","shape":[2],"data_offsets":[16,32]}}`
	data := append([]byte{0x00, 0x3c, 0x00, 0xc0, 0x80, 0x3f, 0x40, 0xc0}, floats(5, 6)...)
	data = append(data, 7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0)
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := os.WriteFile(path, tensorsFile(header, data), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := traceOf(t, rowsOf{"half", 1, 2, []float32{1, -2}}, rowsOf{"brain", 1, 2, []float32{1, -3}},
		rowsOf{"embd", 2, 1, []float32{5, 6}})
	want.Tokens = []int32{7, 8}
	same(t, got, want)
}

func TestSafetensorsMalformed(t *testing.T) {
	one := func(info string, data []byte) []byte { return tensorsFile(`{"a":`+info+`}`, data) }
	huge := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "it has 0 bytes"},
		{"short", []byte("1234567"), "it has 7 bytes"},
		{"header past the end", binary.LittleEndian.AppendUint64(nil, 1), "claims 1 bytes"},
		{"huge header", huge, "claims 18446744073709551615 bytes"},
		{"no JSON", tensorsFile("hello", nil), "header: "},
		{"no tensors", tensorsFile("{}", nil), "it is empty"},
		{"list", tensorsFile("[]", nil), "header: "},
		{"null", tensorsFile("null", nil), "it is empty"},
		{"null tensor", one("null", nil), "expected 3 keys"},
		{"unknown type", one(`{"dtype":"F8","shape":[1],"data_offsets":[0,1]}`, []byte{1}), "F8"},
		{"float64", one(`{"dtype":"F64","shape":[1],"data_offsets":[0,8]}`, make([]byte, 8)),
			`"a": its elements are F64, expected F32`},
		{"negative shape", one(`{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}`, make([]byte, 4)),
			"natural numbers"},
		{"zero dimension", one(`{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, nil), "expected dimensions from 1"},
		{"scalar", one(`{"dtype":"F32","shape":[],"data_offsets":[0,4]}`, make([]byte, 4)), "its shape [] of F32"},
		{"huge shape", one(`{"dtype":"F32","shape":[2147483647,2147483647],"data_offsets":[0,4]}`, make([]byte, 4)),
			"takes 4611686014132420609 elements"},
		{"overflowing shape", one(`{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}`,
			make([]byte, 4)), "expected dimensions from 1"},
		{"past the end", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`, make([]byte, 4)),
			"at 0 to 8, expected it to begin at 0 and to end by 4"},
		{"far past the end", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}`,
			make([]byte, 4)), "to end by 4"},
		{"backwards", one(`{"dtype":"F32","shape":[1],"data_offsets":[4,0]}`, make([]byte, 4)), "at 4 to 0"},
		{"gap", one(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`, make([]byte, 8)), "begin at 0"},
		{"bytes left", one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`, make([]byte, 8)),
			"take 4 bytes, but it has 8"},
		{"overlap", tensorsFile(
			`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
			make([]byte, 4)), "begin at 4"},
		{"float tokens", tensorsFile(`{"tokens":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)),
			"expected I32 or I64"},
		{"token too large", tensorsFile(`{"tokens":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`,
			[]byte{0, 0, 0, 0, 1, 0, 0, 0}), "does not fit 32 bits"},
		{"no name", tensorsFile(`{"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)), "not free"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.safetensors")
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("error %v, want one that starts with the path and says %q", err, c.want)
			}
		})
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(tensorsFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, floats(1)))
	f.Add(tensorsFile(`{"tokens":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":"b"}}`,
		floats(1)))
	f.Add(tensorsFile(`{"a":null,"__metadata__":null}`, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tr, err := parseSafetensors(bytes.NewReader(data), int64(len(data))); err == nil {
			checkRead(t, tr)
		}
	})
}
