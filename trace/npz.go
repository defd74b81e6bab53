package trace

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/gomlx/types/tensors"
	"github.com/gomlx/gomlx/types/tensors/numpy"
)

const tokensName = "tokens"

// Read reads a .npz file: "tokens" as int32 or int64, every other array as float32 [rows, n] or [n], which is one row.
// Sites keep the file's order.
func Read(path string) (*Trace, error) {
	t, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func read(path string) (*Trace, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("not an .npz file: %w", errors.Unwrap(wrapped(err)))
	}
	defer z.Close()
	t := New()
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("member %q is not an .npy array", f.Name)
		}
		if err := t.readMember(f, name); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return t, nil
}

// wrapped makes sure that there is something to unwrap.
func wrapped(err error) error {
	if errors.Unwrap(err) != nil {
		return err
	}
	return fmt.Errorf("%w", err)
}

// readMember adds one array. The numpy package panics on some malformed headers, and takes the shape at its word.
func (t *Trace) readMember(f *zip.File, name string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed array: %v", p)
		}
	}()
	rc, err := f.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	raw, err := io.ReadAll(rc)
	if err != nil {
		return err
	}
	elements, err := headerElements(raw)
	if err != nil {
		return err
	}
	if elements > uint64(len(raw)) {
		return fmt.Errorf("its shape has %d elements, the file only %d bytes for it", elements, len(raw))
	}
	a, err := numpy.FromNpyReader(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	dims := a.Shape().Dimensions
	if name == tokensName {
		return t.setTokens(a)
	}
	data, ok := flat[float32](a)
	if !ok {
		return fmt.Errorf("it holds %s, expected float32", a.DType())
	}
	switch len(dims) {
	case 1:
		return t.Append(name, 1, dims[0], data)
	case 2:
		return t.Append(name, dims[0], dims[1], data)
	}
	return fmt.Errorf("it has shape %v, expected [tokens, n]", dims)
}

func (t *Trace) setTokens(a *tensors.Tensor) error {
	if ids, ok := flat[int32](a); ok {
		t.Tokens = ids
		return nil
	}
	wide, ok := flat[int64](a)
	if !ok {
		return fmt.Errorf("it holds %s, expected int32", a.DType())
	}
	t.Tokens = make([]int32, len(wide))
	for i, id := range wide {
		t.Tokens[i] = int32(id)
		if int64(t.Tokens[i]) != id {
			return fmt.Errorf("token %d at position %d does not fit 32 bits", id, i)
		}
	}
	return nil
}

// flat copies the elements out of a tensor of type T.
func flat[T float32 | int32 | int64](a *tensors.Tensor) (data []T, ok bool) {
	a.ConstFlatData(func(f any) {
		if s, is := f.([]T); is {
			data, ok = append([]T(nil), s...), true
		}
	})
	return data, ok
}

// Write writes the trace as a compressed .npz that numpy reads: float32 arrays in the order of the sites, and the tokens
// as int32. The file appears whole or not at all.
func (t *Trace) Write(path string) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	z := zip.NewWriter(tmp)
	if len(t.Tokens) > 0 {
		if err := writeMember(z, tokensName, tensors.FromFlatDataAndDimensions(t.Tokens, len(t.Tokens))); err != nil {
			return err
		}
	}
	for _, name := range t.order {
		a, ok := t.Tensor(name)
		if !ok {
			return fmt.Errorf("site %s has no rows", name)
		}
		if err := writeMember(z, name, a); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	// CreateTemp makes files for the owner alone; a trace is an ordinary file.
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func writeMember(z *zip.Writer, name string, a *tensors.Tensor) error {
	w, err := z.Create(name + ".npy")
	if err != nil {
		return err
	}
	return numpy.ToNpyWriter(a, w)
}
