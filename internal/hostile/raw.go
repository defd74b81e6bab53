package hostile

import "encoding/binary"

// raw is a file that is written field by field, right or wrong. It shares no code with the writer of package gguf.
type raw []byte

// Numbers of value types.
const (
	typeUint8   = 0
	typeInt32   = 5
	typeUint32  = 4
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
	typeUint64  = 10
	typeInt64   = 11
)

// Numbers of tensor types.
const (
	tensorF32  = 0
	tensorQ4_0 = 2
	tensorQ6_K = 14
	tensorI8   = 24
	tensorF64  = 28
)

func header(version uint32, tensors, keys uint64) raw {
	return raw("GGUF").u32(version).u64(tensors).u64(keys)
}

func (r raw) u32(v uint32) raw    { return binary.LittleEndian.AppendUint32(r, v) }
func (r raw) u64(v uint64) raw    { return binary.LittleEndian.AppendUint64(r, v) }
func (r raw) bytes(b ...byte) raw { return append(r, b...) }
func (r raw) zeros(n int) raw     { return append(r, make([]byte, n)...) }
func (r raw) text(s string) raw   { return append(r.u64(uint64(len(s))), s...) }

// data fills up to a multiple of align and appends n zeros, the data of tensors.
func (r raw) data(align, n int) raw { return r.zeros(-len(r) & (align - 1)).zeros(n) }

// key appends the name of a key and the number of its type; the value follows.
func (r raw) key(name string, t uint32) raw { return r.text(name).u32(t) }

// number appends a whole key of type uint32.
func (r raw) number(name string, v uint32) raw { return r.key(name, typeUint32).u32(v) }

// array appends the name of a key and the head of an array of n elements; they follow.
func (r raw) array(name string, elements uint32, n uint64) raw {
	return r.key(name, typeArray).u32(elements).u64(n)
}

// tensor appends a tensor's entry.
func (r raw) tensor(name string, t uint32, offset uint64, dims ...uint64) raw {
	r = r.text(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r = r.u64(d)
	}
	return r.u32(t).u64(offset)
}

// repeat appends what add appends, n times.
func (r raw) repeat(n int, add func(r raw, i int) raw) raw {
	for i := range n {
		r = add(r, i)
	}
	return r
}
