package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"cera/chat"
	"cera/engine"
)

// talk is a conversation with someone at a terminal, or with what a pipe says.
type talk struct {
	*conversation
	session     *engine.Session
	options     engine.GenerateOptions
	lines       lineReader
	interactive bool // what goes wrong is said, and the talk goes on
	signals     <-chan os.Signal
	out, notes  io.Writer
	ended       bool   // by a signal that does not stop an answer alone
	force       func() // ends the program where an answer does not end; nil: nothing does
}

// errQuit ends a talk.
var errQuit = errors.New("quit")

// run talks until there is no more input.
func (t *talk) run(ctx context.Context) error {
	for !t.ended {
		err := t.turn(ctx)
		if errors.Is(err, errQuit) {
			break
		}
		if err == nil {
			continue
		}
		if !t.interactive {
			return err
		}
		fmt.Fprintf(t.notes, "error: %s\n", printable(strings.TrimSpace(err.Error())))
		if device := (*engine.DeviceError)(nil); errors.As(err, &device) || errors.Is(err, engine.ErrClosed) {
			return err
		}
	}
	return nil
}

// turn reads a message or a command and does what it asks for.
func (t *talk) turn(ctx context.Context) error {
	text, command, err := t.read()
	switch {
	case err != nil:
		return err
	case command:
		return t.command(text)
	case strings.TrimSpace(text) == "":
		return nil
	}
	before := len(t.messages)
	t.messages = append(t.messages, chat.Message{Role: "user", Content: text})
	ids, err := t.fit()
	if err != nil {
		t.messages = t.messages[:before]
		return err
	}
	return t.answer(ctx, ids)
}

// fit returns the ids of the conversation if there is room for an answer. With --shift the oldest turns are forgotten
// to make it.
func (t *talk) fit() ([]int32, error) {
	messages, dropped := t.messages, 0
	for {
		ids, err := t.ids()
		if err != nil || len(ids) < t.session.Ctx() {
			if err == nil && dropped > 0 {
				fmt.Fprintf(t.notes, "[--shift: the oldest %d messages are forgotten]\n", dropped)
			}
			if err != nil {
				t.messages = messages
			}
			return ids, err
		}
		first := 0 // after a system message
		if t.messages[0].Role == "system" {
			first = 1
		}
		if !t.options.Shift || len(t.messages)-first < 3 {
			t.messages = messages
			return nil, t.full(len(ids))
		}
		kept := append([]chat.Message(nil), t.messages[:first]...)
		t.messages = append(kept, t.messages[first+2:]...)
		dropped += 2
	}
}

// full says that a conversation has no room for an answer, and what helps.
func (t *talk) full(n int) error {
	help := "/reset forgets it, --shift forgets its oldest turns by itself, --ctx N makes room for more"
	if t.options.Shift {
		help = "the last message alone is too long: --ctx N makes room for more"
	}
	return fmt.Errorf("the context is full: the conversation has %d tokens, and there is room for %d with an answer; %s",
		n, t.session.Ctx()-1, help)
}

// answer lets the model write until it ends its turn or an interrupt comes. What it wrote is part of the conversation.
func (t *talk) answer(ctx context.Context, ids []int32) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, heard := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case s := <-t.signals:
			cancel()
			heard <- s != os.Interrupt || !t.interactive
			select {
			case <-t.signals: // who asks twice does not want to wait
				if t.force != nil {
					t.force()
				}
			case <-done:
			}
		case <-done:
			heard <- false
		}
	}()
	var text strings.Builder
	o := t.options
	if o.Constraint != nil {
		o.Constraint = o.Constraint.Clone()
	}
	why, _, err := t.session.Generate(ctx, t.tok, ids, o, func(g engine.Generated) error {
		text.WriteString(g.Text)
		_, err := io.WriteString(t.out, printable(g.Text))
		return err
	})
	close(done)
	t.ended = <-heard
	if text.Len() == 0 && err != nil {
		t.messages = t.messages[:len(t.messages)-1] // so that the message can be said again
		return err
	}
	t.messages = append(t.messages, chat.Message{Role: "assistant", Content: text.String()})
	if _, lineErr := io.WriteString(t.out, "\n"); err == nil {
		err = lineErr
	}
	if err != nil {
		return err
	}
	switch why {
	case engine.FinishCancel:
		fmt.Fprintln(t.notes, "[stopped]")
	case engine.FinishLength:
		fmt.Fprintf(t.notes, "[stopped after %d tokens, as -n says]\n", o.Max)
	case engine.FinishContext:
		fmt.Fprintf(t.notes, "[the context of %d tokens is full, and the answer ends here: /reset forgets the "+
			"conversation, "+
			"--shift goes on without its beginning, --ctx N makes room for more]\n", t.session.Ctx())
	}
	return nil
}

// printable shows control characters in place of sending them: what a model or a file says must not drive a terminal.
// Line ends and tabs stay.
func printable(s string) string {
	control := func(c rune) bool { return c < 0x20 && c != '\n' && c != '\t' || 0x7f <= c && c < 0xa0 }
	if strings.IndexFunc(s, control) < 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if control(c) {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
