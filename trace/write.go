package trace

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/types/tensors"
	"github.com/gomlx/gomlx/types/tensors/numpy"
)

// Write writes the trace as an .npz that numpy reads: the tokens as int32 where there are any, then a float32 array
// [rows, n] a site in the trace's order. The file's bytes depend on the trace alone. It is not compressed: captured
// numbers shrink by a tenth at best. The file appears whole or not at all; what was there before stays after an error.
func (t *Trace) Write(path string) error {
	if err := t.write(path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (t *Trace) write(path string) error {
	// A link keeps pointing where it did. A device or a pipe is written to: a file must not take its place.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("it is a folder, not a regular file")
	} else if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return t.encodeAndClose(f)
	}
	tmp := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = t.encodeAndClose(f)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

func (t *Trace) encodeAndClose(f *os.File) error {
	err := t.encode(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// encode writes the archive, a member after the other: the numpy package writes whole archives from a map, in no order.
func (t *Trace) encode(w io.Writer) error {
	z := zip.NewWriter(w)
	if len(t.Tokens) > 0 {
		if err := writeMember(z, tokensName, tensors.FromFlatDataAndDimensions(t.Tokens, len(t.Tokens))); err != nil {
			return err
		}
	}
	for _, name := range t.order {
		a, _ := t.Tensor(name)
		if err := writeMember(z, name, a); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return z.Close()
}

func writeMember(z *zip.Writer, name string, a *tensors.Tensor) error {
	defer a.FinalizeAll()
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + extension, Method: zip.Store})
	if err != nil {
		return err
	}
	return numpy.ToNpyWriter(a, w)
}
