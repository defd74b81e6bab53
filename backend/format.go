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
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	IQ4_NL
	IQ4_XS
	MXFP4
	nNative // the formats before it are those that every backend takes

	Q1_0 Format = iota - 1
	Q2_0
	TQ1_0
	TQ2_0
	IQ1_S
	IQ1_M
	IQ2_XXS
	IQ2_XS
	IQ2_S
	IQ3_XXS
	IQ3_S
	NVFP4
	nFormats
)

var formats = [nFormats]struct {
	name         string
	block, bytes int
}{
	F32:     {"F32", 1, 4},
	F16:     {"F16", 1, 2},
	BF16:    {"BF16", 1, 2},
	Q4_0:    {"Q4_0", 32, 18},
	Q4_1:    {"Q4_1", 32, 20},
	Q5_0:    {"Q5_0", 32, 22},
	Q5_1:    {"Q5_1", 32, 24},
	Q8_0:    {"Q8_0", 32, 34},
	Q2_K:    {"Q2_K", 256, 84},
	Q3_K:    {"Q3_K", 256, 110},
	Q4_K:    {"Q4_K", 256, 144},
	Q5_K:    {"Q5_K", 256, 176},
	Q6_K:    {"Q6_K", 256, 210},
	IQ4_NL:  {"IQ4_NL", 32, 18},
	IQ4_XS:  {"IQ4_XS", 256, 136},
	MXFP4:   {"MXFP4", 32, 17},
	Q1_0:    {"Q1_0", 128, 18},
	Q2_0:    {"Q2_0", 64, 18},
	TQ1_0:   {"TQ1_0", 256, 54},
	TQ2_0:   {"TQ2_0", 256, 66},
	IQ1_S:   {"IQ1_S", 256, 50},
	IQ1_M:   {"IQ1_M", 256, 56},
	IQ2_XXS: {"IQ2_XXS", 256, 66},
	IQ2_XS:  {"IQ2_XS", 256, 74},
	IQ2_S:   {"IQ2_S", 256, 82},
	IQ3_XXS: {"IQ3_XXS", 256, 98},
	IQ3_S:   {"IQ3_S", 256, 110},
	NVFP4:   {"NVFP4", 64, 36},
}

// Formats lists every format that a backend must take.
func Formats() []Format { return AllFormats()[:nNative] }

// AllFormats lists every format there is. A backend need not take those that Formats lacks; see Backend.Takes.
func AllFormats() []Format {
	fs := make([]Format, nFormats)
	for i := range fs {
		fs[i] = Format(i)
	}
	return fs
}

// Known reports whether f is one of AllFormats. Block, BlockBytes and RowBytes are for known formats only.
func (f Format) Known() bool { return f < nFormats }

func (f Format) String() string {
	if !f.Known() {
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
