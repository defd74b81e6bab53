//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cera/engine"
	"cera/tinymodel"
)

// program is a run of cera-run in a process of its own, with an empty folder to work in and another for temporary
// files.
type program struct {
	*exec.Cmd
	dir, temp      string
	stdout, stderr bytes.Buffer
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command("cera-run", args...), dir: t.TempDir(), temp: t.TempDir()}
	p.Dir, p.Stdout, p.Stderr = p.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "TMPDIR="+p.temp)
	if os.Getenv("GORACE") == "" {
		p.Env = append(p.Env, "GORACE=atexit_sleep_ms=0") // with the race detector the end of a program waits for a second
	}
	return p
}

// left lists what is in both folders.
func (p *program) left(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, dir := range []string{p.dir, p.temp} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
	}
	return names
}

// mediumModel writes a model that takes a while: 30 MB, and a second or more for a batch of 500 tokens.
func mediumModel(t *testing.T) string {
	t.Helper()
	return shapedModel(t, tinymodel.Shape{
		Name: "medium", Layers: 4, Dim: 512, FF: 2048, Heads: 8, KVHeads: 4, HeadDim: 64, Vocab: 4096, Ctx: 1024, Tied: true,
	})
}

// largeModel writes a model of 310 MB, which a software adapter takes a while to load.
func largeModel(t *testing.T) string {
	t.Helper()
	return shapedModel(t, tinymodel.Shape{
		Name: "large", Layers: 8, Dim: 1024, FF: 4096, Heads: 16, KVHeads: 8, HeadDim: 64, Vocab: 32000, Ctx: 1024, Tied: true,
	})
}

// shapedModel writes a model in halves with random weights.
func shapedModel(t *testing.T, shape tinymodel.Shape) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), shape.Name+".gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	halves, err := tinymodel.MixByName("F16")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tinymodel.WriteShape(f, shape, halves, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// haveGPU tells whether the GPU can be tested; where it must be, that it cannot is a failure.
func haveGPU(t *testing.T) bool {
	t.Helper()
	be, err := engine.OpenDevice(engine.Options{Device: "gpu"})
	if err == nil {
		be.Close()
		return true
	}
	if os.Getenv("CERA_REQUIRE_GPU") != "" {
		t.Fatal(err)
	}
	t.Logf("SKIPPED, nothing was tested on the GPU: %v", err)
	return false
}
