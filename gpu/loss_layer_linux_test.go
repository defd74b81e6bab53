//go:build cgo

package gpu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
)

// failing plays a program whose driver fails at some time. It prints what came of that and returns its exit code.
func failing() int {
	b, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		fmt.Println("open:", err)
		return 77
	}
	x := b.Alloc("x", 64, 1024)
	data := make([]byte, 48<<20)
	for range 12 {
		w := b.LoadWeight("large", backend.F32, len(data)/4096, 1024, data)
		b.Scale(x, 2)
		if err = b.Flush(); err != nil {
			break
		}
		b.FreeWeight(w)
	}
	fmt.Println("first:", err)
	b.Scale(x, 2)
	fmt.Println("then:", b.Read(make([]float32, 64<<10), x), errors.Is(err, ErrLost))
	b.Close()
	fmt.Println("closed")
	return 0
}

// A driver that fails for real, in a submit, in a poll or for want of memory, gives errors and no abort.
func TestDriverFails(t *testing.T) {
	b := open(t, Options{})
	second := "first: gpu: " // What maps memory second depends on the device; a software adapter's is known.
	if b.Info().Software {
		second = "first: gpu: LoadWeight: large"
	}
	b.Close()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED: no C compiler to build the failing layer with")
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "failing.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-w", "-o", lib,
		"testdata/failing_layer.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	manifest := `{"file_format_version": "1.0.0", "layer": {"name": "VK_LAYER_CERA_failing", "type": "GLOBAL", "library_path": "` + lib +
		`", "api_version": "1.1.0", "implementation_version": "1", "description": "fails"}}`
	if err := os.WriteFile(filepath.Join(dir, "failing.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fails string
		at    int
		first string // what the first error says; "<nil>" where nothing fails
		then  string
	}{
		{"nothing", 1, "first: <nil>", "then: <nil> false"},
		{"submit", 1, "device lost", "device lost"},
		{"submit", 5, "device lost", "device lost"},
		{"poll", 1, "device lost", "device lost"},
		{"poll", 9, "device lost", "device lost"},
		{"allocate", 2, "memory", ""},
		{"allocate", 3, "memory", ""},
		{"allocate", 4, "memory", ""},
		{"map", 2, second, ""},
		// Whose memory comes later depends on how soon the ring's buffers are free again.
		{"map", 4, "first: gpu: ", ""},
		{"map", 9, "first: gpu: ", ""},
	} {
		t.Run(fmt.Sprintf("%s %d", c.fails, c.at), func(t *testing.T) {
			out, err := child("failing", "VK_LAYER_PATH="+dir, "VK_INSTANCE_LAYERS=VK_LAYER_CERA_failing",
				"LAYER_FAILS="+c.fails, fmt.Sprint("LAYER_AT=", c.at))
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := map[string]string{}
			for line := range strings.Lines(out) { // the library prints its own beside
				if key, rest, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
					lines[key] = key + ":" + rest
				}
			}
			if !strings.Contains(lines["first"], c.first) || !strings.Contains(lines["then"], c.then) ||
				!strings.Contains(out, "closed\n") {
				t.Errorf("found %s", out)
			}
			if lost := c.first == "device lost"; lost != strings.HasSuffix(lines["then"], " true") {
				t.Errorf("ErrLost: found %q", lines["then"])
			}
		})
	}
}
