//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cera/gguf"
	"cera/trace"
)

const (
	interruptRuns  = 2 // of each command on each device
	interruptDelay = 1500 * time.Millisecond
	interruptLimit = time.Second // from the signal to the end
	// A machine with other work may hold a process for longer: a command that takes too long is tried again, and fails
	// where it takes too long each time.
	interruptTries = 3
)

// interruptCase is a command that takes a while.
type interruptCase struct {
	name  string
	args  []string
	stdin bool                    // a pipe that stays open, with one message in it
	out   string                  // the file that it writes
	whole func(path string) error // says why a file is not whole
	json  bool                    // stdout is one JSON value
	text  bool                    // stdout may have a part of it
}

func interruptCases(model, large, tokens string) []interruptCase {
	isTrace := func(path string) error { _, err := trace.Open(path); return err }
	isModel := func(path string) error {
		f, err := gguf.Open(path)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	isPage := func(string) error { return nil }
	return []interruptCase{
		{name: "check", args: []string{"check", "--json", "--tokens", tokens, model}, json: true},
		{name: "check every op", args: []string{"check", "--ops", "all", "--drift", "--json", model}, json: true},
		{name: "check paths", args: []string{"check", "--paths", "--json", model}, json: true},
		{name: "report", args: []string{"check", "--quiet", "--drift", "--report", "page.html", "--tokens", tokens,
			model}, out: "page.html", whole: isPage},
		{name: "dump", args: []string{"dump", "--out", "t.npz", "--tokens", tokens, model}, out: "t.npz",
			whole: isTrace},
		{name: "generate", args: []string{"generate", "-n", "0", "--ignore-end", "--ctx", "2000", "-p", "Tom"},
			text: true},
		{name: "bench", args: []string{"bench", "-o", "json", "-p", "500", "-n", "60", model}, json: true},
		{name: "load", args: []string{"bench", "-o", "json", "-p", "0", "-n", "0", large}, json: true},
		{name: "chat", args: []string{"chat", "--template", "chatml", "--ignore-end"}, stdin: true, text: true},
		{name: "quantize", args: []string{"quantize", model, "out.gguf", "Q4_K"}, out: "out.gguf", whole: isModel},
		{name: "random", args: []string{"random", "1B", "Q8_0", "out.gguf"}, out: "out.gguf", whole: isModel},
		{name: "validate", args: []string{"inspect", "--validate", "--json", model}, json: true},
	}
}

// TestSignals: whatever a command does, it ends within a second of a signal; what it was about to write is whole or not
// there, and so is what it prints.
func TestSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	model := mediumModel(t)
	tokens := strings.TrimSuffix(strings.Repeat("1,2,3,4,5,6,7,", 70), ",")
	devices := []string{"cpu"}
	if haveGPU(t) {
		devices = append(devices, "gpu")
	}
	runs := interruptRuns
	if os.Getenv("CERA_FULL") == "" {
		runs = 1
	}
	for k, c := range interruptCases(model, largeModel(t), tokens) {
		for d, device := range devices {
			args := slices.Clone(c.args)
			switch args[0] {
			case "quantize", "random", "inspect": // they run on no device
				if device != "cpu" {
					continue
				}
				device = "no device"
			default:
				args = append(args, "--device", device)
			}
			t.Run(c.name+"/"+device, func(t *testing.T) {
				for i := range runs {
					sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[(i+k+d)%2]
					delay := time.Duration(rand.Int64N(int64(interruptDelay)))
					took := time.Duration(0)
					for try := range interruptTries {
						if took = interruptOnce(t, c, args, sig, delay); took <= interruptLimit {
							break
						}
						t.Logf("try %d: it ended %v after the signal", try+1, took)
					}
					if took > interruptLimit {
						t.Errorf("%v after %v: it ended %v after the signal", sig, delay, took)
					}
				}
			})
		}
	}
}

// listens tells whether a process handles signals already: it ignores SIGPIPE from then on.
func listens(pid int, since time.Duration) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return since > 300*time.Millisecond // where the system does not tell
	}
	_, mask, _ := strings.Cut(string(text), "\nSigIgn:")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && bits>>(syscall.SIGPIPE-1)&1 == 1
}

// interruptOnce runs a command, sends it a signal after a while, and returns how long it took to end.
func interruptOnce(t *testing.T, c interruptCase, args []string, sig syscall.Signal,
	delay time.Duration) time.Duration {
	t.Helper()
	p := newProgram(t, args...)
	if c.stdin {
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "Once upon a time\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(delay)
	ready := listens(p.Process.Pid, delay)
	sent := time.Now()
	p.Process.Signal(sig) //nolint:errcheck // it may have ended
	timer := time.AfterFunc(20*time.Second, func() { p.Process.Kill() })
	err := p.Wait()
	took := time.Since(sent)
	timer.Stop()
	say := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%v after %v: "+format+"\nstderr: %.400s",
			append(append([]any{sig, delay}, args...), p.stderr.String())...)
	}
	t.Logf("%v after %v: %v, in %v", sig, delay.Round(time.Millisecond), p.ProcessState, took.Round(time.Millisecond))
	code := p.ProcessState.ExitCode()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() && !ready {
		code = exitUsage // there was nobody yet who could have printed or written something
	} else if code == exitUsage && !strings.HasSuffix(p.stderr.String(), interrupted+"\n") {
		say("it does not say that it was interrupted")
	}
	if code != 0 && code != exitUsage {
		say("it ended with %v", p.ProcessState)
	}
	left := p.left(t)
	switch {
	case code == 0 && c.out != "":
		if !slices.Equal(left, []string{c.out}) {
			say("it left %v, expected %s", left, c.out)
		} else if err := c.whole(filepath.Join(p.dir, c.out)); err != nil {
			say("%v", err)
		}
	case len(left) > 0:
		say("it left %v", left)
	}
	switch {
	case c.json && code == 0:
		if !json.Valid(p.stdout.Bytes()) {
			say("half a record: %.300s", p.stdout.String())
		}
	case !c.text && p.stdout.Len() > 0:
		say("it printed %.300q", p.stdout.String())
	}
	return took
}
