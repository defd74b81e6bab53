package gguf

import (
	"fmt"
	"math/bits"
)

// Type is ggml's number for the encoding of a tensor's elements.
type Type uint32

// The tensor types, named and numbered as in ggml. The missing numbers belong to encodings that ggml has removed;
// see [Type.Removed].
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q8_1    Type = 9
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
	Q2_0    Type = 42
)

// types says what each number means. A row with a name but no block is a removed type: its layout is no longer
// defined, only its name helps whoever meets one.
var types = [...]struct {
	name         string
	block, bytes int // elements and bytes of one block
}{
	F32:     {"F32", 1, 4},
	F16:     {"F16", 1, 2},
	Q4_0:    {"Q4_0", 32, 18},
	Q4_1:    {"Q4_1", 32, 20},
	4:       {name: "Q4_2"},
	5:       {name: "Q4_3"},
	Q5_0:    {"Q5_0", 32, 22},
	Q5_1:    {"Q5_1", 32, 24},
	Q8_0:    {"Q8_0", 32, 34},
	Q8_1:    {"Q8_1", 32, 36},
	Q2_K:    {"Q2_K", 256, 84},
	Q3_K:    {"Q3_K", 256, 110},
	Q4_K:    {"Q4_K", 256, 144},
	Q5_K:    {"Q5_K", 256, 176},
	Q6_K:    {"Q6_K", 256, 210},
	Q8_K:    {"Q8_K", 256, 292},
	IQ2_XXS: {"IQ2_XXS", 256, 66},
	IQ2_XS:  {"IQ2_XS", 256, 74},
	IQ3_XXS: {"IQ3_XXS", 256, 98},
	IQ1_S:   {"IQ1_S", 256, 50},
	IQ4_NL:  {"IQ4_NL", 32, 18},
	IQ3_S:   {"IQ3_S", 256, 110},
	IQ2_S:   {"IQ2_S", 256, 82},
	IQ4_XS:  {"IQ4_XS", 256, 136},
	I8:      {"I8", 1, 1},
	I16:     {"I16", 1, 2},
	I32:     {"I32", 1, 4},
	I64:     {"I64", 1, 8},
	F64:     {"F64", 1, 8},
	IQ1_M:   {"IQ1_M", 256, 56},
	BF16:    {"BF16", 1, 2},
	31:      {name: "Q4_0_4_4"},
	32:      {name: "Q4_0_4_8"},
	33:      {name: "Q4_0_8_8"},
	TQ1_0:   {"TQ1_0", 256, 54},
	TQ2_0:   {"TQ2_0", 256, 66},
	36:      {name: "IQ4_NL_4_4"},
	37:      {name: "IQ4_NL_4_8"},
	38:      {name: "IQ4_NL_8_8"},
	MXFP4:   {"MXFP4", 32, 17},
	NVFP4:   {"NVFP4", 64, 36},
	Q1_0:    {"Q1_0", 128, 18},
	Q2_0:    {"Q2_0", 64, 18},
}

// String returns ggml's name of the type, of removed types too, and "type 99" for a number without a name.
func (t Type) String() string {
	if uint64(t) >= uint64(len(types)) {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return types[t].name
}

// Known reports whether t has a defined layout: tensors of other types are refused.
func (t Type) Known() bool { return t.Block() > 0 }

// Removed reports whether t is a type that ggml once wrote and no longer reads.
func (t Type) Removed() bool { return uint64(t) < uint64(len(types)) && types[t].block == 0 }

// Block returns how many elements one block encodes, 0 if t is not known.
func (t Type) Block() int {
	if uint64(t) >= uint64(len(types)) {
		return 0
	}
	return types[t].block
}

// BlockBytes returns the size of one block in bytes, 0 if t is not known.
func (t Type) BlockBytes() int {
	if uint64(t) >= uint64(len(types)) {
		return 0
	}
	return types[t].bytes
}

// RowBytes returns the size in bytes of a row of n elements. It fails if t is not known, if n is not a multiple of
// the block, or if the size does not fit 64 bits.
func (t Type) RowBytes(n uint64) (uint64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	block := uint64(t.Block())
	if n%block != 0 {
		return 0, fmt.Errorf("a row of %d elements is not a whole number of %s blocks of %d", n, t, block)
	}
	hi, size := bits.Mul64(n/block, uint64(t.BlockBytes()))
	if hi != 0 {
		return 0, fmt.Errorf("the size of a %s row of %d elements overflows 64 bits", t, n)
	}
	return size, nil
}

// usable says why a tensor of type t cannot be read.
func (t Type) usable() error {
	switch {
	case t.Removed():
		return fmt.Errorf("type %d (%s) has been removed from ggml: convert the model again to a current type",
			uint32(t), t)
	case !t.Known():
		return fmt.Errorf("unknown tensor type %d, the last known is %d (%s)", uint32(t), len(types)-1,
			Type(len(types)-1))
	}
	return nil
}
