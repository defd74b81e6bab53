package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"cera/trace"
)

// output is standard output. Its first error stays: what comes after something that is lost must not be written, and
// the command must not say that all went well.
type output struct {
	w io.Writer

	mu  sync.Mutex // not held while w, which may wait for a reader, writes
	err error
}

// failed is the first error. What is typed in a talk is echoed by a goroutine of its own, which may outlive the command.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *output) Write(b []byte) (int, error) {
	if err := o.failed(); err != nil {
		return 0, err
	}
	n, err := o.w.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// writable is an error where a command could not write its file at path, so that this is known before the work and not
// after it. A model is not replaced: "check --report MODEL" has its page where no name was given.
func writable(path string) error {
	if err := trace.Writable(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it is there and cannot be read, but it can be replaced
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err == nil && string(magic) == "GGUF" {
		return fmt.Errorf("%s is a model, which would be lost: give another name, or remove it", path)
	}
	return nil
}
