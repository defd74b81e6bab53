package grammar

import "fmt"

// Matcher follows a text through a grammar, piece by piece. A piece may end within a character. What has been accepted
// can always be completed to a whole text. A Matcher is not for use by several goroutines at a time; different ones of
// one Grammar may be.
type Matcher struct {
	g *Grammar
	s *state
}

// Matcher returns a Matcher at the start of the text.
func (g *Grammar) Matcher() *Matcher {
	m := &Matcher{g: g}
	m.Reset()
	return m
}

// Reset goes back to the start.
func (m *Matcher) Reset() { m.s = nil }

// Clone returns a copy that goes on by itself.
func (m *Matcher) Clone() *Matcher { c := *m; return &c }

// state returns the state, which is found only when it is needed.
func (m *Matcher) state() (*state, error) {
	if m.s != nil {
		m.g.auto.work = 0
		return m.s, nil
	}
	s, err := m.g.auto.start()
	if err == nil {
		m.s = s
	}
	return s, err
}

// follow returns the state after a piece, and how much of the piece is allowed.
func (m *Matcher) follow(piece string) (s *state, n int, err error) {
	s, err = m.state()
	for n = 0; err == nil && n < len(piece); n++ {
		next, e := m.g.auto.advance(s, piece[n])
		if e != nil {
			return nil, n, e
		}
		if next.dead() {
			return nil, n, nil
		}
		s = next
	}
	return s, n, err
}

// Allowed reports whether the text may go on with a piece.
func (m *Matcher) Allowed(piece []byte) bool {
	m.g.auto.mu.Lock()
	defer m.g.auto.mu.Unlock()
	s, _, err := m.follow(string(piece))
	return err == nil && s != nil
}

// Advance goes on with a piece. If that is not allowed there is an error, and the Matcher is where it was.
func (m *Matcher) Advance(piece []byte) error { return m.advance(string(piece)) }

func (m *Matcher) advance(piece string) error {
	m.g.auto.mu.Lock()
	defer m.g.auto.mu.Unlock()
	s, n, err := m.follow(piece)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("grammar: byte %d of %.40q, 0x%02x, may not come here", n, piece, piece[n])
	}
	m.s = s
	return nil
}

// CanEnd reports whether the text may end here.
func (m *Matcher) CanEnd() bool {
	m.g.auto.mu.Lock()
	defer m.g.auto.mu.Unlock()
	s, err := m.state()
	return err == nil && s.accept
}

// MustEnd reports whether the text may not go on.
func (m *Matcher) MustEnd() bool {
	m.g.auto.mu.Lock()
	defer m.g.auto.mu.Unlock()
	s, err := m.state()
	return err == nil && len(s.configs) == 0
}
