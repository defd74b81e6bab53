package chat

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// MaxTemplate is the size in bytes of the largest template, and MaxOutput that of the longest text it may write.
const (
	MaxTemplate = 1 << 20
	MaxOutput   = 16 << 20
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant, or what else the template knows
	Content string `json:"content"`
}

// Options are what a template is told beside the messages.
type Options struct {
	AddGenerationPrompt bool      // end with what begins an answer
	BOS, EOS            string    // the texts of the tokens that begin and end a text; empty where there are none
	Now                 time.Time // for strftime_now; zero: the time of the call
}

// Template is a chat template, ready to be rendered. It does not change after New, and may be used by several
// goroutines at a time.
type Template struct {
	name   string
	body   []stmt
	limits limits
}

// limits of one rendering.
type limits struct {
	steps  int // evaluations of an expression or a statement
	made   int // bytes of strings and lists that are made or looked through on the way
	output int // bytes
	depth  int // of expressions, statements, macros and data within one another
}

var defaultLimits = limits{steps: 1 << 24, made: 1 << 28, output: MaxOutput, depth: 1000}

// Error says what is wrong with a template, or what it refuses.
type Error struct {
	Template string // its name
	Line     int    // 0 where no line is to blame
	Msg      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("chat template %q: %s", e.Template, e.Msg)
	}
	return fmt.Sprintf("chat template %q, line %d: %s", e.Template, e.Line, e.Msg)
}

// failure is an Error on its way to New or Render, as a panic: an interpreter would otherwise hand errors up through
// every function that it has.
type failure struct {
	line int
	msg  string
}

// caught turns a failure into the *Error of a template.
func caught(name string, err *error) {
	switch v := recover().(type) {
	case nil:
	case failure:
		*err = &Error{name, v.line, v.msg}
	case runtime.Error:
		// A mistake of this package must not end a program over a file's content.
		*err = &Error{name, 0, "internal error: " + v.Error()}
	default:
		panic(v)
	}
}

// New reads a template. An error is an *Error with the line that is wrong.
func New(name, text string) (t *Template, err error) {
	defer caught(name, &err)
	if len(text) > MaxTemplate {
		panic(failure{0, fmt.Sprintf("it has %d bytes, expected at most %d", len(text), MaxTemplate)})
	}
	p := &parser{tokens: lex(text)}
	body := p.body()
	if t := p.peek(); t.kind == tokenStatement {
		p.fail("unexpected %q", p.at(1).text)
	}
	return &Template{name, body, defaultLimits}, nil
}

// Name returns the name that New was given.
func (t *Template) Name() string { return t.name }

// Render writes a conversation. An error is an *Error: what the template cannot do, what it refuses by raise_exception,
// or that it goes on for too long.
func (t *Template) Render(messages []Message, o Options) (text string, err error) {
	defer caught(t.name, &err)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	r := &run{limits: t.limits, now: o.Now, out: new(strings.Builder), scope: newScope(nil)}
	items := make([]any, len(messages))
	for i, m := range messages {
		d := newDict()
		d.set("role", m.Role)
		d.set("content", m.Content)
		items[i] = d
	}
	for name, v := range map[string]any{
		"messages": &list{items: items}, "add_generation_prompt": o.AddGenerationPrompt, "bos_token": o.BOS,
		"eos_token": o.EOS,
		"tools":     nil, "documents": nil,
	} {
		r.scope.vars[name] = v
	}
	r.block(t.body)
	return r.out.String(), nil
}
