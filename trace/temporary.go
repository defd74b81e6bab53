package trace

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
)

// temporary has the names of the files that are being written and are not yet whole.
var temporary struct {
	sync.Mutex
	names     map[string]bool
	abandoned bool
}

// ErrAbandoned is what a write ends with after Abandon.
var ErrAbandoned = errors.New("the program is about to end")

// Abandon removes every file that is being written and is not whole yet, and lets none appear afterwards. It is for a
// program that ends at once, whatever its goroutines do; it cannot be taken back.
func Abandon() {
	temporary.Lock()
	defer temporary.Unlock()
	temporary.abandoned = true
	for name := range temporary.names {
		os.Remove(name) // nobody is left to be told
	}
	temporary.names = nil
}

// hold makes a temporary file and keeps its name until place or discard.
func hold(create func() (*os.File, error)) (*os.File, error) {
	temporary.Lock()
	defer temporary.Unlock()
	if temporary.abandoned {
		return nil, ErrAbandoned
	}
	f, err := create()
	if err != nil {
		return nil, err
	}
	if temporary.names == nil {
		temporary.names = map[string]bool{}
	}
	temporary.names[f.Name()] = true
	return f, nil
}

// beside makes a temporary file in the folder of path.
func beside(path string) (*os.File, error) {
	return hold(func() (*os.File, error) {
		return os.OpenFile(fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	})
}

// place gives a temporary file, which is whole and closed, its name.
func place(name, path string) error {
	temporary.Lock()
	defer temporary.Unlock()
	if temporary.abandoned {
		return ErrAbandoned
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	delete(temporary.names, name)
	return nil
}

// discard removes a temporary file.
func discard(name string) error {
	temporary.Lock()
	defer temporary.Unlock()
	if temporary.abandoned {
		return nil // it is gone
	}
	delete(temporary.names, name)
	return os.Remove(name)
}

// pieces writes a piece at a time: while a write is under way the system holds the file, and it could not be removed.
type pieces struct{ w io.Writer }

const pieceBytes = 1 << 20

func (p pieces) Write(b []byte) (int, error) {
	done := 0
	for {
		if gone() {
			return done, ErrAbandoned
		}
		n, err := p.w.Write(b[done:min(done+pieceBytes, len(b))])
		done += n
		if err != nil || done == len(b) {
			return done, err
		}
	}
}

func gone() bool {
	temporary.Lock()
	defer temporary.Unlock()
	return temporary.abandoned
}
