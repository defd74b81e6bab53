package gguf

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// window is how much of a file that is not mapped is read at a time.
const window = 1 << 16

// cursor reads the fields of a part in order. Every read is checked against the bytes left before it happens.
type cursor struct {
	p     *part
	off   int64  // of the next field
	buf   []byte // the bytes from start on, unless the part is mapped
	start int64
}

func (c *cursor) left() int64 { return c.p.size - c.off }

// next returns the next n <= window bytes, valid until the next call.
func (c *cursor) next(n int, what string) ([]byte, error) {
	if int64(n) > c.left() {
		return nil, c.p.errorf(c.off, "%s: the file ends in the middle: %d bytes needed, %d left", what, n, c.left())
	}
	at, end := c.off, c.off+int64(n)
	if c.p.mapped != nil {
		c.off = end
		return c.p.mapped[at:end], nil
	}
	if at < c.start || end > c.start+int64(len(c.buf)) {
		if c.buf == nil {
			c.buf = make([]byte, window)
		}
		c.start, c.buf = at, c.buf[:min(window, c.left())]
		if k, err := c.p.r.ReadAt(c.buf, at); k < len(c.buf) {
			return nil, fmt.Errorf("gguf: %s%s: reading %d bytes at byte %d: %w", c.p.prefix(), what, len(c.buf), at,
				noEOF(err))
		}
	}
	c.off = end
	return c.buf[at-c.start:][:n], nil
}

func (c *cursor) uint32(what string) (uint32, error) {
	b, err := c.next(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) uint64(what string) (uint64, error) {
	b, err := c.next(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// length reads the length of a string of at most limit bytes that follow it.
func (c *cursor) length(limit uint64, what string) (uint64, error) {
	at := c.off
	n, err := c.uint64(what)
	if err != nil {
		return 0, err
	}
	if left := uint64(c.left()); n > left {
		return 0, c.p.errorf(at, "%s: a string of %d bytes does not fit the %d bytes left", what, n, left)
	}
	if n > limit {
		return 0, c.p.errorf(at, "%s: a string of %d bytes, at most %d are allowed", what, n, limit)
	}
	return n, nil
}

// pieces calls use with the next n bytes, a window at a time.
func (c *cursor) pieces(n uint64, what string, use func([]byte)) error {
	for n > 0 {
		k := min(n, window)
		b, err := c.next(int(k), what)
		if err != nil {
			return err
		}
		use(b)
		n -= k
	}
	return nil
}

// text reads one string of at most limit bytes. Its memory is taken at once: a chat template may be long.
func (c *cursor) text(limit uint64, what string) (string, error) {
	n, err := c.length(limit, what)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	s.Grow(int(n))
	err = c.pieces(n, what, func(b []byte) { s.Write(b) })
	return s.String(), err
}
