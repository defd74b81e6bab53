package trace

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestAbandon: files that are half written go, those that are whole stay, and no further one appears.
func TestAbandon(t *testing.T) {
	defer func() {
		temporary.Lock()
		temporary.abandoned = false
		temporary.Unlock()
	}()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	say := func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }
	if err := WriteFile(path("before"), say); err != nil {
		t.Fatal(err)
	}
	spooled, err := Create(path("spooled.npz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := spooled.Append("embd", 1, 2, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	aside, err := Create(os.DevNull) // its rows are in the folder for temporary files
	if err != nil {
		t.Fatal(err)
	}
	half := WriteFile(path("half"), func(w io.Writer) error {
		if err := say(w); err != nil {
			return err
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 3 {
			t.Errorf("before: %v, %v, expected a whole file and two others", list, err)
		}
		Abandon()
		if err := say(w); !errors.Is(err, ErrAbandoned) {
			t.Errorf("written after Abandon: %v", err)
		}
		return nil
	})
	for name, err := range map[string]error{
		"half":   half,
		"after":  WriteFile(path("after"), say),
		"finish": spooled.Finish(),
	} {
		if !errors.Is(err, ErrAbandoned) {
			t.Errorf("%s: %v, expected %v", name, err, ErrAbandoned)
		}
	}
	if _, err := Create(path("created")); !errors.Is(err, ErrAbandoned) {
		t.Errorf("Create: %v", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "before" {
		t.Errorf("left are %v, %v", list, err)
	}
	if _, err := os.Stat(aside.spool.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", aside.spool.Name(), err)
	}
	for _, w := range []*Writer{spooled, aside} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPieces: what is written in pieces is the same as in one, up to an error.
func TestPieces(t *testing.T) {
	content := make([]byte, 3*pieceBytes+5)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	for _, size := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, len(content)} {
		var b bytes.Buffer
		if n, err := (pieces{&b}).Write(content[:size]); n != size || err != nil ||
			!bytes.Equal(b.Bytes(), content[:size]) {
			t.Errorf("%d bytes: %d, %v", size, n, err)
		}
	}
	full := errors.New("full")
	r, w := io.Pipe()
	go func() {
		io.CopyN(io.Discard, r, pieceBytes+7) //nolint:errcheck // the pipe has as many
		r.CloseWithError(full)
	}()
	if n, err := (pieces{w}).Write(content); n != pieceBytes+7 || err != full {
		t.Errorf("an error after %d bytes: %d, %v", pieceBytes+7, n, err)
	}
}
