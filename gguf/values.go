package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// ValueType is the number of a metadata value's type.
type ValueType uint32

// The types a metadata value can have.
const (
	ValueUint8 ValueType = iota
	ValueInt8
	ValueUint16
	ValueInt16
	ValueUint32
	ValueInt32
	ValueFloat32
	ValueBool
	ValueString
	ValueArray
	ValueUint64
	ValueInt64
	ValueFloat64
)

// valueTypes holds each type's name and the fewest bytes a value of it takes: a string has a length, an array an
// element type and a length.
var valueTypes = [...]struct {
	name string
	size int
}{
	ValueUint8:   {"uint8", 1},
	ValueInt8:    {"int8", 1},
	ValueUint16:  {"uint16", 2},
	ValueInt16:   {"int16", 2},
	ValueUint32:  {"uint32", 4},
	ValueInt32:   {"int32", 4},
	ValueFloat32: {"float32", 4},
	ValueBool:    {"bool", 1},
	ValueString:  {"string", 8},
	ValueArray:   {"array", 12},
	ValueUint64:  {"uint64", 8},
	ValueInt64:   {"int64", 8},
	ValueFloat64: {"float64", 8},
}

// String returns the type's name, as "uint32".
func (t ValueType) String() string {
	if !t.known() {
		return fmt.Sprintf("value type %d", uint32(t))
	}
	return valueTypes[t].name
}

func (t ValueType) known() bool { return uint64(t) < uint64(len(valueTypes)) }

// KV is one metadata entry. Value holds the Go type that Type names (uint8 to float64, bool, string); for ValueArray a
// slice of one of these, or []any whose elements are such slices where the file nests arrays.
type KV struct {
	Key   string
	Type  ValueType
	Value any
}

const (
	maxDepth  = 4         // arrays in arrays; nothing known to write GGUF nests deeper than 2
	maxName   = 1<<16 - 1 // the format's limit on keys, applied to tensor names too
	maxText   = 1 << 26   // bytes of a string; the longest that are known, whole tokenizers as JSON, have half
	firstRoom = 1 << 12   // elements allocated before the first is read: more only as the file delivers them
)

// value reads a value of type t. what names it in errors.
func (c *cursor) value(t ValueType, what string, depth int) (any, error) {
	switch t {
	case ValueString:
		return c.text(maxText, what)
	case ValueArray:
		return c.array(what, depth+1)
	}
	at := c.off
	b, err := c.next(valueTypes[t].size, what)
	if err != nil {
		return nil, err
	}
	switch t {
	case ValueUint8:
		return b[0], nil
	case ValueInt8:
		return int8(b[0]), nil
	case ValueUint16:
		return binary.LittleEndian.Uint16(b), nil
	case ValueInt16:
		return getInt16(b), nil
	case ValueUint32:
		return binary.LittleEndian.Uint32(b), nil
	case ValueInt32:
		return getInt32(b), nil
	case ValueFloat32:
		return getFloat32(b), nil
	case ValueUint64:
		return binary.LittleEndian.Uint64(b), nil
	case ValueInt64:
		return getInt64(b), nil
	case ValueFloat64:
		return getFloat64(b), nil
	default: // ValueBool: readValueType lets no other pass
		if b[0] > 1 {
			return nil, c.p.errorf(at, "%s: bool is %d, want 0 or 1", what, b[0])
		}
		return b[0] == 1, nil
	}
}

// valueType reads the number of a value type.
func (c *cursor) valueType(what string) (ValueType, error) {
	at := c.off
	n, err := c.uint32(what)
	if err != nil {
		return 0, err
	}
	t := ValueType(n)
	if !t.known() {
		return 0, c.p.errorf(at, "%s: unknown value type %d, the last known is %d", what, n, len(valueTypes)-1)
	}
	return t, nil
}

// array reads an array: element type, length, elements.
func (c *cursor) array(what string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, c.p.errorf(c.off, "%s: arrays are nested more than %d deep", what, maxDepth)
	}
	t, err := c.valueType(what + ": array element")
	if err != nil {
		return nil, err
	}
	at := c.off
	n, err := c.uint64(what)
	if err != nil {
		return nil, err
	}
	if left := uint64(c.left()); n > left/uint64(valueTypes[t].size) {
		return nil, c.p.errorf(at, "%s: an array of %d %s values does not fit the %d bytes left", what, n, t, left)
	}
	switch t {
	case ValueUint8:
		return scalars(c, n, what, 1, func(b []byte) uint8 { return b[0] })
	case ValueInt8:
		return scalars(c, n, what, 1, func(b []byte) int8 { return int8(b[0]) })
	case ValueUint16:
		return scalars(c, n, what, 2, binary.LittleEndian.Uint16)
	case ValueInt16:
		return scalars(c, n, what, 2, getInt16)
	case ValueUint32:
		return scalars(c, n, what, 4, binary.LittleEndian.Uint32)
	case ValueInt32:
		return scalars(c, n, what, 4, getInt32)
	case ValueFloat32:
		return scalars(c, n, what, 4, getFloat32)
	case ValueUint64:
		return scalars(c, n, what, 8, binary.LittleEndian.Uint64)
	case ValueInt64:
		return scalars(c, n, what, 8, getInt64)
	case ValueFloat64:
		return scalars(c, n, what, 8, getFloat64)
	case ValueString:
		return c.texts(n, what)
	}
	if t == ValueBool {
		out := make([]bool, 0, min(n, firstRoom))
		for range n {
			v, err := c.value(t, what, depth)
			if err != nil {
				return nil, err
			}
			out = append(out, v.(bool))
		}
		return out, nil
	}
	out := make([]any, 0, min(n, firstRoom))
	for range n {
		v, err := c.array(what, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// scalars reads n values of width bytes each, a window of the file at a time.
func scalars[T any](c *cursor, n uint64, what string, width int, get func([]byte) T) ([]T, error) {
	out := make([]T, 0, min(n, firstRoom))
	for done := uint64(0); done < n; {
		k := min(n-done, uint64(window/width))
		b, err := c.next(int(k)*width, what)
		if err != nil {
			return nil, err
		}
		if done == 0 && k < n {
			// One window was there; the rest was checked against the size of the file.
			out = make([]T, 0, n)
		}
		for ; len(b) > 0; b = b[width:] {
			out = append(out, get(b))
		}
		done += k
	}
	return out, nil
}

// texts reads n strings into one block of memory: a vocabulary has hundreds of thousands of short ones.
func (c *cursor) texts(n uint64, what string) ([]string, error) {
	var all []byte
	ends := make([]int, 0, min(n, firstRoom))
	for range n {
		k, err := c.length(maxText, what)
		if err == nil {
			err = c.pieces(k, what, func(b []byte) { all = append(all, b...) })
		}
		if err != nil {
			return nil, err
		}
		ends = append(ends, len(all))
	}
	block, start := string(all), 0
	out := make([]string, n)
	for i, end := range ends {
		out[i], start = block[start:end], end
	}
	return out, nil
}

func getInt16(b []byte) int16     { return int16(binary.LittleEndian.Uint16(b)) }
func getInt32(b []byte) int32     { return int32(binary.LittleEndian.Uint32(b)) }
func getInt64(b []byte) int64     { return int64(binary.LittleEndian.Uint64(b)) }
func getFloat32(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func getFloat64(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
