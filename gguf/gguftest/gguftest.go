// Package gguftest has what tests of several packages need of GGUF files.
package gguftest

import (
	"bytes"
	"testing"

	"cera/gguf"
)

// File returns what w writes as a file in memory.
func File(t testing.TB, w *gguf.Writer) *gguf.File {
	t.Helper()
	var buf bytes.Buffer
	if _, err := w.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Keys is File of metadata alone.
func Keys(t testing.TB, metadata map[string]any) *gguf.File {
	t.Helper()
	w := gguf.NewWriter()
	for key, value := range metadata {
		w.Set(key, value)
	}
	return File(t, w)
}
