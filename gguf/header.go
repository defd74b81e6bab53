package gguf

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
)

const (
	magic            = "GGUF"
	headerBytes      = 24 // magic, version, tensor count, key count
	defaultAlignment = 32
	maxDims          = 4
	minKeyBytes      = 8 + 1 + 4 + 1         // name of one byte, value type, value of one byte
	minTensorBytes   = 8 + 1 + 4 + 8 + 4 + 8 // name of one byte, one dimension
	keyAlignment     = "general.alignment"
)

// part is one file: all of a model, or one of a split set.
type part struct {
	path   string
	r      io.ReaderAt
	file   *os.File // what Open opened, or nil
	mapped []byte   // the whole file, if it is mapped
	size   int64    // of the file in bytes
	close  func() error

	version   uint32
	alignment uint64
	keys      []KV
	keyOff    []int64        // where each entry starts
	index     map[string]int // key to index
	tensors   []Tensor
	infoOff   []int64 // where each tensor's entry starts
	data      int64   // where the data section starts
}

func (p *part) errorf(off int64, format string, args ...any) error {
	return &FormatError{Path: p.path, Offset: off, What: fmt.Sprintf(format, args...)}
}

// prefix is the start of an error message that is not a FormatError.
func (p *part) prefix() string {
	if p.path == "" {
		return ""
	}
	return p.path + ": "
}

// keyOffset returns where the entry of a key starts, 0 if there is none.
func (p *part) keyOffset(key string) int64 {
	if i, ok := p.index[key]; ok {
		return p.keyOff[i]
	}
	return 0
}

// parse reads everything before the data section and checks where the tensors say their data is.
func (p *part) parse() error {
	c := &cursor{p: p}
	if err := p.recognise(c); err != nil {
		return err
	}
	nTensors, err := c.uint64("tensor count")
	if err != nil {
		return err
	}
	nKeys, err := c.uint64("key count")
	if err != nil {
		return err
	}
	left := uint64(c.left())
	if nTensors > left/minTensorBytes {
		return p.errorf(8, "tensor count %d: that many entries do not fit the %d bytes left", nTensors, left)
	}
	if nKeys > left/minKeyBytes {
		return p.errorf(16, "key count %d: that many entries do not fit the %d bytes left", nKeys, left)
	}
	if err := p.readKeys(c, nKeys); err != nil {
		return err
	}
	if err := p.readAlignment(); err != nil {
		return err
	}
	if err := p.readTensors(c, nTensors); err != nil {
		return err
	}
	pad := -uint64(c.off) & (p.alignment - 1)
	p.data = c.off + int64(pad) // both below 2^63, and pad below 2^32
	if p.data < 0 {
		return p.errorf(c.off, "the data section starts past the end of any file")
	}
	return p.placeTensors()
}

// recognise reads magic and version, and says what a file is that is not one this package reads.
func (p *part) recognise(c *cursor) error {
	if p.size == 0 {
		return p.errorf(0, "the file is empty")
	}
	b, err := c.next(int(min(p.size, headerBytes)), "header")
	if err != nil {
		return err
	}
	head := string(b)
	switch {
	case strings.HasPrefix(head, magic):
	case strings.HasPrefix(head, "FUGG"):
		return p.errorf(0, "the magic is reversed, FUGG: a writer with the wrong byte order made this file; want GGUF")
	case strings.HasPrefix(head, "version https://git-lfs"):
		return p.errorf(0, "this is a Git LFS pointer, not the model: fetch the file itself with git lfs pull")
	case strings.HasPrefix(head, "lmgg"), strings.HasPrefix(head, "fmgg"), strings.HasPrefix(head, "tjgg"):
		return p.errorf(0, "this is a file of the GGML format that came before GGUF: convert the model again")
	case strings.HasPrefix(magic, head):
		return p.errorf(0, "the file is truncated: %d bytes, a header has %d", p.size, headerBytes)
	default:
		return p.errorf(0, "not a GGUF file: it starts with %q, want %q", head[:min(len(head), 4)], magic)
	}
	if p.size < headerBytes {
		return p.errorf(0, "the file is truncated: %d bytes, a header has %d", p.size, headerBytes)
	}
	c.off = int64(len(magic))
	if p.version, err = c.uint32("version"); err != nil {
		return err
	}
	switch v := p.version; {
	case v == 2 || v == 3:
		return nil
	case v == 1:
		return p.errorf(4, "version 1 is not supported: its lengths have 32 bits; want version 2 or 3, convert the "+
			"model again")
	case v != 0 && v&0xffff == 0:
		return p.errorf(4, "the file is big-endian (version %d): only little-endian files are supported",
			bits.ReverseBytes32(v))
	default:
		return p.errorf(4, "unknown version %d, want 2 or 3", v)
	}
}

