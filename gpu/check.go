//go:build cgo

package gpu

import (
	"errors"
	"fmt"

	"cera/backend"
)

// checker validates the operands of one op and keeps the first fault.
type checker struct {
	b   *Backend
	op  string
	err error
}

func (b *Backend) check(op string) *checker { return &checker{b: b, op: op} }

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// ok makes the fault, if there is one, the backend's.
func (c *checker) ok() bool {
	if c.err != nil {
		c.b.fail(c.op, c.err)
	}
	return c.err == nil
}

// anySize stands for a number of rows or columns that is not fixed.
const anySize = -1

// tensor checks that t is alive, belongs to this backend, lies inside its buffer and is [rows, n].
func (c *checker) tensor(role string, t backend.Tensor, rows, n int) *buffer {
	if c.err != nil {
		return nil
	}
	buf, err := c.b.buffer(t)
	if err != nil {
		c.fail("%s: %w", role, err)
		return nil
	}
	switch {
	case t.Off < 0 || t.Rows < 0 || t.N < 0 || t.Stride < t.N:
		c.fail("%s: %s is not a matrix; expected a stride of at least the row length", role, describeTensor(t))
	case !inside(t, buf):
		c.fail("%s: %s reaches past the end of its buffer of %d words", role, describeTensor(t), buf.words)
	case rows != anySize && t.Rows != rows:
		c.fail("%s: found %d rows in %s, expected %d", role, t.Rows, describeTensor(t), rows)
	case n != anySize && t.N != n:
		c.fail("%s: found rows of %d in %s, expected %d", role, t.N, describeTensor(t), n)
	}
	if c.err != nil {
		return nil
	}
	return buf
}

// inside reports whether t lies in what buf holds, without overflow on the way.
func inside(t backend.Tensor, buf *buffer) bool {
	words := buf.words
	if t.Off -= buf.lead; t.Off < 0 {
		return false
	}
	if t.Rows == 0 || t.N == 0 {
		return t.Off <= words
	}
	if t.Off > words || t.N > words || t.Rows > 1 && t.Stride > words/(t.Rows-1) {
		return false
	}
	return t.Span() <= words-t.Off
}

// buffer returns the buffer behind t if it is alive and this backend's.
func (b *Backend) buffer(t backend.Tensor) (*buffer, error) {
	buf, ok := t.Buf.(*buffer)
	switch {
	case t.Buf == nil || ok && buf == nil:
		return nil, errors.New("no tensor")
	case !ok || buf.owner != b:
		return nil, errors.New("the tensor belongs to another backend")
	case buf.freed:
		return nil, fmt.Errorf("tensor %s is freed", buf.name)
	}
	return buf, nil
}

// weight checks that w is alive and this backend's.
func (c *checker) weight(w backend.Weight) *weight {
	if c.err != nil {
		return nil
	}
	g, err := c.b.weight(w)
	if err != nil {
		c.fail("%w", err)
	}
	return g
}

// operand is a tensor with its role in an op.
type operand struct {
	role string
	t    backend.Tensor
}

// exclusive checks WebGPU's rule that no buffer is bound for reading and for writing in one dispatch, and that no
// two written operands share an element.
func (c *checker) exclusive(written, read []operand) {
	for i, w := range written {
		for _, r := range read {
			if c.err == nil && w.t.Buf == r.t.Buf {
				c.fail("%s (written) and %s (read) are in one buffer, %s; a dispatch cannot bind it both ways", w.role,
					r.role, w.t.Buf.(*buffer).name)
			}
		}
		for _, v := range written[:i] {
			c.apart(v.role, v.t, w.role, w.t)
		}
	}
}

// alone checks what exclusive does, and that the written operands are in buffers of their own, each bound by itself.
func (c *checker) alone(written, read []operand) {
	c.exclusive(written, read)
	for k, a := range written {
		for _, o := range written[:k] {
			if c.err == nil && a.t.Buf == o.t.Buf {
				c.fail("%s and %s are in one buffer, %s; expected buffers of their own", o.role, a.role,
					a.t.Buf.(*buffer).name)
			}
		}
	}
}

// apart checks that two tensors share no element.
func (c *checker) apart(roleA string, a backend.Tensor, roleB string, b backend.Tensor) {
	if c.err == nil && overlap(a, b) {
		c.fail("%s %s and %s %s share elements", roleA, describeTensor(a), roleB, describeTensor(b))
	}
}

// overlap reports whether two valid tensors may share an element. It is exact for equal strides and for spans that
// lie apart; other interleaved views count as shared.
func overlap(a, b backend.Tensor) bool {
	if a.Buf != b.Buf || a.Span() == 0 || b.Span() == 0 {
		return false
	}
	if a.Off > b.Off {
		a, b = b, a
	}
	if a.Off+a.Span() <= b.Off {
		return false
	}
	if a.Stride != b.Stride {
		return true
	}
	col := (b.Off - a.Off) % a.Stride // where b's rows begin, counted from the start of a row of a
	return col < a.N || col+b.N > a.Stride
}

// describeTensor names t in an error.
func describeTensor(t backend.Tensor) string {
	name := "no tensor"
	if buf, ok := t.Buf.(*buffer); ok && buf != nil {
		name = buf.name
	}
	return fmt.Sprintf("%s [%d, %d] at word %d, stride %d", name, t.Rows, t.N, t.Off, t.Stride)
}
