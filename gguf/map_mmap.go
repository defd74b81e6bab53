//go:build !js && !wasip1

package gguf

import (
	"errors"
	"os"

	"github.com/edsrzf/mmap-go"
)

// attach maps file, whose size is not zero, into p. The handle stays open, to ask for the size of the file.
func (p *part) attach(file *os.File) error {
	m, err := mmap.Map(file, mmap.RDONLY, 0)
	if err != nil {
		file.Close()
		return err
	}
	p.file, p.mapped, p.size = file, m, int64(len(m)) // the file may have grown or shrunk since its size was asked for
	p.close = func() error { return errors.Join(m.Unmap(), file.Close()) }
	return nil
}
