//go:build cgo

package gpu

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cera/backend"
)

// openOnly is open for a device that a test loses: nothing is left over to check at the end.
func openOnly(t *testing.T) *Backend {
	t.Helper()
	open(t, Options{}).Close() // skips where there is none
	b, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// After the loss of its device, whenever that is, a backend does nothing more, says so at every Flush and Read, and
// closes without waiting.
func TestDeviceLost(t *testing.T) {
	for _, when := range []string{"idle", "recorded", "in an encoder", "submitted", "in a replay"} {
		t.Run(when, func(t *testing.T) {
			b := openOnly(t)
			x := filled(t, b, "x", 4, 64, func(r, i int) float32 { return 1 })
			y := b.Alloc("y", 4, 64)
			w := b.LoadWeight("w", backend.F32, 64, 64, make([]byte, 64*64*4))
			if err := b.Flush(); err != nil {
				t.Fatal(err)
			}
			again := b.Record(func() { b.Scale(x, 2) })
			switch when {
			case "idle":
				if err := b.Flush(); err != nil {
					t.Fatal(err)
				}
			case "recorded":
				b.MatMul(y, x, w)
			case "in an encoder":
				b.MatMul(y, x, w)
				b.Copy(y, x)
			case "submitted":
				b.MatMul(y, x, w)
				b.submit("test")
			case "in a replay":
				again()
			}
			b.events.tell(true, "the card was\n unplugged")
			start := time.Now()
			for range 3 {
				// Everything that may be called, and none of it may reach the library.
				again()
				b.MatMul(y, x, w)
				b.Upload(x, make([]float32, 256))
				b.Copy(y, x)
				b.Scale(x, 3)
				b.Free(b.Alloc("z", 1, 4))
				if w := b.LoadWeight("late", backend.F32, 1, 4, make([]byte, 16)); w != nil {
					t.Error("a weight was loaded")
				}
				for what, err := range map[string]error{"Flush": b.Flush(), "Read": b.Read(make([]float32, 256), x),
					"empty Read": b.Read(nil, x.Slice(1, 1))} {
					if !errors.Is(err, ErrLost) ||
						!strings.Contains(err.Error(), "device lost: the card was unplugged") {
						t.Errorf("%s: found %v", what, err)
					}
				}
			}
			b.Free(x)
			b.FreeWeight(w)
			b.Close()
			b.Close()
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// An error that the library tells outside of any call is the backend's error, once, and no end of the process.
func TestUncapturedError(t *testing.T) {
	b := open(t, Options{})
	x := filled(t, b, "x", 1, 4, func(_, i int) float32 { return float32(i) })
	b.events.tell(false, "something\nelse")
	b.Scale(x, 2) // not any more
	if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("found %v", err)
	}
	if got := read(t, b, x); got[3] != 3 {
		t.Errorf("found %v: an op ran after the error", got)
	}
}
