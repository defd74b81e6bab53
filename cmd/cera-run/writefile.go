package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// writeFile makes the file at path from what write writes; after an error there is what was there before.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	} else if err == nil && !info.Mode().IsRegular() {
		// A device or a pipe is written to: a file must not take its place.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return writeAndClose(f, write)
	}
	tmp := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = writeAndClose(f, write)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeAndClose(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
