package gguf

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

// malformed are files that must be refused: name, content, offset of the error, and what the message must say.
var malformed = []struct {
	name   string
	file   raw
	offset int64
	want   []string
}{
	// What kind of file it is.
	{"empty", nil, 0, []string{"empty"}},
	{"one byte", raw("G"), 0, []string{"truncated", "1 bytes"}},
	{"magic alone", raw("GGUF"), 0, []string{"truncated", "4 bytes", "24"}},
	{"header cut", header(3, 0, 0)[:23], 0, []string{"truncated", "23 bytes"}},
	{"other magic", raw("PK\x03\x04").zeros(40), 0, []string{`"PK\x03\x04"`, `"GGUF"`}},
	{"short and other", raw("ab"), 0, []string{`"ab"`, `"GGUF"`}},
	{"reversed magic", raw("FUGG").u32(1).u64(0).u64(0), 0, []string{"reversed", "FUGG"}},
	{"lfs pointer", raw("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), 0,
		[]string{"Git LFS pointer", "git lfs pull"}},
	{"ggjt", raw("tjgg").zeros(40), 0, []string{"before GGUF"}},
	{"ggml", raw("lmgg").zeros(40), 0, []string{"before GGUF"}},
	{"version 0", header(0, 0, 0), 4, []string{"unknown version 0"}},
	{"version 1", header(1, 0, 0), 4, []string{"version 1", "want version 2 or 3"}},
	{"version 4", header(4, 0, 0), 4, []string{"unknown version 4"}},
	{"big-endian 3", raw("GGUF").bytes(0, 0, 0, 3).zeros(16), 4, []string{"big-endian", "version 3"}},
	{"big-endian 2", raw("GGUF").bytes(0, 0, 0, 2).zeros(16), 4, []string{"big-endian", "version 2"}},

	// Counts.
	{"tensor count", header(3, 1<<60, 0), 8, []string{"tensor count 1152921504606846976", "0 bytes left"}},
	{"tensor count max", header(3, math.MaxUint64, 0).zeros(100), 8, []string{"tensor count"}},
	{"key count", header(3, 0, 1<<40).zeros(100), 16, []string{"key count 1099511627776"}},
	{"key count by one", header(3, 0, 2).kvU32("a", 1), 16, []string{"key count 2", "17 bytes left"}},

	// Keys.
	{"key name too long for file", header(3, 0, 1).u64(1 << 62).zeros(20), 24,
		[]string{"name of key 1 of 1", "4611686018427387904", "20 bytes left"}},
	{"key name beyond the limit", header(3, 0, 1).str(strings.Repeat("k", 1<<16)).u32(0).zeros(9), 24,
		[]string{"65536", "65535"}},
	{"key name empty", header(3, 0, 1).kvU32("", 1).zeros(9), 24, []string{"key 1 of 1", "empty name"}},
	{"key twice", header(3, 0, 2).kvU32("a.b", 1).kvU32("a.b", 1), 43, []string{`key "a.b"`, "twice"}},
	{"key cut in type", header(3, 0, 1).str("some.key").zeros(3), 40,
		[]string{`key "some.key"`, "4 bytes needed, 3 left"}},
	{"value type", header(3, 0, 1).kv("some.key", 13).zeros(9), 40,
		[]string{`key "some.key"`, "unknown value type 13"}},
	{"value type max", header(3, 0, 1).kv("some.key", math.MaxUint32).zeros(9), 40,
		[]string{"unknown value type 4294967295"}},
	{"value cut", header(3, 0, 1).kv("k", 12).bytes(1, 2, 3), 37, []string{`key "k"`, "8 bytes needed, 3 left"}},
	{"bool", header(3, 0, 1).kv("k", 7).bytes(2), 37, []string{`key "k"`, "bool is 2"}},
	{"string length", header(3, 0, 1).kv("k", 8).u64(5).bytes('a'), 37,
		[]string{`key "k"`, "string of 5 bytes", "1 bytes left"}},
	{"string length max", header(3, 0, 1).kv("k", 8).u64(math.MaxUint64), 37,
		[]string{`key "k"`, "18446744073709551615"}},

	// Arrays.
	{"array of unknown type", header(3, 0, 1).kv("k", 9).u32(99).u64(0), 37,
		[]string{`key "k"`, "unknown value type 99"}},
	{"array cut", header(3, 0, 1).kv("k", 9).u32(4).zeros(4), 41, []string{`key "k"`, "8 bytes needed, 4 left"}},
	{"array length", header(3, 0, 1).kv("k", 9).u32(4).u64(3).zeros(8), 41,
		[]string{`key "k"`, "array of 3 uint32", "8 bytes left"}},
	{"array length overflow", header(3, 0, 1).kv("k", 9).u32(10).u64(1 << 61).zeros(8), 41,
		[]string{"array of 2305843009213693952 uint64"}},
	{"array of strings", header(3, 0, 1).kv("k", 9).u32(8).u64(2).str("abcdefgh").u64(9), 65,
		[]string{`key "k"`, "string of 9 bytes"}},
	{"array of strings length", header(3, 0, 1).kv("k", 9).u32(8).u64(math.MaxUint64).zeros(64), 41,
		[]string{"string values"}},
	{"array of bools", header(3, 0, 1).kv("k", 9).u32(7).u64(2).bytes(1, 255), 50, []string{`key "k"`, "bool is 255"}},
	{"array of arrays length", header(3, 0, 1).kv("k", 9).u32(9).u64(1 << 20).zeros(64), 41,
		[]string{"array of 1048576 array"}},
	{"arrays too deep", header(3, 0, 1).kv("k",
		9).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(0).u64(0), 85,
		[]string{`key "k"`, "more than 4 deep"}},

	// Alignment.
	{"alignment type", header(3, 0, 1).kv("general.alignment", 10).u64(32), 24,
		[]string{"general.alignment", "uint64 32", "want uint32"}},
	{"alignment text", header(3, 0, 1).kv("general.alignment", 8).str("32"), 24,
		[]string{"general.alignment", `string "32"`}},
	{"alignment 0", header(3, 0, 1).kvU32("general.alignment", 0), 24,
		[]string{"general.alignment", "is 0", "power of two"}},
	{"alignment 24", header(3, 0, 1).kvU32("general.alignment", 24), 24, []string{"is 24", "power of two"}},
	{"alignment huge", header(3, 1, 1).kvU32("general.alignment", 1<<31).info("w", 0, 0, 1).pad(32).zeros(32), 57,
		[]string{`tensor "w"`, "0 bytes in this file"}},

	// Tensor entries.
	{"tensor name length", header(3, 1, 0).u64(1 << 40).zeros(64), 24, []string{"name of tensor 1 of 1"}},
	{"tensor name empty", header(3, 1, 0).info("", 0, 0, 1).pad(32).zeros(32), 24,
		[]string{"tensor 1 of 1", "empty name"}},
	{"tensor twice", header(3, 2, 0).info("w", 0, 0, 8).info("w", 0, 32, 8).pad(32).zeros(64), 57,
		[]string{`tensor "w"`, "twice"}},
	{"tensor cut", header(3, 1, 0).str("weight").u32(4).u64(1).zeros(16), 66,
		[]string{`tensor "weight"`, "8 bytes needed"}},
	{"no dimensions", header(3, 1, 0).info("w", 0, 0).pad(32).zeros(32), 33, []string{`tensor "w"`, "0 dimensions"}},
	{"five dimensions", header(3, 1, 0).info("w", 0, 0, 1, 1, 1, 1, 1).pad(32).zeros(32), 33,
		[]string{`tensor "w"`, "5 dimensions"}},
	{"dimension count max", header(3, 1, 0).str("w").u32(math.MaxUint32).zeros(64), 33,
		[]string{"4294967295 dimensions"}},
	{"zero dimension", header(3, 1, 0).info("w", 0, 0, 8, 0).pad(32).zeros(32), 33,
		[]string{`tensor "w"`, "dimension 1", "zero"}},
	{"dimensions overflow", header(3, 1, 0).info("w", 0, 0, 1<<32, 1<<32).pad(32).zeros(32), 33,
		[]string{`tensor "w"`, "overflow"}},
	{"dimensions wrap to small", header(3, 1, 0).info("w", 24, 0, 1<<63, 2, 1, 1).pad(32).zeros(32), 33,
		[]string{"overflow"}},
	{"size overflow", header(3, 1, 0).info("w", 28, 0, 1<<62).pad(32).zeros(32), 33,
		[]string{`tensor "w"`, "overflow"}},
	{"row not whole blocks", header(3, 1, 0).info("w", 2, 0, 33, 2).pad(32).zeros(64), 33,
		[]string{`tensor "w"`, "33", "Q4_0 blocks of 32"}},
	{"row not whole superblocks", header(3, 1, 0).info("w", 14, 0, 128, 2).pad(32).zeros(512), 33,
		[]string{"128", "Q6_K blocks of 256"}},
	{"unknown type", header(3, 1, 0).info("w", 43, 0, 32).pad(32).zeros(256), 45,
		[]string{`tensor "w"`, "unknown tensor type 43"}},
	{"unknown type max", header(3, 1, 0).info("w", math.MaxUint32, 0, 32).pad(32).zeros(256), 45,
		[]string{"unknown tensor type 4294967295"}},
	{"removed Q4_2", header(3, 1, 0).info("w", 4, 0, 32).pad(32).zeros(256), 45,
		[]string{`tensor "w"`, "type 4 (Q4_2)", "removed"}},
	{"removed Q4_0_4_4", header(3, 1, 0).info("w", 31, 0, 32).pad(32).zeros(256), 45,
		[]string{"type 31 (Q4_0_4_4)", "removed"}},
	{"removed IQ4_NL_8_8", header(3, 1, 0).info("w", 38, 0, 32).pad(32).zeros(256), 45,
		[]string{"type 38 (IQ4_NL_8_8)", "removed"}},

	// Placement.
	{"misaligned", header(3, 1, 0).info("w", 0, 16, 8).pad(32).zeros(96), 49,
		[]string{`tensor "w"`, "offset 16", "alignment 32"}},
	{"misaligned for the file", header(3, 1, 1).kvU32("general.alignment", 64).info("w", 0, 32, 8).pad(64).zeros(96),
		82, []string{"offset 32", "alignment 64"}},
	{"offset outside", header(3, 1, 0).info("w", 0, 1<<40, 8).pad(32).zeros(32), 24,
		[]string{`tensor "w"`, "offset 1099511627776", "32 bytes in this file"}},
	{"offset wraps", header(3, 1, 0).info("w", 0, math.MaxUint64-31, 8).pad(32).zeros(32), 24, []string{`tensor "w"`}},
	{"one byte short", header(3, 1, 0).info("w", 0, 0, 8).pad(32).zeros(31), 24,
		[]string{`tensor "w"`, "32 bytes at offset 0", "31 bytes in this file"}},
	{"no data", header(3, 1, 0).info("w", 0, 0, 8), 24, []string{`tensor "w"`, "0 bytes in this file"}},
	{"overlap", header(3, 2, 0).info("a", 0, 0, 9).info("b", 0, 32, 8).pad(32).zeros(64), 57,
		[]string{`tensor "b"`, `overlaps tensor "a"`}},
	{"overlap out of order", header(3, 2, 0).info("b", 0, 32, 8).info("a", 0, 0, 9).pad(32).zeros(64), 24,
		[]string{`tensor "b"`, `overlaps tensor "a"`}},
	{"same place", header(3, 2, 0).info("a", 0, 0, 8).info("b", 0, 0, 8).pad(32).zeros(64), 57, []string{"overlaps"}},

	// Split keys.
	{"split part alone", header(3, 0, 3).kvU32("split.count", 2).kvU32("split.no", 0).kvU32("split.tensors.count", 0),
		24, []string{"split.count", "2 files"}},
	{"split without number", header(3, 0, 1).kvU32("split.count", 2), 24, []string{`"split.no" is missing`}},
	{"split count type", header(3, 0, 1).kv("split.count", 6).u32(0), 24, []string{"split.count", "float32 0"}},
	{"split count negative", header(3, 0, 1).kv("split.count", 5).u32(math.MaxUint32), 24,
		[]string{"split.count", "int32 -1"}},
	{"split of one, other total", header(3, 0, 2).kvU32("split.count", 1).kvU32("split.tensors.count", 3), 51,
		[]string{"split.tensors.count", "is 3", "0 tensors"}},
}

func TestMalformed(t *testing.T) {
	dir := t.TempDir()
	for _, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, dir, "model.gguf", c.file)
			for _, open := range []struct {
				how  string
				path string
				open func() (*File, error)
			}{
				{"NewFile", "", func() (*File, error) { return NewFile(c.file.reader(), int64(len(c.file))) }},
				{"Open", path, func() (*File, error) { return Open(path) }},
			} {
				f, err := open.open()
				if err == nil {
					f.Close()
					t.Fatalf("%s: no error, want one about %q", open.how, c.want)
				}
				var fe *FormatError
				if !errors.As(err, &fe) {
					t.Fatalf("%s: error %v is a %T, want a *FormatError", open.how, err, err)
				}
				if fe.Path != open.path {
					t.Errorf("%s: error has path %q, want %q", open.how, fe.Path, open.path)
				}
				if open.how == "Open" && strings.HasPrefix(c.name, "split part") {
					continue // refused for its file's name, see TestSplit
				}
				if fe.Offset != c.offset {
					t.Errorf("%s: error %q has offset %d, want %d", open.how, fe.What, fe.Offset, c.offset)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: error %q does not say %q", open.how, err, want)
					}
				}
			}
		})
	}
}

