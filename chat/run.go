package chat

import (
	"fmt"
	"strings"
	"time"
)

// run is one rendering.
type run struct {
	limits limits
	now    time.Time
	out    *strings.Builder
	scope  *scope
	line   int // of what is evaluated
	depth  int
	steps  int
	bytes  int
}

// scope holds variables: a template's, a macro's, or those of one turn of a loop.
type scope struct {
	vars  map[string]any
	outer *scope
}

// scopeBytes is about what a scope takes: a macro may hold on to it.
const scopeBytes = 256

func newScope(outer *scope) *scope { return &scope{map[string]any{}, outer} }

func (s *scope) lookup(name string) (any, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	if f, ok := globals[name]; ok {
		return f, true
	}
	return nil, false
}

func (r *run) fail(format string, args ...any) {
	panic(failure{r.line, fmt.Sprintf(format, args...)})
}

// enter counts a step and goes one deeper; call the result to leave.
func (r *run) enter() func() {
	r.step()
	if r.depth++; r.depth > r.limits.depth {
		r.fail("it goes more than %d deep into itself", r.limits.depth)
	}
	return r.leave
}

func (r *run) leave() { r.depth-- }

func (r *run) step() {
	if r.steps++; r.steps > r.limits.steps {
		r.fail("it takes more than %d steps: it may not end", r.limits.steps)
	}
}

// made counts n bytes that are made or looked through, before that is done.
func (r *run) made(n int) {
	if n < 0 || n > r.limits.made-r.bytes {
		r.fail("it makes more than %d bytes on its way", r.limits.made)
	}
	r.bytes += n
}

// write appends to what is being rendered.
func (r *run) write(text string) {
	if len(text) > r.limits.output-r.out.Len() {
		r.fail("it writes more than %d bytes", r.limits.output)
	}
	r.made(len(text))
	r.out.WriteString(text)
}

// capture returns what f writes.
func (r *run) capture(f func()) string {
	out := r.out
	r.out = new(strings.Builder)
	f()
	text := r.out.String()
	r.out = out
	return text
}

func (r *run) eval(e expr) any {
	defer r.enter()()
	return e.eval(r)
}

// jump says how a block ended.
type jump uint8

const (
	jumpNone jump = iota
	jumpBreak
	jumpContinue
)

func (r *run) block(list []stmt) jump {
	defer r.enter()()
	for _, s := range list {
		r.step()
		if j := s.exec(r); j != jumpNone {
			return j
		}
	}
	return jumpNone
}

// in runs f with another scope.
func (r *run) in(s *scope, f func() jump) jump {
	old := r.scope
	r.scope = s
	j := f()
	r.scope = old
	return j
}
