package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Writer writes an .npz of sites that grow chunk by chunk, in memory that does not grow with them. Rows go to one
// temporary file beside the output; Finish puts the archive together from it, so that the disk holds the rows twice
// for a moment. The output appears whole or not at all.
type Writer struct {
	Tokens   []int32   // for Finish
	Manifest *Manifest // for Finish; nil: none

	path  string
	spool *os.File
	buf   *bufio.Writer
	size  int64 // bytes appended
	order []string
	sites map[string]*spooled
}

// spooled is a site in the temporary file.
type spooled struct {
	rows, n int
	parts   []extent
}

type extent struct{ off, size int64 } // in bytes

// Create begins a trace that Finish will write to path. A path that cannot be written is an error here already. Close
// must be called.
func Create(path string) (*Writer, error) {
	at, regular, err := target(path)
	if err != nil {
		return nil, err
	}
	var spool *os.File
	if regular {
		spool, err = beside(at)
	} else {
		spool, err = hold(func() (*os.File, error) { return os.CreateTemp("", "cera-*.tmp") })
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Writer{path: path, spool: spool, buf: bufio.NewWriterSize(spool, 1<<16), sites: map[string]*spooled{}}, nil
}

// Append is Trace.Append.
func (w *Writer) Append(name string, rows, n int, data []float32) error {
	if w.spool == nil {
		return fmt.Errorf("%s: %w", w.path, os.ErrClosed)
	}
	if err := checkRows(name, rows, n, len(data)); err != nil {
		return err
	}
	s := w.sites[name]
	if s == nil {
		s = &spooled{n: n}
		w.sites[name] = s
		w.order = append(w.order, name)
	}
	if s.n != n {
		return fmt.Errorf("site %s: rows of %d after rows of %d", name, n, s.n)
	}
	if err := writeFloats(w.buf, data); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	size := 4 * int64(len(data))
	s.rows += rows
	s.parts = append(s.parts, extent{w.size, size})
	w.size += size
	return nil
}

// Sites returns the names of the sites, in the order in which they came.
func (w *Writer) Sites() []string { return append([]string(nil), w.order...) }

// Finish writes the file, byte for byte that of a Trace with the same content.
func (w *Writer) Finish() error {
	if w.spool == nil {
		return fmt.Errorf("%s: %w", w.path, os.ErrClosed)
	}
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	return WriteFile(w.path, func(out io.Writer) error {
		return encode(out, w.Manifest, w.Tokens, w.order, w.copySite)
	})
}

func (w *Writer) copySite(name string, out io.Writer) error {
	s := w.sites[name]
	if _, err := out.Write(siteHeader(s.rows, s.n)); err != nil {
		return err
	}
	for _, p := range s.parts {
		if n, err := io.Copy(out, io.NewSectionReader(w.spool, p.off, p.size)); err != nil {
			return err
		} else if n != p.size {
			return fmt.Errorf("the temporary file was cut short: %w", io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// Close removes the temporary file. Without a Finish before it nothing is left. A second Close does nothing.
func (w *Writer) Close() error {
	if w.spool == nil {
		return nil
	}
	err := errors.Join(w.spool.Close(), discard(w.spool.Name()))
	w.spool = nil
	return err
}
