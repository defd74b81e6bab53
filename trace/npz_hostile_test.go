package trace

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestMalformed(t *testing.T) {
	good := array("<f4", "(2, 2)", floats(1, 2, 3, 4))
	one := func(name string, data []byte) []byte { return archive(t, zip.Deflate, member{name, data}) }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty file", nil, "not an .npz file"},
		{"not a zip", []byte("GGUF....................."), "not an .npz file"},
		{"no members", archive(t, zip.Store), "empty"},
		{"not an array", one("readme.txt", []byte("hello")), `"readme.txt" is not an array`},
		{"no name", one(".npy", good), `".npy" is not an array`},
		{"two of a name", archive(t, zip.Store, member{"a.npy", good}, member{"a.npy", good}),
			`"a": it is there twice`},
		{"two tokens", archive(t, zip.Store, member{"tokens.npy", array("<i4", "(1,)", make([]byte, 4))},
			member{"tokens.npy", array("<i4", "(1,)", make([]byte, 4))}), `"tokens": it is there twice`},
		{"no header", one("a.npy", nil), `"a": its .npy header is cut off`},
		{"bad magic", one("a.npy", []byte("\x93NUMPX\x01\x00\x10\x00................")), `"a": it begins with`},
		{"header cut off", one("a.npy", good[:20]), `"a": its .npy header is cut off`},
		{"version 2 cut off", one("a.npy", []byte("\x93NUMPY\x02\x00\x10\x00")), "cut off"},
		{"version 0", one("a.npy", append([]byte("\x93NUMPY\x00\x00"), good[8:]...)), "version is 0"},
		{"version 4", one("a.npy", append([]byte("\x93NUMPY\x04\x00"), good[8:]...)), "version is 4"},
		{"huge header", one("a.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff1234")),
			"4294967295 bytes, expected at most"},
		{"no dict", one("a.npy", npy("hello", floats(1))), "not a dict"},
		{"no shape", one("a.npy", npy("{'descr': '<f4', 'fortran_order': False, }", floats(1))), "'shape' is no tuple"},
		{"no order", one("a.npy", npy("{'descr': '<f4', 'shape': (1,), }", floats(1))), "'fortran_order' is neither"},
		{"no type", one("a.npy", npy("{'fortran_order': False, 'shape': (1,), }", floats(1))), "'descr' is no type"},
		{"structured type", one("a.npy", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }",
			floats(1))), "'descr', 'fortran_order' and 'shape'"},
		{"type for shape", one("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': True, }", floats(1))),
			"'shape' is no tuple"},
		{"shape for type", one("a.npy", npy("{'descr': (4), 'fortran_order': False, 'shape': (1,), }", floats(1))),
			"'descr' is no type"},
		{"one more key", one("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': True}",
			floats(1))), "expected 'descr'"},
		{"two shapes", one("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), 'shape': (1, 1), }",
			floats(1))), "'shape' stands there twice"},
		// The numpy package would take the first shape, which a reader that looks for plain digits does not see.
		{"signed shape", one("a.npy", npy(
			"{'descr': '<f4', 'fortran_order': False, 'shape': (+99999999999, ), 'shape': (1, 1), }", floats(1))),
			"expected 'descr'"},
		{"data cut off", one("a.npy", good[:len(good)-1]), "takes 4 elements, but it has 15 bytes"},
		{"data too long", one("a.npy", append(slices.Clone(good), 0)), "takes 4 elements, but it has 17 bytes"},
		{"huge shape", one("a.npy", array("<f4", "(2147483647, 2147483647)", floats(1))),
			"4611686014132420609 elements"},
		{"overflowing shape", one("a.npy", array("<f4", "(2147483647, 2147483647, 2147483647)", floats(1))),
			"too many elements"},
		{"overflowing dimension", one("a.npy", array("<f4", "(99999999999999999999,)", floats(1))),
			`dimension "99999999999999999999"`},
		{"negative shape", one("a.npy", array("<f4", "(-2, -2)", floats(1, 2, 3, 4))), "expected 'descr'"},
		{"zero rows", one("a.npy", array("<f4", "(0, 2)", nil)), "no elements"},
		{"scalar", one("a.npy", array("<f4", "()", floats(1))), "shape is [], expected [rows, n]"},
		{"float64", one("a.npy", array("<f8", "(1, 1)", make([]byte, 8))), "<f8, expected <f4 (float32)"},
		{"float16", one("a.npy", array("<f2", "(1, 1)", make([]byte, 2))), "<f2, expected <f4"},
		{"int32 site", one("a.npy", array("<i4", "(1, 1)", make([]byte, 4))), "<i4, expected <f4"},
		{"big-endian", one("a.npy", array(">f4", "(1, 1)", floats(1))), ">f4, expected <f4 (float32), little-endian"},
		{"unknown type", one("a.npy", array("<U7", "(1, 1)", floats(1))), "<U7"},
		{"float tokens", one("tokens.npy", array("<f4", "(1,)", floats(1))), "<f4, expected <i4 or <i8"},
		{"big-endian tokens", one("tokens.npy", array(">i4", "(1,)", floats(1))), ">i4, expected <i4 or <i8"},
		{"tokens in rows", one("tokens.npy", array("<i4", "(1, 1)", floats(1))), "shape is [1 1], expected [tokens]"},
		{"token too large", one("tokens.npy", array("<i8", "(1,)", []byte{0, 0, 0, 0, 1, 0, 0, 0})),
			"token 4294967296 at position 0 does not fit 32 bits"},
		{"unicode name", one("größe.npy", good[:20]), `"größe"`},
		{"unknown compression", badMethod(t, good), `"a": zip: unsupported compression`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.npz")
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("error %v, want one that starts with the path and says %q", err, c.want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none.npz")
	if _, err := Read(missing); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("a file that is not there: %v", err)
	}
}

