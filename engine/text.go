package engine

import (
	"strings"

	"cera/tokenizer"
)

// text turns tokens into text as they come, and looks for stop texts across their borders: what may be the beginning of
// one is held back.
type text struct {
	decoder *tokenizer.Decoder
	stop    []string
	held    string
	stopped bool
}

// newText follows a prompt: what comes after text of it may begin with a space, what begins a text does not.
func newText(tok *tokenizer.Tokenizer, prompt []int32, stop []string) *text {
	continues := tok.Decode(prompt, tokenizer.DecodeOptions{}) != ""
	t := &text{decoder: tok.NewDecoder(tokenizer.DecodeOptions{Continues: continues})}
	for _, s := range stop {
		if s != "" {
			t.stop = append(t.stop, s)
		}
	}
	return t
}

// add returns the text that is certain once the token is there, and whether a stop text came.
func (t *text) add(id int32) (certain string, stopped bool) {
	t.held += t.decoder.Next(id)
	return t.take(false)
}

// rest returns what was held back.
func (t *text) rest() string {
	if t.stopped {
		return ""
	}
	t.held += t.decoder.Flush()
	certain, _ := t.take(true)
	return certain
}

func (t *text) take(all bool) (certain string, stopped bool) {
	if t.stopped {
		return "", true
	}
	end := len(t.held)
	for _, s := range t.stop {
		if at := strings.Index(t.held, s); at >= 0 {
			end, t.stopped = min(end, at), true
		}
	}
	if t.stopped {
		certain, t.held = t.held[:end], ""
		return certain, true
	}
	if !all {
		for _, s := range t.stop {
			// The longest end of what is held that a stop text begins with.
			for n := min(len(s)-1, len(t.held)); n > 0; n-- {
				if strings.HasSuffix(t.held, s[:n]) {
					end = min(end, len(t.held)-n)
					break
				}
			}
		}
	}
	certain, t.held = t.held[:end], t.held[end:]
	return certain, false
}
