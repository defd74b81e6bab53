package gguf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// raw builds files field by field, right or wrong. It shares no code with Writer.
type raw []byte

func (r raw) u32(v uint32) raw      { return binary.LittleEndian.AppendUint32(r, v) }
func (r raw) u64(v uint64) raw      { return binary.LittleEndian.AppendUint64(r, v) }
func (r raw) bytes(b ...byte) raw   { return append(r, b...) }
func (r raw) str(s string) raw      { return append(r.u64(uint64(len(s))), s...) }
func (r raw) zeros(n int) raw       { return append(r, make([]byte, n)...) }
func (r raw) pad(align int) raw     { return r.zeros(-len(r) & (align - 1)) }
func (r raw) reader() *bytes.Reader { return bytes.NewReader(r) }

func header(version uint32, tensors, keys uint64) raw {
	return raw("GGUF").u32(version).u64(tensors).u64(keys)
}

// kv appends a key and the number of its type; the value follows.
func (r raw) kv(key string, t uint32) raw { return r.str(key).u32(t) }

// kvU32 appends a whole uint32 entry.
func (r raw) kvU32(key string, v uint32) raw { return r.kv(key, 4).u32(v) }

// info appends a tensor's entry.
func (r raw) info(name string, t uint32, offset uint64, dims ...uint64) raw {
	r = r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r = r.u64(d)
	}
	return r.u32(t).u64(offset)
}

func write(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// shared lists files of the project's shared data, and skips the test where there are none.
func shared(t testing.TB, patterns ...string) []string {
	t.Helper()
	var paths []string
	for _, p := range patterns {
		m, err := filepath.Glob(filepath.Join("..", "..", "shared", filepath.FromSlash(p)))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, m...)
	}
	if len(paths) == 0 {
		t.Skipf("SKIPPED: no files at ../shared: %s", strings.Join(patterns, ", "))
	}
	return paths
}
