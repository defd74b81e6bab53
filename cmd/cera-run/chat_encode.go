package main

import (
	"strings"

	"cera/chat"
	"cera/tokenizer"
)

// conversation turns messages into token ids.
type conversation struct {
	template *chat.Template
	tok      *tokenizer.Tokenizer
	messages []chat.Message
	specials []string // the texts of the control tokens
	bos, eos string
}

func newConversation(t *chat.Template, tok *tokenizer.Tokenizer) *conversation {
	c := &conversation{template: t, tok: tok, bos: tok.Token(tok.BOS()), eos: tok.Token(tok.EOS())}
	for id := range int32(tok.Len()) {
		if text := tok.Token(id); tok.IsSpecial(id) && text != "" {
			c.specials = append(c.specials, text)
		}
	}
	return c
}

// ids are the tokens of the conversation and of what begins an answer. Control tokens that the template writes are
// recognised; what looks like one in a message stays text. The model's BOS is put in front if it wants one and the
// template writes none. No EOS is added: the answer goes on from here.
func (c *conversation) ids() ([]int32, error) {
	messages, mark, err := chat.Shield(c.messages, c.specials)
	if err != nil {
		return nil, err
	}
	text, err := c.template.Render(messages, chat.Options{AddGenerationPrompt: true, BOS: c.bos, EOS: c.eos})
	if err != nil {
		return nil, err
	}
	var ids []int32
	if mark == 0 {
		ids = c.tok.Encode(text, tokenizer.EncodeOptions{Parse: tokenizer.ParseAll})
	} else {
		ids = c.encode(chat.Unshield(text, mark, c.specials))
	}
	if bos := c.tok.BOS(); c.tok.AddsBOS() && (len(ids) == 0 || ids[0] != bos) {
		ids = append([]int32{bos}, ids...)
	}
	return ids, nil
}

// encode gives the same ids as Encode does of the whole text, but for what is shielded.
func (c *conversation) encode(pieces []chat.Piece) (ids []int32) {
	strip := false
	for _, p := range pieces {
		if p.Special {
			special := c.tok.Encode(p.Text+" ", tokenizer.EncodeOptions{Parse: tokenizer.ParseAll})
			ids = append(ids, special[0])
			strip = len(special) == 1 // the token takes the white space after it
			continue
		}
		if strip {
			p.Text = strings.TrimLeft(p.Text, " \t\n\v\f\r")
		}
		strip = false
		ids = append(ids, c.tok.Encode(p.Text, tokenizer.EncodeOptions{Parse: tokenizer.ParseUserDefined})...)
	}
	return ids
}
