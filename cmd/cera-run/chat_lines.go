package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// lineReader reads what someone types, a line at a time without its end. The end of the input is io.EOF.
type lineReader interface {
	readLine(prompt string) (string, error)
	// abandon makes the terminal usable while a readLine has not come back.
	abandon()
}

// openLines reads lines from a terminal, with editing, or from anything else as they come.
func openLines(in io.Reader, out, notes io.Writer) (lines lineReader, interactive bool) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &plainLines{bufio.NewReader(in)}, false
	}
	if !isTerminal(out) {
		out = notes // what is typed shows even if answers go to a file
	}
	return newTerminalLines(f, out), true
}

type plainLines struct{ r *bufio.Reader }

func (p *plainLines) readLine(string) (string, error) {
	line, err := p.r.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil // the last line may have no end
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), err
}

func (p *plainLines) abandon() {}

// terminalLines edits lines on a terminal. The terminal is in raw mode only while a line is read, so that an interrupt
// that comes while the model writes is a signal.
type terminalLines struct {
	fd int
	t  *term.Terminal

	mu    sync.Mutex
	state *term.State // to go back to; nil while the terminal is as it was
}

func newTerminalLines(in *os.File, out io.Writer) *terminalLines {
	return &terminalLines{fd: int(in.Fd()), t: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")}
}

func (l *terminalLines) readLine(prompt string) (string, error) {
	if w, h, err := term.GetSize(l.fd); err == nil && w > 0 && h > 0 {
		if err := l.t.SetSize(w, h); err != nil {
			return "", err
		}
	}
	l.mu.Lock()
	state, err := term.MakeRaw(l.fd)
	l.state = state
	l.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	defer l.abandon() // also if the terminal panics
	l.t.SetPrompt(prompt)
	line, err := l.t.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// abandon puts the terminal back as it was.
func (l *terminalLines) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != nil {
		term.Restore(l.fd, l.state) //nolint:errcheck // nothing is left to be done where this fails
		l.state = nil
	}
}

const (
	firstPrompt = "> "
	morePrompt  = "| "
	blockQuote  = `"""`
)

// line reads one line, unless a signal comes first: at the prompt it ends the talk.
func (t *talk) line(prompt string) (string, error) {
	type read struct {
		line string
		err  error
	}
	result := make(chan read, 1)
	go func() {
		line, err := t.lines.readLine(prompt)
		result <- read{line, err}
	}()
	select {
	case r := <-result:
		return r.line, r.err
	case <-t.signals:
		t.ended = true
		t.lines.abandon()
		if t.interactive {
			fmt.Fprintln(t.notes)
		}
		return "", errQuit
	}
}

// read reads a message of one or more lines, or a command.
func (t *talk) read() (text string, command bool, err error) {
	line, err := t.line(firstPrompt)
	if err == io.EOF {
		if t.interactive {
			fmt.Fprintln(t.notes)
		}
		return "", false, errQuit
	}
	if err != nil {
		return "", false, err
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), blockQuote); ok {
		text, err = t.block(rest)
		return text, false, err
	}
	command = strings.HasPrefix(line, "/")
	for !command && strings.HasSuffix(line, `\`) {
		text += strings.TrimSuffix(line, `\`) + "\n"
		if line, err = t.line(morePrompt); err == io.EOF {
			return strings.TrimSuffix(text, "\n"), false, nil
		} else if err != nil {
			return "", false, err
		}
	}
	return text + line, command, nil
}

// block reads up to the end of a message in triple quotes, which began on this line.
func (t *talk) block(line string) (string, error) {
	var b strings.Builder
	for {
		if last, ok := strings.CutSuffix(strings.TrimRight(line, " \t"), blockQuote); ok {
			b.WriteString(last)
			return strings.Trim(b.String(), "\n"), nil
		}
		b.WriteString(line + "\n")
		var err error
		if line, err = t.line(morePrompt); err == io.EOF {
			return "", errors.New(`the input ends within a message in """`)
		} else if err != nil {
			return "", err
		}
	}
}
