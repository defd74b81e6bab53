//go:build unix

package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// threePages is a file of three tensors of 64 KiB each, more than a page on every system.
func threePages(t *testing.T) (path string, f *File) {
	t.Helper()
	const size = 1 << 16
	w := NewWriter()
	for _, name := range []string{"a", "b", "c"} {
		w.Add(name, I8, []uint64{size}, bytes.Repeat([]byte{1}, size))
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	path = write(t, t.TempDir(), "model.gguf", b.Bytes())
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path, f
}

func total(b []byte) (n int) {
	for _, v := range b {
		n += int(v)
	}
	return n
}

// A file that loses bytes while it is mapped gives an error, and the program goes on.
func TestShrink(t *testing.T) {
	for _, c := range []struct {
		name   string
		tensor int
		to     int64 // bytes that are left
		during bool  // it shrinks while the tensor is read
	}{
		{"to nothing, before", 1, 0, false},
		{"to nothing, during", 1, 0, true},
		{"in an earlier tensor, before", 2, 1 << 16, false},
		{"in an earlier tensor, during", 2, 1 << 16, true},
		{"in the middle of the tensor", 1, 1<<16 + 1<<15, true},
		{"in the middle of a page", 1, 1<<16 + 1<<15 + 77, true},
		{"a later tensor alone", 0, 1<<17 + 77, true},
		{"by one byte", 2, 3<<16 + 95, true}, // nothing faults: the page is still there
	} {
		t.Run(c.name, func(t *testing.T) {
			path, f := threePages(t)
			if !c.during {
				if err := os.Truncate(path, c.to); err != nil {
					t.Fatal(err)
				}
			}
			x := &f.Tensors[c.tensor]
			err := f.View(x, func(data []byte) error {
				if !c.during {
					t.Error("the data of a file that has shrunk was given out")
				}
				if n := total(data); n != 1<<16 {
					t.Errorf("the bytes add up to %d before the file shrinks", n)
				}
				if err := os.Truncate(path, c.to); err != nil {
					t.Error(err)
				}
				total(data)
				copy(make([]byte, len(data)), data)
				return nil
			})
			if !errors.Is(err, ErrChanged) {
				t.Fatalf("error %v, want ErrChanged", err)
			}
			for _, want := range []string{path, `tensor "` + x.Name + `"`, "load it again"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if _, err := f.Data(x); !errors.Is(err, ErrChanged) {
				t.Errorf("Data of the file that shrank: %v, want ErrChanged", err)
			}
		})
	}
}

// The same for the metadata, where a file shrinks while it is opened.
func TestShrinkInMetadata(t *testing.T) {
	w := NewWriter()
	w.Set("long", strings.Repeat("x", 1<<17))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	path := write(t, t.TempDir(), "model.gguf", b.Bytes())
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &part{path: path}
	if err := p.attach(file); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := os.Truncate(path, 1<<16); err != nil {
		t.Fatal(err)
	}
	if err := p.guard("metadata", p.parse); !errors.Is(err, ErrChanged) ||
		!strings.Contains(err.Error(), path+": metadata") {
		t.Errorf("error %v, want ErrChanged and %s", err, path)
	}
}

// A panic that has nothing to do with the mapping is none of View's business, and its guard ends with it.
func TestViewPanics(t *testing.T) {
	_, f := threePages(t)
	var none *int
	for name, c := range map[string]struct {
		use  func([]byte) error
		want string
	}{
		"own":     {func([]byte) error { panic("own panic") }, "own panic"},
		"nil":     {func([]byte) error { *none = 1; return nil }, "nil pointer"},
		"outside": {func(b []byte) error { return errors.New(string(b[len(b)])) }, "out of range"},
	} {
		func() {
			defer func() {
				got := recover()
				err, _ := got.(error)
				if text, ok := got.(string); ok {
					err = errors.New(text)
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: recovered %v, want a panic about %q", name, got, c.want)
				}
			}()
			t.Errorf("%s: View returned %v", name, f.View(&f.Tensors[0], c.use))
		}()
	}
	want := errors.New("of use")
	if err := f.View(&f.Tensors[0], func([]byte) error { return want }); err != want {
		t.Errorf("error %v, want the one of use", err)
	}
}

// What is no file with content is refused at once, a pipe without a writer among them.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"pipe.gguf", splitName(1, 2)} {
		if err := syscall.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("pipe.gguf"), at("link.gguf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("loop.gguf"), at("loop.gguf")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "empty.gguf", nil)
	write(t, dir, splitName(0, 2), splitPart(0, 2, 2, nil))
	for _, c := range []struct {
		name, open string
		want       []string
	}{
		{"pipe", at("pipe.gguf"), []string{at("pipe.gguf"), "a pipe, not a regular file"}},
		{"link to a pipe", at("link.gguf"), []string{at("link.gguf"), "a pipe"}},
		{"link to itself", at("loop.gguf"), []string{at("loop.gguf")}},
		{"folder", dir, []string{dir, "a folder, not a regular file"}},
		{"device", os.DevNull, []string{os.DevNull, "not a regular file"}},
		{"no bytes", at("empty.gguf"), []string{at("empty.gguf"), "the file is empty"}},
		{"nothing", at("none.gguf"), []string{at("none.gguf"), "no such file"}},
		{"part that is a pipe", at(splitName(0, 2)), []string{at(splitName(1, 2)), "part 2 of 2", "a pipe"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				f, err := Open(c.open)
				f.Close()
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil {
					t.Fatal("accepted")
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
			case <-time.After(time.Second):
				t.Fatal("still waiting after a second")
			}
		})
	}
}
