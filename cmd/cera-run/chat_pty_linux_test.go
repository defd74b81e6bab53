package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/term"
)

// openPTY returns both ends of a terminal.
func openPTY(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: there is no terminal to be had: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	var unlock, number int32
	for request, v := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(v))); e != 0 {
			t.Skipf("SKIPPED: there is no terminal to be had: %v", e)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: there is no terminal to be had: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

func stateOf(t *testing.T, f *os.File) *term.State {
	t.Helper()
	s, err := term.GetState(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTerminal: lines are edited in raw mode, and the terminal is as it was after each, after Ctrl-C and Ctrl-D too.
func TestTerminal(t *testing.T) {
	master, terminal := openPTY(t)
	go io.Copy(io.Discard, master) //nolint:errcheck // what is echoed; it ends with the terminal
	lines, interactive := openLines(terminal, terminal, io.Discard)
	if !interactive {
		t.Fatal("a terminal was taken for a file")
	}
	before := stateOf(t, terminal)
	for _, c := range []struct {
		name, keys, want string
		err              error
	}{
		{"line", "hello\r", "hello", nil},
		{"editing", "hexlo\x1b[D\x1b[D\x7fl\x1b[C\x1b[C!\r", "hello!", nil},
		{"history", "\x1b[A\x1b[A\r", "hello", nil},
		{"characters", "é 漢\r", "é 漢", nil},
		{"Ctrl-C", "half\x03", "", io.EOF},
		{"Ctrl-D", "\x04", "", io.EOF},
	} {
		result := make(chan struct{})
		var got string
		var err error
		go func() {
			got, err = lines.readLine("> ")
			close(result)
		}()
		for reflect.DeepEqual(stateOf(t, terminal), before) { // the keys come when someone reads
			select {
			case <-result:
			case <-time.After(time.Millisecond):
				continue
			}
			break
		}
		if _, err := io.WriteString(master, c.keys); err != nil {
			t.Fatal(err)
		}
		select {
		case <-result:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: no line came", c.name)
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, expected %q, %v", c.name, got, err, c.want, c.err)
		}
		if !reflect.DeepEqual(stateOf(t, terminal), before) {
			t.Fatalf("%s: the terminal is not as it was", c.name)
		}
		if c.err != nil { // an end of the input stays one
			lines, _ = openLines(terminal, terminal, io.Discard)
		}
	}
	// A signal while a line is read.
	go lines.readLine("> ") //nolint:errcheck // it never comes
	for deadline := time.Now().Add(10 * time.Second); reflect.DeepEqual(stateOf(t, terminal),
		before); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the terminal never was in raw mode")
		}
	}
	lines.abandon()
	if !reflect.DeepEqual(stateOf(t, terminal), before) {
		t.Error("the terminal is not as it was after a signal")
	}
}

func TestPlainLines(t *testing.T) {
	lines, interactive := openLines(strings.NewReader("a\r\n\nlast"), io.Discard, io.Discard)
	if interactive {
		t.Error("text was taken for a terminal")
	}
	for _, want := range []string{"a", "", "last"} {
		if got, err := lines.readLine("> "); got != want || err != nil {
			t.Errorf("%q, %v, expected %q", got, err, want)
		}
	}
	if _, err := lines.readLine("> "); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
