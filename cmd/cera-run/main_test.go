package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cera/engine"
	"cera/gguf"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cera-run": main})
}

func TestScripts(t *testing.T) {
	project, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sharedDir := filepath.Join(filepath.Dir(project), "shared")
	hasShared, hasGPU := true, true
	if _, err := os.Stat(sharedDir); err != nil {
		hasShared = false
		t.Logf("SKIPPED in the scripts, what reads %s: %v", sharedDir, err)
	}
	if be, err := engine.OpenDevice(engine.Options{Device: "gpu"}); err == nil {
		be.Close()
	} else if os.Getenv("CERA_REQUIRE_GPU") != "" {
		t.Fatal(err)
	} else {
		hasGPU = false
		t.Logf("SKIPPED in the scripts, what runs on the GPU: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ARCHS", filepath.Join(project, "testdata", "archs"))
			env.Setenv("SHARED", sharedDir)
			// The loader finds its drivers through these where they are set.
			for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "XDG_RUNTIME_DIR"} {
				if v, ok := os.LookupEnv(name); ok {
					env.Setenv(name, v)
				}
			}
			// A good file of an architecture that is not in the table.
			w := gguf.NewWriter()
			w.Set("general.architecture", "mamba")
			w.Add("token_embd.weight", gguf.F32, []uint64{2, 2}, make([]byte, 16))
			f, err := os.Create(filepath.Join(env.WorkDir, "mamba.gguf"))
			if err != nil {
				return err
			}
			_, err = w.WriteTo(f)
			return errors.Join(err, f.Close())
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "gpu":
				return hasGPU, nil
			case "shared":
				return hasShared, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		RequireExplicitExec: true,
	})
}

// exits runs a command and compares its exit code: exits CODE COMMAND [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// TestInterrupt cancels before the run: the command ends without a report.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, errOut := new(writer), new(writer)
	if code := run(ctx, []string{"--device", "cpu"}, out, errOut); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	if out.text != "" || errOut.text != "cera-run: interrupted\n" {
		t.Errorf("printed %q and %q", out.text, errOut.text)
	}
}

type writer struct{ text string }

func (w *writer) Write(b []byte) (int, error) {
	w.text += string(b)
	return len(b), nil
}
