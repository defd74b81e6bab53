//go:build js || wasip1

package gguf

import "os"

// attach makes p read from file: there is no mmap here.
func (p *part) attach(file *os.File) error {
	p.file, p.r, p.close = file, file, file.Close
	return nil
}