// badMethod is an archive whose member a has a compression that nobody knows.
func badMethod(t *testing.T, data []byte) []byte {
	b := archive(t, zip.Store, member{"a.npy", data})
	for _, signature := range []struct {
		name   string
		method int // where the method stands after the signature
	}{{"PK\x03\x04", 8}, {"PK\x01\x02", 10}} {
		b[bytes.Index(b, []byte(signature.name))+signature.method] = 77
	}
	return b
}

// TestBombs reads archives that claim or unpack to far more than they hold. The error comes before a claim is believed.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 2*limit)
	claim := func(size uint32) []byte {
		b := archive(t, zip.Store, member{"a.npy", array("<f4", "(1, 1)", floats(1))})
		at := bytes.Index(b, []byte("PK\x01\x02")) + 24 // the size in the directory
		binary.LittleEndian.PutUint32(b[at:], size)
		return b
	}
	half := member{"a.npy", array("<f4", "(1, 131072)", zeros[:limit/2])}
	for _, c := range []struct {
		name string
		file []byte
		want string
		max  uint64 // bytes that may be allocated
	}{
		{"one member", archive(t, zip.Deflate, member{"a.npy", array("<f4", "(1, 524288)", zeros)}),
			`"a": 2097226 bytes unpacked, which takes the arrays of a file of`, limit / 8},
		{"many members", archive(t, zip.Deflate, half, member{"b.npy", half.data}),
			`"b": 524362 bytes unpacked, which takes the arrays of a file of`, 3 * limit / 2},
		{"claimed size", claim(math.MaxUint32 - 1), `"a": 4294967294 bytes unpacked`, limit / 8},
		{"claimed size within the limit", claim(limit), "takes 1 elements, but it has", limit / 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(bytes.NewReader(c.file), int64(len(c.file)), limit)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > c.max {
				t.Errorf("%d bytes were allocated for a file of %d", used, len(c.file))
			}
		})
	}
	// A site of zeros is no bomb: a small trace may unpack to smallTrace bytes.
	path := filepath.Join(t.TempDir(), "zeros.npz")
	if err := os.WriteFile(path, archive(t, zip.Deflate, half), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err != nil {
		t.Error(err)
	}
}

// TestTruncated cuts a file at every length, and damages each byte of the stored data in turn.
func TestTruncated(t *testing.T) {
	whole := archive(t, zip.Store, member{"a.npy", array("<f4", "(2, 2)", floats(1, 2, 3, 4))})
	for n := range whole {
		if _, err := read(bytes.NewReader(whole[:n]), int64(n), smallTrace); err == nil {
			t.Fatalf("the first %d of %d bytes were read without an error", n, len(whole))
		}
	}
	at := bytes.Index(whole, floats(1, 2, 3, 4))
	for i := range 16 {
		bad := slices.Clone(whole)
		bad[at+i] ^= 1
		if _, err := read(bytes.NewReader(bad), int64(len(bad)), smallTrace); err == nil {
			t.Errorf("damage at byte %d of the data went unseen", i)
		}
	}
}

// checkRead holds what was read against the promises of a trace.
func checkRead(t *testing.T, tr *Trace) {
	for _, s := range tr.Sites() {
		if d, rows, n, ok := tr.Data(s); !ok || rows < 1 || n < 1 || rows*n != len(d) {
			t.Errorf("site %q is [%d, %d] with %d values", s, rows, n, len(d))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(archive(f, method, member{"a.npy", array("<f4", "(2, 2)", floats(1, 2, 3, 4))},
			member{"tokens.npy", array("<i4", "(2,)", make([]byte, 8))}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if tr, err := read(bytes.NewReader(data), int64(len(data)), smallTrace); err == nil {
			checkRead(t, tr)
		}
	})
}

// FuzzArray feeds the parser of one member, which mutations of a whole archive do not get past the checksum to.
func FuzzArray(f *testing.F) {
	f.Add("a", array("<f4", "(2, 2)", floats(1, 2, 3, 4)))
	f.Add("a", array("<f4", "(4,)", floats(1, 2, 3, 4)))
	f.Add("a", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", floats(1, 2)))
	f.Add("a", npy("{'shape': (99999999999L,), 'descr': '>f8'}", floats(1, 2)))
	f.Add("tokens", array("<i4", "(2,)", make([]byte, 8)))
	f.Add("tokens", array("<i8", "(1,)", make([]byte, 8)))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		tr := New()
		if err := tr.readArray(name, bytes.NewReader(data), uint64(len(data))); err != nil {
			if len(tr.Sites()) != 0 || tr.Tokens != nil {
				t.Errorf("after an error: sites %v, tokens %v", tr.Sites(), tr.Tokens)
			}
			return
		}
		checkRead(t, tr)
		if held := len(tr.Tokens)*4 + len(tr.Sites())*4; held == 0 || held > len(data) {
			t.Errorf("%d bytes of array gave %d tokens and sites %v", len(data), len(tr.Tokens), tr.Sites())
		}
	})
}
