//go:build unix

package trace

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestWritablePipe: a pipe is not opened, which would wait for its reader, and end what it reads.
func TestWritablePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Skipf("SKIPPED: no pipes here: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- Writable(path) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for a reader")
	}
}
