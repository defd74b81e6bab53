package weights

import (
	"context"
	"fmt"
	"math"

	"cera/backend"
	"cera/gguf"
)

// Load uploads the tensor of every slot that Bind found and sets its Matrix or Vector. A matrix in a format that the backend
// does not take is re-encoded to F16; see Notes. After each tensor Load calls progress, unless nil, with the bytes of the
// file uploaded so far, their total, and the tensor's name. A binding with an Err, data that cannot be read (a *FileError)
// and errors of the device are returned; all that was uploaded is then freed again and each Matrix nil. The same comes of a ctx
// that ends, which is looked at between two tensors: the error is then the context's.
func (b *Binding) Load(ctx context.Context, be backend.Backend, progress func(done, total int64, name string)) error {
	if err := b.Err(); err != nil {
		return err
	}
	l := loader{be: be, file: b.file, progress: progress}
	for i := range b.slots {
		if t := l.tensor(&b.slots[i]); t != nil {
			l.total += int64(t.Size)
		}
	}
	for i := range b.slots {
		err := ctx.Err()
		if err == nil {
			err = l.load(&b.slots[i])
		}
		if err != nil {
			l.undo()
			return err
		}
	}
	if err := be.Flush(); err != nil {
		l.undo()
		return fmt.Errorf("upload weights: %w", err)
	}
	return nil
}

// Outline gives a backend that computes nothing what Load would give it, without data: each matrix in the format it would have, and
// each vector. What goes wrong is left to Load to tell.
func (b *Binding) Outline(be backend.Backend) {
	l := loader{be: be, file: b.file}
	for i := range b.slots {
		s := &b.slots[i]
		t := l.tensor(s)
		if t == nil {
			continue
		}
		f, err := FormatOf(t.Type)
		switch {
		case err != nil:
		case s.Matrix != nil:
			*s.Matrix = be.LoadWeight(s.Name, Held(f, be.Takes), s.Rows, s.N, nil)
		case !s.Vector.Valid():
			*s.Vector = be.Alloc(s.Name, s.Rows, s.N)
		}
	}
}

// FileError is an error of Load for which the file is to blame, and not the device. It names the file and the tensor.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// loader is the state of one Load.
type loader struct {
	be          backend.Backend
	file        *gguf.File
	progress    func(done, total int64, name string)
	done, total int64
	matrices    []*backend.Weight // set so far
	vectors     []*backend.Tensor // allocated so far
	buf         []float32
}

// tensor returns the tensor to upload for s, or nil.
func (l *loader) tensor(s *Slot) *gguf.Tensor {
	if !s.Found || s.Matrix == nil && s.Vector == nil {
		return nil
	}
	t, _ := l.file.Tensor(s.Name)
	return t
}

func (l *loader) load(s *Slot) error {
	t := l.tensor(s)
	if t == nil {
		return nil
	}
	f, err := FormatOf(t.Type)
	if err != nil {
		return l.bad(s, err)
	}
	var failed error
	err = l.file.View(t, func(data []byte) error {
		if s.Matrix != nil {
			failed = l.matrix(s, f, data)
		} else {
			failed = l.vector(s, f, data)
		}
		return nil
	})
	if err != nil {
		return &FileError{err}
	}
	if failed != nil {
		return failed
	}
	l.done += int64(t.Size)
	if l.progress != nil {
		l.progress(l.done, l.total, s.Name)
	}
	return nil
}

// bad is an error about the file's tensor for s.
func (l *loader) bad(s *Slot, err error) error {
	file := ""
	if l.file.Path != "" {
		file = l.file.Path + ": "
	}
	return &FileError{fmt.Errorf("%stensor %q: %w", file, s.Name, err)}
}

// matrix uploads data in a format that the backend takes.
func (l *loader) matrix(s *Slot, f backend.Format, data []byte) error {
	if held := Held(f, l.be.Takes); held != f {
		to := make([]byte, s.Rows*held.RowBytes(s.N))
		if err := Recode(to, held, data, f, s.Rows, s.N); err != nil {
			return l.bad(s, err)
		}
		f, data = held, to
	}
	*s.Matrix = l.be.LoadWeight(s.Name, f, s.Rows, s.N, data)
	l.matrices = append(l.matrices, s.Matrix)
	if *s.Matrix == nil { // the device's error, which Flush will tell
		return fmt.Errorf("upload weights up to tensor %q: %w", s.Name, l.failed())
	}
	return nil
}

// vector decodes data and uploads it to *s.Vector, which it allocates if need be.
func (l *loader) vector(s *Slot, f backend.Format, data []byte) error {
	n := s.Rows * s.N
	if cap(l.buf) < n {
		l.buf = make([]float32, n)
	}
	buf := l.buf[:n]
	if err := Decode(buf, f, data); err != nil {
		return l.bad(s, err)
	}
	if s.Positive {
		for i, v := range buf {
			if !(v > 0 && v <= math.MaxFloat32) {
				return l.bad(s, fmt.Errorf("element %d is %v, expected a finite number above 0", i, v))
			}
		}
	}
	if !s.Vector.Valid() {
		*s.Vector = l.be.Alloc(s.Name, s.Rows, s.N)
		if !s.Vector.Valid() { // the device's error, which Flush will tell
			return fmt.Errorf("tensor %q: %w", s.Name, l.failed())
		}
		l.vectors = append(l.vectors, s.Vector)
	}
	if v := *s.Vector; v.Rows != s.Rows || v.N != s.N {
		return fmt.Errorf("tensor %q: device tensor is [%d, %d], expected [%d, %d]", s.Name, v.Rows, v.N, s.Rows, s.N)
	}
	l.be.Upload(*s.Vector, buf)
	return nil
}

// failed returns the error that made an upload or an Alloc fail.
func (l *loader) failed() error {
	if err := l.be.Flush(); err != nil {
		return err
	}
	return fmt.Errorf("device gave no memory and no error")
}

// undo frees what was uploaded, and what the uploads passed through.
func (l *loader) undo() {
	for _, m := range l.matrices {
		l.be.FreeWeight(*m)
		*m = nil
	}
	for _, v := range l.vectors {
		l.be.Free(*v)
		*v = backend.Tensor{}
	}
	l.be.Flush() //nolint:errcheck // what the data passed through is given back; the error is another
}

// DecodeTensor returns the elements of a tensor of any shape as f32, in the file's order.
func DecodeTensor(f *gguf.File, name string) ([]float32, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("tensor %q: missing", name)
	}
	format, err := FormatOf(t.Type)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	var dst []float32
	err = f.View(t, func(data []byte) error {
		if len(data)%format.BlockBytes() != 0 {
			return fmt.Errorf("tensor %q: found %d bytes, expected a multiple of %d", name, len(data), format.BlockBytes())
		}
		dst = make([]float32, len(data)/format.BlockBytes()*format.Block())
		return Decode(dst, format, data) // of lengths that fit: no error
	})
	if err != nil {
		return nil, err
	}
	return dst, nil
}
