package main

import (
	"io"
	"os/signal"
	"reflect"
	"syscall"
	"testing"
	"time"
)

// TestSignalsTerminal: a talk at a terminal ends within a second of a signal, at the prompt and in the middle of an
// answer, and the terminal is as it was.
func TestSignalsTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		say     string // to the model, before the signals; empty: the prompt waits
		signals []syscall.Signal
		code    int
	}{
		"interrupt at the prompt":     {"", []syscall.Signal{syscall.SIGINT}, 0},
		"terminate at the prompt":     {"", []syscall.Signal{syscall.SIGTERM}, 0},
		"hang up at the prompt":       {"", []syscall.Signal{syscall.SIGHUP}, exitUsage},
		"terminate in an answer":      {"Once upon a time\r", []syscall.Signal{syscall.SIGTERM}, 0},
		"interrupt twice and go away": {"Once upon a time\r", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if c.signals[0] == syscall.SIGHUP && signal.Ignored(syscall.SIGHUP) {
				t.Skip("SKIPPED: the tests run under nohup or its like, where no program is to hear of this signal")
			}
			master, terminal := openPTY(t)
			before := stateOf(t, terminal)
			p := newProgram(t, "chat", "--device", "cpu", "--template", "chatml", "--ignore-end")
			p.Stdin, p.Stdout, p.Stderr = terminal, terminal, terminal
			shown := make(chan int, 1<<16) // bytes
			go func() {
				b := make([]byte, 4096)
				for {
					n, err := master.Read(b)
					if err != nil {
						return
					}
					shown <- n
				}
			}()
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer p.Process.Kill() //nolint:errcheck // it may have ended
			deadline := time.Now().Add(20 * time.Second)
			until := func(what string, done func() bool) {
				t.Helper()
				for !done() {
					if time.Now().After(deadline) {
						t.Fatalf("%s never came", what)
					}
					time.Sleep(time.Millisecond)
				}
			}
			raw := func() bool { return !reflect.DeepEqual(stateOf(t, terminal), before) }
			until("the prompt", raw)
			if c.say != "" {
				if _, err := io.WriteString(master, c.say); err != nil {
					t.Fatal(err)
				}
				until("the answer", func() bool { return !raw() && len(shown) > 4 })
			}
			for i, s := range c.signals {
				if i > 0 { // the answer stops, and the prompt comes back
					time.Sleep(50 * time.Millisecond)
				}
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			sent := time.Now()
			defer time.AfterFunc(30*time.Second, func() { p.Process.Kill() }).Stop() //nolint:errcheck // it may have ended
			p.Wait()                                                                 //nolint:errcheck // the exit code tells
			if took := time.Since(sent); took > interruptLimit {
				t.Errorf("it ended %v after the signal", took)
			}
			if code := p.ProcessState.ExitCode(); code != c.code && code != exitUsage {
				t.Errorf("it ended with %v, expected exit code %d", p.ProcessState, c.code)
			}
			if raw() {
				t.Error("the terminal is not as it was")
			}
			if left := p.left(t); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}
