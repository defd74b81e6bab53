package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

// Writer collects metadata and tensors and writes them as one version 3 file. The data of a tensor is held from Add on,
// or made when it is written; see AddFunc. Mistakes come out of WriteTo, all of them at once.
type Writer struct {
	keys    []KV
	tensors []Tensor
	data    []func() ([]byte, error) // one a tensor
	seen    map[string]bool
	errs    []error
}

// NewWriter returns an empty Writer. The alignment is 32 unless the key general.alignment, a uint32, says otherwise.
func NewWriter() *Writer { return &Writer{seen: make(map[string]bool)} }

// Set adds a metadata entry. The Go type of value decides the type in the file: uint8 to float64, bool, string, a slice
// of one of these, or []any of such slices for an array of arrays. Plain int and uint are refused, since the file has
// no such types. Entries are written in the order of the calls; slices are not copied.
func (w *Writer) Set(key string, value any) {
	t, ok := valueTypeOf(value, 0)
	switch {
	case key == "" || len(key) > maxName:
		w.errorf("key %.40q: a name has 1 to %d bytes, not %d", key, maxName, len(key))
	case !ok:
		w.errorf("key %q: cannot write a %T", key, value)
	case !w.first("key " + key):
		w.errorf("key %q is set twice", key)
	default:
		w.keys = append(w.keys, KV{key, t, value})
	}
}

// Add adds a tensor of dims, in ggml's order: dims[0] is the row length. data holds its rows of blocks and is not
// copied: it must not change before WriteTo.
func (w *Writer) Add(name string, t Type, dims []uint64, data []byte) {
	if size, ok := w.add(name, t, dims, func() ([]byte, error) { return data, nil }); ok && uint64(len(data)) != size {
		w.errorf("tensor %q: %d bytes of data, but %s %v takes %d", name, len(data), t, dims, size)
	}
}

// AddFunc is Add for data that WriteTo asks for when it has written the tensors before this one, so that a file may be
// larger than memory. WriteTo returns an error of data, and by then part of the file is written.
func (w *Writer) AddFunc(name string, t Type, dims []uint64, data func() ([]byte, error)) {
	w.add(name, t, dims, data)
}

// add adds a tensor and returns its size in bytes, unless something is wrong with it.
func (w *Writer) add(name string, t Type, dims []uint64, data func() ([]byte, error)) (size uint64, ok bool) {
	if name == "" || len(name) > maxName {
		w.errorf("tensor %.40q: a name has 1 to %d bytes, not %d", name, maxName, len(name))
		return 0, false
	}
	err := t.usable()
	if err == nil {
		size, err = tensorBytes(t, dims)
	}
	switch {
	case err != nil:
		w.errorf("tensor %q: %w", name, err)
		return 0, false
	case !w.first("tensor " + name):
		w.errorf("tensor %q is added twice", name)
		return 0, false
	}
	w.tensors = append(w.tensors, Tensor{Name: name, Type: t, Dims: slices.Clone(dims), Size: size})
	w.data = append(w.data, data)
	return size, true
}

// WriteTo writes the file and returns the number of bytes written. Nothing is written if any Set, Add or AddFunc was
// wrong. The same calls give the same bytes.
func (w *Writer) WriteTo(dst io.Writer) (int64, error) {
	align, err := w.alignment()
	if err := errors.Join(append(slices.Clone(w.errs), err)...); err != nil {
		return 0, err
	}
	counted := &countingWriter{w: dst}
	b := bufio.NewWriterSize(counted, window)
	e := encoder{w: b}
	e.bytes(magic)
	e.uint32(3)
	e.uint64(uint64(len(w.tensors)))
	e.uint64(uint64(len(w.keys)))
	for _, kv := range w.keys {
		e.text(kv.Key)
		e.uint32(uint32(kv.Type))
		e.value(kv.Value)
	}
	offset := uint64(0)
	for _, t := range w.tensors {
		e.text(t.Name)
		e.uint32(uint32(len(t.Dims)))
		for _, d := range t.Dims {
			e.uint64(d)
		}
		e.uint32(uint32(t.Type))
		e.uint64(offset)
		offset += t.Size
		offset += -offset & (align - 1)
	}
	e.pad(align)
	// Readers exist that want the padding after the last tensor too.
	for i, t := range w.tensors {
		if _, err := b.Write(nil); err != nil {
			break // a write before has failed: what follows need not be made
		}
		data, err := w.data[i]()
		if err == nil && uint64(len(data)) != t.Size {
			err = fmt.Errorf("%d bytes of data, but %s %v takes %d", len(data), t.Type, t.Dims, t.Size)
		}
		if err != nil {
			return counted.n, fmt.Errorf("gguf: writing: tensor %q: %w", t.Name, err)
		}
		e.write(data)
		e.pad(align)
	}
	err = b.Flush() // also returns the first error of any write before
	if err != nil {
		err = fmt.Errorf("gguf: writing: %w", err)
	}
	return counted.n, err
}

