//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreWrites makes what a write cannot do an error of the write and no signal: a pipe whose reader is gone, a file at
// the limit of its size. What is half written can then be removed.
func ignoreWrites() { signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ) }