// Every prefix of a good file is refused, except where only padding is cut.
func TestTruncated(t *testing.T) {
	w := NewWriter()
	w.Set("general.architecture", "llama")
	w.Set("list", []string{"a", "", "ccc"})
	w.Set("nested", []any{[]uint8{1}, []any{[]bool{true}}})
	w.Set("numbers", []float32{1, 2, 3})
	w.Add("w", F32, []uint64{5, 3}, make([]byte, 60))
	w.Add("q", Q8_0, []uint64{32}, make([]byte, 34))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	end := len(whole) - 30 // the padding after q
	for n := range whole {
		f, err := NewFile(bytes.NewReader(whole[:n]), int64(n))
		var fe *FormatError
		if n >= end {
			if err != nil {
				t.Errorf("%d of %d bytes: %v", n, len(whole), err)
			}
		} else if !errors.As(err, &fe) {
			t.Errorf("%d of %d bytes: got %v, %v, want a FormatError", n, len(whole), f, err)
		}
	}
}

// A huge count in a small file must not take memory before it is refused.
func TestAllocationIsBounded(t *testing.T) {
	for _, c := range malformed {
		n := testing.AllocsPerRun(1, func() { _, _ = NewFile(c.file.reader(), int64(len(c.file))) })
		if n > 200 {
			t.Errorf("%s: %v allocations to refuse %d bytes", c.name, n, len(c.file))
		}
	}
	// 4 GiB promised in metadata, none of it there.
	file := header(3, 0, 1).kv("k", 9).u32(0).u64(1 << 32)
	before := memory()
	if _, err := NewFile(file.reader(), int64(len(file))); err == nil {
		t.Fatal("no error")
	}
	if took := memory() - before; took > 1<<20 {
		t.Errorf("took %d bytes to refuse %d", took, len(file))
	}
}
