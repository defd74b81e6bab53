package trace

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Write writes the trace as an .npz that numpy reads: the manifest where there is one, the tokens as int32 where there
// are any, then a float32 array [rows, n] a site in the trace's order. The file's bytes depend on the trace alone. It
// is not compressed: captured numbers shrink by a tenth at best. The file appears whole or not at all; what was there
// before stays after an error.
func (t *Trace) Write(path string) error {
	return WriteFile(path, func(w io.Writer) error {
		return encode(w, t.Manifest, t.Tokens, t.order, func(name string, w io.Writer) error {
			data, rows, n, _ := t.Data(name)
			if _, err := w.Write(siteHeader(rows, n)); err != nil {
				return err
			}
			return writeFloats(w, data)
		})
	})
}

// WriteFile makes the file at path from what write writes: it appears whole, or after an error there is what was there
// before. Errors name the path.
func WriteFile(path string, write func(io.Writer) error) error {
	at, regular, err := target(path)
	if err != nil {
		return err
	}
	return atPath(path, replace(at, regular, write))
}

// Writable is an error where WriteFile could not make the file at path, found without the work of making what is in it:
// the folder takes new files, and what is there is no folder. Nothing is written. A disk may be full all the same.
func Writable(path string) error {
	at, regular, err := target(path)
	if err != nil {
		return err
	}
	var f *os.File
	if regular {
		f, err = beside(at)
	} else if info, serr := os.Stat(at); serr == nil && info.Mode()&os.ModeNamedPipe == 0 { // who reads a pipe would see its end
		f, err = os.OpenFile(at, os.O_WRONLY, 0)
	}
	if f == nil || err != nil {
		return atPath(path, err)
	}
	err = f.Close()
	if regular {
		err = errors.Join(err, discard(f.Name()))
	}
	return atPath(path, err)
}

// atPath is an error with the path that it is about; nil stays nil.
func atPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// target returns where the file of a path is, and whether it can be put in place by renaming. A link keeps pointing
// where it did. A device or a pipe is written to: a file must not take its place. A folder is an error, and so is no
// name.
func target(path string) (at string, regular bool, err error) {
	if path == "" {
		return "", false, errors.New("the name of the file is empty")
	}
	at = path
	if link, err := filepath.EvalSymlinks(path); err == nil {
		at = link
	}
	info, err := os.Stat(at)
	if err == nil && info.IsDir() {
		return "", false, fmt.Errorf("%s is a folder, not a regular file", path)
	}
	return at, err != nil || info.Mode().IsRegular(), nil
}

// replace writes to path what write writes, a regular file under another name until it is whole.
func replace(path string, regular bool, write func(io.Writer) error) error {
	if !regular {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return writeAndClose(f, write)
	}
	f, err := beside(path)
	if err != nil {
		return err
	}
	if err = writeAndClose(f, write); err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		discard(f.Name()) //nolint:errcheck // the error before it says more
	}
	return err
}

func writeAndClose(f *os.File, write func(io.Writer) error) error {
	err := write(pieces{f})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// encode writes the archive, a member after the other.
func encode(w io.Writer, m *Manifest, tokens []int32, sites []string, site func(name string, w io.Writer) error) error {
	z := zip.NewWriter(w)
	member := func(name string, write func(io.Writer) error) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + extension, Method: zip.Store})
		if err == nil {
			err = write(w)
		}
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		return nil
	}
	if m != nil {
		text, err := m.encode()
		if err != nil {
			return fmt.Errorf("array %q: %w", manifestName, err)
		}
		h := npyHeader{descr: "|u1", shape: []int{len(text)}}
		err = member(manifestName, func(w io.Writer) error {
			_, err := w.Write(append(h.encode(), text...))
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(tokens) > 0 {
		h := npyHeader{descr: "<i4", shape: []int{len(tokens)}}
		b := h.encode()
		for _, id := range tokens {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
		if err := member(tokensName, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	for _, name := range sites {
		if err := member(name, func(w io.Writer) error { return site(name, w) }); err != nil {
			return err
		}
	}
	return z.Close()
}

// siteHeader returns the .npy header of a site.
func siteHeader(rows, n int) []byte {
	return (&npyHeader{descr: "<f4", shape: []int{rows, n}}).encode()
}

// writeFloats writes little-endian float32, a block at a time.
func writeFloats(w io.Writer, data []float32) error {
	const block = 1 << 14
	b := make([]byte, 0, 4*min(len(data), block))
	for len(data) > 0 {
		part := data[:min(len(data), block)]
		b = b[:0]
		for _, v := range part {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return nil
}
