package trace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWritable: what cannot be written is an error that names the path; what is there stays, and nothing is left.
func TestWritable(t *testing.T) {
	const before = "what was there before"
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"file", "read-only"} {
		if err := os.WriteFile(path(name), []byte(before), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path("read-only"), 0o444); err != nil { // it is replaced, not written to
		t.Fatal(err)
	}
	if err := os.Mkdir(path("folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path("file"), path("link")); err != nil {
		t.Skipf("SKIPPED: no links here: %v", err)
	}
	list := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	was := list()
	for name, c := range map[string]struct {
		path string
		kind error  // inside the error
		said string // in it; empty: there is no error
	}{
		"new":               {path: path("new")},
		"file":              {path: path("file")},
		"read-only file":    {path: path("read-only")},
		"link to a file":    {path: path("link")},
		"nowhere":           {path: os.DevNull},
		"empty":             {path: "", said: "the name of the file is empty"},
		"folder":            {path: path("folder"), said: "is a folder"},
		"folder and slash":  {path: path("folder") + "/", said: "is a folder"},
		"missing folder":    {path: path("missing/new"), kind: fs.ErrNotExist, said: "missing/new"},
		"new folder, slash": {path: path("missing") + "/", kind: fs.ErrNotExist, said: "missing/"},
		"under a file":      {path: path("file/new"), said: "file/new"},
		"name too long":     {path: path(strings.Repeat("n", 300)), said: "nnn"},
	} {
		err := Writable(c.path)
		switch {
		case c.said == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.said == "":
		case err == nil || !strings.Contains(err.Error(), c.said):
			t.Errorf("%s: error %v, expected one that says %q", name, err, c.said)
		case c.kind != nil && !errors.Is(err, c.kind):
			t.Errorf("%s: error %v is not %v", name, err, c.kind)
		}
		written := WriteFile(c.path, func(io.Writer) error { return errStop })
		if c.said != "" && (written == nil || errors.Is(written, errStop)) {
			t.Errorf("%s: WriteFile comes to write, %v", name, written)
		}
	}
	if now := list(); strings.Join(now, " ") != strings.Join(was, " ") {
		t.Errorf("in the folder is %v, expected %v", now, was)
	}
	for _, name := range []string{"file", "read-only"} {
		if b, err := os.ReadFile(path(name)); err != nil || string(b) != before {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

var errStop = errors.New("stop")
