package backend

import "fmt"

// Format is the encoding of a weight matrix; the names are ggml's.
type Format uint8

const (
	F32 Format = iota
	F16
	BF16
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	nFormats
)

var formats = [nFormats]struct {
	name         string
	block, bytes int
}{
	F32:  {"F32", 1, 4},
	F16:  {"F16", 1, 2},
	BF16: {"BF16", 1, 2},
	Q4_0: {"Q4_0", 32, 18},
	Q4_1: {"Q4_1", 32, 20},
	Q5_0: {"Q5_0", 32, 22},
	Q5_1: {"Q5_1", 32, 24},
	Q8_0: {"Q8_0", 32, 34},
}

// Formats lists every format that a backend must take.
func Formats() []Format {
	fs := make([]Format, nFormats)
	for i := range fs {
		fs[i] = Format(i)
	}
	return fs
}

func (f Format) String() string {
	if f >= nFormats {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return formats[f].name
}

// Block returns how many elements one block encodes.
func (f Format) Block() int { return formats[f].block }

// BlockBytes returns the size of one block in bytes.
func (f Format) BlockBytes() int { return formats[f].bytes }

// RowBytes returns the size of a row of n elements in bytes; n is a multiple of Block.
func (f Format) RowBytes(n int) int { return n / f.Block() * f.BlockBytes() }