func (w *Writer) errorf(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("gguf: writing: "+format, args...))
}

// first reports whether name is new. It makes the zero Writer usable.
func (w *Writer) first(name string) bool {
	if w.seen == nil {
		w.seen = make(map[string]bool)
	}
	dup := w.seen[name]
	w.seen[name] = true
	return !dup
}

func (w *Writer) alignment() (uint64, error) {
	for _, kv := range w.keys {
		if kv.Key != keyAlignment {
			continue
		}
		n, ok := kv.Value.(uint32)
		if !ok || bits.OnesCount32(n) != 1 {
			return 0, fmt.Errorf("gguf: writing: key %q is %s, want a uint32 that is a power of two", keyAlignment,
				kv.describe())
		}
		return uint64(n), nil
	}
	return defaultAlignment, nil
}

// valueTypeOf returns the type that a Go value is written as.
func valueTypeOf(v any, depth int) (ValueType, bool) {
	switch v := v.(type) {
	case uint8:
		return ValueUint8, true
	case int8:
		return ValueInt8, true
	case uint16:
		return ValueUint16, true
	case int16:
		return ValueInt16, true
	case uint32:
		return ValueUint32, true
	case int32:
		return ValueInt32, true
	case float32:
		return ValueFloat32, true
	case bool:
		return ValueBool, true
	case string:
		return ValueString, true
	case uint64:
		return ValueUint64, true
	case int64:
		return ValueInt64, true
	case float64:
		return ValueFloat64, true
	case []uint8, []int8, []uint16, []int16, []uint32, []int32, []float32, []bool, []string, []uint64, []int64,
		[]float64:
		return ValueArray, depth < maxDepth
	case []any:
		if depth >= maxDepth {
			return 0, false
		}
		for _, x := range v {
			if t, ok := valueTypeOf(x, depth+1); !ok || t != ValueArray {
				return 0, false
			}
		}
		return ValueArray, true
	}
	return 0, false
}

// encoder writes fields. Errors stick in its bufio.Writer.
type encoder struct {
	w *bufio.Writer
	n uint64 // bytes written
}

func (e *encoder) write(b []byte) {
	n, _ := e.w.Write(b)
	e.n += uint64(n)
}

func (e *encoder) bytes(s string) {
	n, _ := e.w.WriteString(s)
	e.n += uint64(n)
}

func (e *encoder) uint32(v uint32) { e.write(binary.LittleEndian.AppendUint32(nil, v)) }
func (e *encoder) uint64(v uint64) { e.write(binary.LittleEndian.AppendUint64(nil, v)) }

func (e *encoder) text(s string) {
	e.uint64(uint64(len(s)))
	e.bytes(s)
}

func (e *encoder) pad(align uint64) {
	var zero [4096]byte
	for n := -e.n & (align - 1); n > 0; {
		k := min(n, uint64(len(zero)))
		before := e.n
		e.write(zero[:k])
		if e.n != before+k {
			return
		}
		n -= k
	}
}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case string:
		e.text(v)
	case uint8:
		e.write([]byte{v})
	case int8:
		e.write([]byte{uint8(v)})
	case uint16:
		e.write(binary.LittleEndian.AppendUint16(nil, v))
	case int16:
		e.write(binary.LittleEndian.AppendUint16(nil, uint16(v)))
	case uint32:
		e.uint32(v)
	case int32:
		e.uint32(uint32(v))
	case float32:
		e.uint32(math.Float32bits(v))
	case uint64:
		e.uint64(v)
	case int64:
		e.uint64(uint64(v))
	case float64:
		e.uint64(math.Float64bits(v))
	case bool:
		b := byte(0)
		if v {
			b = 1
		}
		e.write([]byte{b})
	case []uint8:
		values(e, ValueUint8, v)
	case []int8:
		values(e, ValueInt8, v)
	case []uint16:
		values(e, ValueUint16, v)
	case []int16:
		values(e, ValueInt16, v)
	case []uint32:
		values(e, ValueUint32, v)
	case []int32:
		values(e, ValueInt32, v)
	case []float32:
		values(e, ValueFloat32, v)
	case []bool:
		values(e, ValueBool, v)
	case []string:
		values(e, ValueString, v)
	case []uint64:
		values(e, ValueUint64, v)
	case []int64:
		values(e, ValueInt64, v)
	case []float64:
		values(e, ValueFloat64, v)
	case []any:
		values(e, ValueArray, v)
	}
}

func values[T any](e *encoder, t ValueType, v []T) {
	e.uint32(uint32(t))
	e.uint64(uint64(len(v)))
	for _, x := range v {
		e.value(x)
	}
}

// countingWriter counts what reached the destination.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