func (p *part) readKeys(c *cursor, n uint64) error {
	p.index = make(map[string]int)
	for i := range n {
		at := c.off
		key, err := c.text(maxName, fmt.Sprintf("name of key %d of %d", i+1, n))
		if err != nil {
			return err
		}
		if key == "" {
			return p.errorf(at, "key %d of %d has an empty name", i+1, n)
		}
		what := fmt.Sprintf("key %.99q", key)
		if _, dup := p.index[key]; dup {
			return p.errorf(at, "%s appears twice", what)
		}
		t, err := c.valueType(what)
		if err != nil {
			return err
		}
		v, err := c.value(t, what, 0)
		if err != nil {
			return err
		}
		p.index[key] = len(p.keys)
		p.keys = append(p.keys, KV{key, t, v})
		p.keyOff = append(p.keyOff, at)
	}
	return nil
}

func (p *part) readAlignment() error {
	p.alignment = defaultAlignment
	i, ok := p.index[keyAlignment]
	if !ok {
		return nil
	}
	n, ok := p.keys[i].Value.(uint32)
	if !ok {
		return p.errorf(p.keyOff[i], "key %q is %s, want uint32", keyAlignment, p.keys[i].describe())
	}
	if bits.OnesCount32(n) != 1 {
		return p.errorf(p.keyOff[i], "key %q is %d, want a power of two", keyAlignment, n)
	}
	p.alignment = uint64(n)
	return nil
}

func (p *part) readTensors(c *cursor, n uint64) error {
	seen := make(map[string]bool)
	for i := range n {
		at := c.off
		name, err := c.text(maxName, fmt.Sprintf("name of tensor %d of %d", i+1, n))
		if err != nil {
			return err
		}
		if name == "" {
			return p.errorf(at, "tensor %d of %d has an empty name", i+1, n)
		}
		if seen[name] {
			return p.errorf(at, "tensor %.99q appears twice", name)
		}
		seen[name] = true
		t, err := p.readTensor(c, name)
		if err != nil {
			return err
		}
		p.tensors = append(p.tensors, t)
		p.infoOff = append(p.infoOff, at)
	}
	return nil
}

// readTensor reads the entry of a tensor after its name.
func (p *part) readTensor(c *cursor, name string) (Tensor, error) {
	what := fmt.Sprintf("tensor %.99q", name)
	t := Tensor{Name: name}
	at := c.off
	nDims, err := c.uint32(what)
	if err != nil {
		return t, err
	}
	if nDims == 0 || nDims > maxDims {
		return t, p.errorf(at, "%s has %d dimensions, want 1 to %d", what, nDims, maxDims)
	}
	t.Dims = make([]uint64, nDims)
	for i := range t.Dims {
		if t.Dims[i], err = c.uint64(what); err != nil {
			return t, err
		}
	}
	typeAt := c.off
	n, err := c.uint32(what)
	if err != nil {
		return t, err
	}
	t.Type = Type(n)
	if err := t.Type.usable(); err != nil {
		return t, p.errorf(typeAt, "%s: %v", what, err)
	}
	if t.Size, err = tensorBytes(t.Type, t.Dims); err != nil {
		return t, p.errorf(at, "%s: %v", what, err)
	}
	offsetAt := c.off
	if t.Offset, err = c.uint64(what); err != nil {
		return t, err
	}
	if t.Offset%p.alignment != 0 {
		return t, p.errorf(offsetAt, "%s: offset %d is not a multiple of the alignment %d", what, t.Offset, p.alignment)
	}
	return t, nil
}

// tensorBytes returns the size of a tensor in bytes, once its dimensions make sense.
func tensorBytes(t Type, dims []uint64) (uint64, error) {
	if len(dims) == 0 || len(dims) > maxDims {
		return 0, fmt.Errorf("%d dimensions, want 1 to %d", len(dims), maxDims)
	}
	elements := uint64(1)
	for i, d := range dims {
		if d == 0 {
			return 0, fmt.Errorf("dimension %d of %v is zero", i, dims)
		}
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 || lo > math.MaxInt {
			return 0, fmt.Errorf("dimensions %v overflow: their product must fit %d bits", dims, bits.UintSize-1)
		}
		elements = lo
	}
	row, err := t.RowBytes(dims[0])
	if err != nil {
		return 0, err
	}
	hi, size := bits.Mul64(row, elements/dims[0])
	if hi != 0 || size > math.MaxInt {
		return 0, fmt.Errorf("the size of %s %v overflows: it must fit %d bits", t, dims, bits.UintSize-1)
	}
	return size, nil
}

// placeTensors checks that every tensor lies in the file and that no two share a byte.
func (p *part) placeTensors() error {
	room := uint64(p.size - min(p.data, p.size))
	order := make([]int, len(p.tensors))
	for i := range p.tensors {
		order[i] = i
		t := &p.tensors[i]
		if t.Offset > room || t.Size > room-t.Offset {
			return p.errorf(p.infoOff[i],
				"tensor %.99q: %d bytes at offset %d of the data section, which has %d bytes in this file",
				t.Name, t.Size, t.Offset, room)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := p.tensors[a].Offset, p.tensors[b].Offset; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for i := 1; i < len(order); i++ {
		a, b := &p.tensors[order[i-1]], &p.tensors[order[i]]
		if a.Offset+a.Size > b.Offset {
			return p.errorf(p.infoOff[order[i]], "tensor %.99q at offset %d overlaps tensor %.99q, which ends at %d",
				b.Name, b.Offset, a.Name, a.Offset+a.Size)
		}
	}
	return nil
}
