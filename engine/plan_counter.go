package engine

import (
	"strings"

	"cera/backend"
)

// tally adds up what a sequence allocates, in bytes.
type tally struct {
	kv, other int64
	largest   sized // single tensor
	rows      sized // row of a tensor that has one for each position
}

// sized is the largest of its kind.
type sized struct {
	name  string
	bytes int64
}

func (s *sized) take(name string, bytes int64) {
	if bytes > s.bytes {
		*s = sized{name, bytes}
	}
}

// counter is a backend that only counts what layers.NewState allocates on it, so that a plan cannot differ from what is
// done. It has no ops.
type counter struct {
	backend.Backend
	tally tally
}

// counted is memory that is not there.
type counted int

func (c counted) Words() int { return int(c) }

func (c *counter) Alloc(name string, rows, n int) backend.Tensor {
	bytes := int64(rows) * int64(n) * 4
	kv := strings.HasPrefix(name, "k cache ") || strings.HasPrefix(name, "v cache ")
	if kv {
		c.tally.kv += bytes
	} else {
		c.tally.other += bytes
	}
	if kv || name == "rope table" {
		c.tally.rows.take(name, int64(n)*4)
	} else {
		c.tally.largest.take(name, bytes)
	}
	return backend.Tensor{Buf: counted(rows * n), Rows: rows, N: n, Stride: n}
}

func (c *counter) Free(backend.Tensor)                  {}
func (c *counter) Upload(backend.Tensor, []float32)     {}
func (c *counter) UploadU32(backend.Tensor, []uint32)   {}
func (c *counter) Copy(_, _ backend.Tensor)             {}
func (c *counter) Read([]float32, backend.Tensor) error { return nil }
func (c *counter) Flush() error                         { return nil }
