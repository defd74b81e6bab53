package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"cera/chat"
	"cera/trace"
)

// chatSchema names the form of the JSON that /save writes.
const chatSchema = "cera-chat-1"

// maxChat is how many bytes a conversation that is loaded may have.
const maxChat = 64 << 20

type savedChat struct {
	Schema   string         `json:"schema"`
	Messages []chat.Message `json:"messages"`
}

const chatHelp = `/reset         forget the conversation, but for the system message
/save FILE     write the conversation to a file that is not there yet
/save! FILE    write it, in place of what is there
/load FILE     go on with a conversation that was saved
/help          this
/quit          end, as Ctrl-D and Ctrl-C do
A line that ends in a backslash goes on. """ begins and ends a message of several lines.
`

// command does what a line that begins with a slash asks for.
func (t *talk) command(line string) error {
	name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
	path = strings.TrimSpace(path)
	takesFile := name == "/save" || name == "/save!" || name == "/load"
	if takesFile && path == "" {
		return fmt.Errorf("%s: expected the name of a file", name)
	}
	if !takesFile && path != "" {
		return fmt.Errorf(`%q is no command; put """ around a message that begins with a slash`, line)
	}
	switch name {
	case "/help":
		_, err := io.WriteString(t.notes, chatHelp)
		return err
	case "/quit", "/exit":
		return errQuit
	case "/reset":
		kept := 0
		if len(t.messages) > 0 && t.messages[0].Role == "system" {
			kept = 1
		}
		t.messages = t.messages[:kept]
		return nil
	case "/save", "/save!":
		if err := saveChat(path, t.messages, name == "/save!"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(t.notes, "[%d messages written to %s]\n", len(t.messages), printable(path))
		return nil
	case "/load":
		messages, err := loadChat(path)
		if err != nil {
			return fmt.Errorf("/load: %w", err)
		}
		t.messages = messages
		fmt.Fprintf(t.notes, "[%d messages read from %s]\n", len(messages), printable(path))
		return nil
	}
	return fmt.Errorf(`%q is no command, /help lists them; put """ around a message that begins with a slash`, name)
}

// saveChat writes a conversation under another name and renames it. It takes the place of a file only if told to.
func saveChat(path string, messages []chat.Message, replace bool) error {
	if _, err := os.Lstat(path); err == nil && !replace {
		return fmt.Errorf("%s is there already; /save! takes its place", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if messages == nil {
		messages = []chat.Message{}
	}
	return trace.WriteFile(path, func(w io.Writer) error { return writeJSON(w, savedChat{chatSchema, messages}) })
}

func loadChat(path string) ([]chat.Message, error) {
	text, err := readLimited(path, maxChat)
	if err != nil {
		return nil, err
	}
	var c savedChat
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: it is no conversation: %w", path, err)
	}
	if c.Schema != chatSchema {
		return nil, fmt.Errorf("%s: its schema is %q, expected %q", path, c.Schema, chatSchema)
	}
	for i, m := range c.Messages {
		if m.Role == "" {
			return nil, fmt.Errorf("%s: message %d has no role", path, i)
		}
	}
	return c.Messages, nil
}
