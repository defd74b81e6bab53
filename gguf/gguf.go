package gguf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Tensor describes one tensor: where its bytes are and how they are to be read.
type Tensor struct {
	Name   string
	Type   Type
	Dims   []uint64 // 1 to 4 sizes in ggml's order: Dims[0] is the row length, the index that varies fastest
	Offset uint64   // of the first byte, from the start of the data section of its part
	Size   uint64   // in bytes
	Part   int      // which file of a split set holds it, from 0
}

// N returns the row length in elements, Dims[0].
func (t *Tensor) N() int {
	if t == nil || len(t.Dims) == 0 {
		return 0
	}
	return int(t.Dims[0])
}

// Rows returns the number of rows, the product of all dimensions but the first.
func (t *Tensor) Rows() int {
	if t == nil || len(t.Dims) == 0 {
		return 0
	}
	rows := uint64(1)
	for _, d := range t.Dims[1:] {
		rows *= d
	}
	return int(rows)
}

// File is an open model: its metadata, and the directory of its tensors. Its methods may be called from several
// goroutines at a time, except Close.
type File struct {
	Path      string   // as given to Open; empty for NewFile
	Version   uint32   // 2 or 3; of the first part, for a split set
	Alignment uint64   // of tensor data in bytes, a power of two; of the first part
	Keys      []KV     // in file order; of the first part, which holds a split set's metadata
	Tensors   []Tensor // in file order, parts one after the other

	parts   []*part
	keys    map[string]int // index into Keys
	tensors map[string]int // index into Tensors
}

// NewFile reads the metadata of a file of size bytes from r; tensor data is read when [File.Data] asks for it. r must
// stay usable as long as the File is. The error is a *FormatError if the content is at fault. A part of a split set is
// refused: only [Open] can find the others.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	if r == nil {
		return nil, errors.New("gguf: NewFile: nil reader")
	}
	if size < 0 {
		return nil, fmt.Errorf("gguf: NewFile: negative size %d", size)
	}
	// Everything below trusts size, so a size that the reader does not have must not get further.
	if size > 0 {
		var last [1]byte
		if n, err := r.ReadAt(last[:], size-1); n < 1 {
			return nil, fmt.Errorf("gguf: NewFile: reading the last of %d bytes: %w", size, noEOF(err))
		}
	}
	p := &part{r: r, size: size}
	if err := p.parse(); err != nil {
		return nil, err
	}
	split, err := p.split()
	if err != nil {
		return nil, err
	}
	if split.count > 1 {
		return nil, p.errorf(p.keyOffset(keySplitCount),
			"key %q: this is one part of a set of %d files, which can only be opened by path",
			keySplitCount, split.count)
	}
	return assemble("", []*part{p})
}

// assemble joins parsed parts into one File.
func assemble(path string, parts []*part) (*File, error) {
	first := parts[0]
	f := &File{
		Path:      path,
		Version:   first.version,
		Alignment: first.alignment,
		Keys:      first.keys,
		keys:      first.index,
		tensors:   make(map[string]int),
		parts:     parts,
	}
	for i, p := range parts {
		for j, t := range p.tensors {
			t.Part = i
			// Names are already unique within a part.
			if k, dup := f.tensors[t.Name]; dup {
				return nil, p.errorf(p.infoOff[j], "tensor %.99q is also in part %d, %s", t.Name, f.Tensors[k].Part+1,
					parts[f.Tensors[k].Part].path)
			}
			f.tensors[t.Name] = len(f.Tensors)
			f.Tensors = append(f.Tensors, t)
		}
	}
	return f, nil
}

// Tensor returns the tensor called name.
func (f *File) Tensor(name string) (*Tensor, bool) {
	if f == nil {
		return nil, false
	}
	i, ok := f.tensors[name]
	if !ok {
		return nil, false
	}
	return &f.Tensors[i], true
}

// Data returns the bytes of t, one of f's tensors: rows of blocks, as in the file. From a file opened with [Open] they
// are a slice of the mapping, without a copy: read-only (a write crashes the program), valid until Close, and only
// while the file does not shrink (see [File.View]). From [NewFile] they are fresh memory, read by this call.
func (f *File) Data(t *Tensor) ([]byte, error) {
	if f == nil || t == nil {
		return nil, errors.New("gguf: Data: nil file or tensor")
	}
	if len(f.parts) == 0 {
		return nil, fmt.Errorf("gguf: tensor %q: %w", t.Name, os.ErrClosed)
	}
	if t.Part < 0 || t.Part >= len(f.parts) {
		return nil, fmt.Errorf("gguf: tensor %q: part %d of a set of %d", t.Name, t.Part, len(f.parts))
	}
	// The caller may have made t, so it is checked like one from a file.
	p := f.parts[t.Part]
	room := uint64(p.size - min(p.data, p.size))
	if t.Offset > room || t.Size > room-t.Offset || t.Size > math.MaxInt {
		return nil, p.errorf(p.data, "tensor %q: %d bytes at offset %d of a data section of %d bytes", t.Name, t.Size,
			t.Offset, room)
	}
	if err := p.shrunk(); err != nil {
		return nil, fmt.Errorf("gguf: %stensor %q: %w", p.prefix(), t.Name, err)
	}
	at := p.data + int64(t.Offset)
	if p.mapped != nil {
		end := at + int64(t.Size)
		return p.mapped[at:end:end], nil
	}
	b := make([]byte, t.Size)
	if n, err := p.r.ReadAt(b, at); n < len(b) {
		return nil, fmt.Errorf("gguf: %stensor %q: reading %d bytes at byte %d: %w", p.prefix(), t.Name, t.Size, at,
			noEOF(err))
	}
	return b, nil
}

// Parts returns the paths of the files that f was opened from, one unless f is a split set.
func (f *File) Parts() []string {
	if f == nil {
		return nil
	}
	paths := make([]string, len(f.parts))
	for i, p := range f.parts {
		paths[i] = p.path
	}
	return paths
}

// Close releases the mapping; slices that Data returned must not be used afterwards. Metadata stays readable. A
// second Close does nothing.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	parts := f.parts
	f.parts = nil
	return closeParts(parts)
}

func closeParts(parts []*part) error {
	var errs []error
	for _, p := range parts {
		if p.close == nil {
			continue
		}
		if err := p.close(); err != nil {
			errs = append(errs, fmt.Errorf("gguf: %sclosing: %w", p.prefix(), err))
		}
		p.close, p.mapped = nil, nil
	}
	return errors.Join(errs...)
}

// noEOF turns the end of a reader into an error that says it came too early.
func noEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
