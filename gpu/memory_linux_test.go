//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// fillMemory plays a program whose software adapter may take 1 GiB more: it allocates until there is no more, and
// then works on with what it has. It returns its exit code.
func fillMemory() int {
	b, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil || !b.Info().Software {
		return 77
	}
	x := b.Alloc("x", 1, 4)
	w := make([]byte, 64<<20)
	var pages uint64
	statm, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(statm), &pages)
	limit := pages*uint64(os.Getpagesize()) + 1<<30
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return 77
	}
	for range 100 {
		b.LoadWeight("large", 0, len(w)/4096, 1024, w)
		if err := b.Flush(); err != nil {
			fmt.Println(err)
			break
		}
	}
	if err := b.Read(make([]float32, 4), x); err != nil {
		fmt.Println("afterwards:", err)
		return 1
	}
	b.Close()
	return 0
}

// Running out of memory is an error that names the tensor, and leaves the backend usable.
func TestOutOfMemory(t *testing.T) {
	out, err := child("memory")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skip("SKIPPED: only a software adapter's memory can be limited")
	}
	if err != nil || !strings.Contains(out, "large, ") || !strings.Contains(out, "memory") || strings.Count(out, "\n") != 1 {
		t.Errorf("found %v and output %q", err, out)
	}
}
