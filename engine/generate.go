package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cera/backend"
	"cera/sample"
	"cera/tokenizer"
)

// GenerateOptions says how Generate goes on from a prompt. The zero value takes the likeliest token until the model
// ends its text or the context is full.
type GenerateOptions struct {
	Max        int               // tokens at most; 0: no limit
	Sample     sample.Params     // zero: the likeliest token
	LogProbs   bool              // Generated.LogProb is wanted, for which the host has to see all logits
	Constraint sample.Constraint // what may come next, as a grammar says; nil: everything
	Stop       []string          // texts that end the generation; they are not part of it
	IgnoreEnd  bool              // tokens that end a text do not end the generation
	Shift      bool              // a full context forgets the older half of what follows the first Keep tokens, and goes on
	Keep       int
}

// Generated is one token. Its text may be empty, where it is part of a character or may be part of a stop text, and
// then comes with a later token.
type Generated struct {
	ID   int32  `json:"id"`
	Text string `json:"text"`
	// by the model's own softmax; 0 where the device chose, see GenerateOptions.LogProbs
	LogProb float64              `json:"logprob"`
	Top     []sample.Alternative `json:"top,omitempty"`
}

// Finish says why a generation ended.
type Finish string

const (
	FinishEnd     Finish = "end"     // the model ended its text
	FinishStop    Finish = "stop"    // a stop text came
	FinishLength  Finish = "length"  // as many tokens as were asked for
	FinishContext Finish = "context" // the context is full
	FinishCancel  Finish = "cancel"  // the context.Context ended
)

// Tokenizer returns the tokenizer of the model's file.
func (e *Engine) Tokenizer(o tokenizer.Options) (*tokenizer.Tokenizer, error) {
	return tokenizer.New(e.file, o)
}

// Generate makes prompt the sequence, reusing what the cache has of it, and goes on. Each token goes to emit, whose
// error ends the generation. reused is how many tokens of the prompt were in the cache.
func (s *Session) Generate(ctx context.Context, tok *tokenizer.Tokenizer, prompt []int32, o GenerateOptions,
	emit func(Generated) error) (why Finish, reused int, err error) {
	if len(prompt) == 0 {
		return "", 0, errors.New("the prompt is empty, and the model has no token that begins a text")
	}
	sampler, err := sample.New(o.Sample, s.e.model.Vocab, sample.Options{
		Constraint: o.Constraint,
		TokenText:  func(id int32) string { return tok.Decode([]int32{id}, tokenizer.DecodeOptions{Continues: true}) },
	})
	if err != nil {
		return "", 0, err
	}
	if err := sampler.AcceptPrompt(prompt...); err != nil {
		return "", 0, err
	}
	g := &generation{s: s, tok: tok, o: o, sampler: sampler, emit: emit, text: newText(tok, prompt, o.Stop)}
	why, reused, err = g.run(ctx, prompt)
	if err == nil {
		err = g.flush()
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return FinishCancel, reused, g.flush()
	}
	return why, reused, err
}

// generation is one run of Generate.
type generation struct {
	s       *Session
	tok     *tokenizer.Tokenizer
	o       GenerateOptions
	sampler *sample.Sampler
	emit    func(Generated) error
	text    *text
	made    int
}

func (g *generation) run(ctx context.Context, prompt []int32) (Finish, int, error) {
	switch {
	case g.o.LogProbs:
	case g.sampler.Greedy():
		return g.runAhead(ctx, prompt, nil)
	case g.sampler.Ahead():
		p := g.o.Sample
		return g.runAhead(ctx, prompt, &drawer{g.sampler, backend.DrawParams{
			Temperature: float32(p.Temperature), TopK: float32(p.TopK), TopP: float32(p.TopP), MinP: float32(p.MinP),
		}})
	}
	logits, reused, err := g.s.Set(ctx, prompt)
	for err == nil {
		var choice sample.Choice
		if choice, err = g.sampler.Sample(logits); err != nil {
			break
		}
		var why Finish
		if why, err = g.take(Generated{ID: choice.ID, LogProb: choice.LogProb, Top: choice.Top}); err != nil ||
			why != "" {
			return why, reused, err
		}
		if why, err = g.room(ctx); err != nil || why != "" {
			return why, reused, err
		}
		logits, err = g.s.Eval(ctx, []int32{choice.ID})
	}
	return "", reused, err
}

// runAhead lets the device choose: the likeliest, or what d confirms.
func (g *generation) runAhead(ctx context.Context, prompt []int32, d *drawer) (why Finish, reused int, err error) {
	reused = g.s.keep(prompt)
	rest := prompt[reused:]
	for {
		n := g.s.Ctx() - g.s.Len() - len(rest) + 1
		if g.o.Max > 0 {
			n = min(n, g.o.Max-g.made)
		}
		if n <= 0 { // the prompt fills the context
			return "", reused, fmt.Errorf("%d tokens do not fit the context of %d with one more: ask for a longer one",
				g.s.Len()+len(rest), g.s.Ctx())
		}
		before := g.s.Len() + len(rest) // tokens in the cache once the next is chosen
		var failed error
		taken := 0
		err = g.s.ahead(ctx, rest, n, d, func(chosen []int32) bool {
			for _, id := range chosen {
				taken++
				if why, failed = g.take(Generated{ID: id}); why != "" || failed != nil {
					rest = []int32{id}
					return false
				}
				rest = []int32{id}
			}
			return true
		})
		// Steps that ran ahead are forgotten; the last token is not in the cache.
		g.s.Truncate(before + max(taken-1, 0))
		if err = errors.Join(err, failed); err != nil || why != "" {
			return why, reused, err
		}
		if why, err = g.room(ctx); err != nil || why != "" {
			return why, reused, err
		}
	}
}

// room makes room for one more token, or says that there is none.
func (g *generation) room(ctx context.Context) (Finish, error) {
	s := g.s
	if s.Len() < s.Ctx() {
		return "", nil
	}
	if !g.o.Shift {
		return FinishContext, nil
	}
	keep := min(max(g.o.Keep, 0), s.Ctx()/2)
	rest := s.tokens[keep:]
	kept := append(slices.Clone(s.tokens[:keep]), rest[len(rest)/2:]...)
	// What stays has other positions now, so that it is computed again: the same as a fresh run over it.
	s.Truncate(keep)
	return "", s.run(ctx, kept[keep:], nil, func(int) error { return nil })
}

// take adds a token; the answer says whether it was the last.
func (g *generation) take(t Generated) (Finish, error) {
	if !g.o.IgnoreEnd && g.tok.IsEOG(t.ID) {
		return FinishEnd, nil
	}
	g.made++
	if err := g.sampler.Accept(t.ID); err != nil {
		return "", err
	}
	text, stopped := g.text.add(t.ID)
	t.Text = text
	if err := g.emit(t); err != nil {
		return "", err
	}
	switch {
	case stopped:
		return FinishStop, nil
	case g.o.Max > 0 && g.made >= g.o.Max:
		return FinishLength, nil
	}
	return "", nil
}

// flush emits the text that was held back.
func (g *generation) flush() error {
	if text := g.text.rest(); text != "" {
		return g.emit(Generated{ID: tokenizer.None, Text: text})
	}
	return nil
}

// keep forgets what the sequence does not begin with as tokens do, and returns how many of them stay. The last of
// tokens never stays: it has to be run.
func (s *Session) keep(tokens []int32) (reused int) {
	for reused < min(len(s.tokens), len(tokens)-1) && s.tokens[reused] == tokens[reused] {
		reused++
	}
	s.Truncate(reused)
	return reused
}
