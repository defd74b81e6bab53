package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Open reads a trace from an .npz file, a .safetensors file or a folder of .npy files, which have the form that Read
// describes. A folder's sites have the names of its files; other files in it are left alone. Errors name the file and
// the array.
func Open(path string) (*Trace, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return readFolder(path)
	case !info.Mode().IsRegular():
		// Opening a pipe would wait for a writer.
		return nil, fmt.Errorf("%s: it is no regular file", path)
	case strings.EqualFold(filepath.Ext(path), ".safetensors"):
		return readSafetensors(path)
	}
	return Read(path)
}

func readFolder(dir string) (*Trace, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := New()
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || name == "" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := t.readNpy(path, name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(t.order) == 0 {
		return nil, fmt.Errorf("%s: the folder has no .npy files of sites", dir)
	}
	if err := t.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

func (t *Trace) readNpy(path, name string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.readArray(name, f, uint64(info.Size()))
}
