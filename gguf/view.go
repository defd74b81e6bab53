package gguf

import (
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"
)

// ErrChanged is inside the error about a file that lost bytes while it was open.
var ErrChanged = errors.New("the file changed while it was open")

// View calls use with the bytes that Data returns for t, and returns its error. A file may shrink while it is mapped,
// or its disk fail: to touch what is no longer there would end the program. Within use, on the goroutine that it is
// called on, it ends use with an error that names file and tensor. Code that is not Go's, to which use hands the bytes,
// is not protected; nor are other goroutines, unless they pass their panics on to this one.
func (f *File) View(t *Tensor, use func(data []byte) error) error {
	data, err := f.Data(t)
	if err != nil {
		return err
	}
	return f.parts[t.Part].guard(fmt.Sprintf("tensor %q", t.Name), func() error { return use(data) })
}

// shrunk is an error if the file has become shorter than it was.
func (p *part) shrunk() error {
	if p.file == nil {
		return nil
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < p.size {
		return fmt.Errorf("%w: it has %d bytes, it had %d; load it again once nothing writes to it", ErrChanged,
			info.Size(), p.size)
	}
	return nil
}

// guard calls read, which reads from the mapping. Where the mapping has lost its file, the error says so.
func (p *part) guard(what string, read func() error) (err error) {
	if p.mapped == nil {
		return read()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		fault, ok := cause.(interface{ Addr() uintptr })
		start := uintptr(unsafe.Pointer(unsafe.SliceData(p.mapped)))
		if !ok || fault.Addr() < start || fault.Addr()-start >= uintptr(len(p.mapped)) {
			panic(cause) // not of the mapping's making
		}
		if err = p.shrunk(); err == nil {
			err = errors.New("the file cannot be read")
		}
		err = fmt.Errorf("gguf: %s%s: at byte %d: %w", p.prefix(), what, fault.Addr()-start, err)
	}()
	err = read()
	// The last page of a file that shrank reads as zeros and does not fault, so that read may not have noticed.
	if changed := p.shrunk(); changed != nil {
		err = fmt.Errorf("gguf: %s%s: %w", p.prefix(), what, changed)
	}
	return err
}
