package main

import "io"

// output is standard output. Its first error stays: what comes after something that is lost must not be written, and the
// command must not say that all went well.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}
