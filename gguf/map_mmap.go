//go:build !js && !wasip1

package gguf

import (
	"os"

	"github.com/edsrzf/mmap-go"
)

// attach maps file, whose size is not zero, into p. The mapping outlives the file handle.
func (p *part) attach(file *os.File) error {
	m, err := mmap.Map(file, mmap.RDONLY, 0)
	if err != nil {
		file.Close()
		return err
	}
	p.mapped, p.close = m, m.Unmap
	file.Close() // it was only read
	return nil
}
