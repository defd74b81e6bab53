// Package weights takes the tensors of a GGUF file to where the model needs them: it decodes and encodes the block
// formats, binds file tensors to model slots by name, and uploads them with progress.
package weights

import (
	"fmt"

	"cera/backend"
	"cera/gguf"
)

// codec converts whole blocks of one format; lengths are already checked. encode is only called with finite values, and
// nil where there is a decoder alone.
type codec struct {
	typ    gguf.Type
	decode func(dst []float32, src []byte)
	encode func(dst []byte, src []float32)
}

var codecs = [...]codec{
	backend.F32:     {gguf.F32, decodeF32, encodeF32},
	backend.F16:     {gguf.F16, decodeF16, encodeF16},
	backend.BF16:    {gguf.BF16, decodeBF16, encodeBF16},
	backend.Q4_0:    {gguf.Q4_0, decodeQ4_0, encodeQ4_0},
	backend.Q4_1:    {gguf.Q4_1, decodeQ4_1, encodeQ4_1},
	backend.Q5_0:    {gguf.Q5_0, decodeQ5_0, encodeQ5_0},
	backend.Q5_1:    {gguf.Q5_1, decodeQ5_1, encodeQ5_1},
	backend.Q8_0:    {gguf.Q8_0, decodeQ8_0, encodeQ8_0},
	backend.Q2_K:    {gguf.Q2_K, decodeQ2_K, nil},
	backend.Q3_K:    {gguf.Q3_K, decodeQ3_K, nil},
	backend.Q4_K:    {gguf.Q4_K, decodeQ4_K, encodeQ4_K},
	backend.Q5_K:    {gguf.Q5_K, decodeQ5_K, nil},
	backend.Q6_K:    {gguf.Q6_K, decodeQ6_K, nil},
	backend.IQ4_NL:  {gguf.IQ4_NL, decodeIQ4_NL, nil},
	backend.IQ4_XS:  {gguf.IQ4_XS, decodeIQ4_XS, nil},
	backend.MXFP4:   {gguf.MXFP4, decodeMXFP4, nil},
	backend.Q1_0:    {gguf.Q1_0, decodeQ1_0, nil},
	backend.Q2_0:    {gguf.Q2_0, decodeQ2_0, nil},
	backend.TQ1_0:   {gguf.TQ1_0, decodeTQ1_0, nil},
	backend.TQ2_0:   {gguf.TQ2_0, decodeTQ2_0, nil},
	backend.IQ1_S:   {gguf.IQ1_S, decodeIQ1_S, nil},
	backend.IQ1_M:   {gguf.IQ1_M, decodeIQ1_M, nil},
	backend.IQ2_XXS: {gguf.IQ2_XXS, decodeIQ2_XXS, nil},
	backend.IQ2_XS:  {gguf.IQ2_XS, decodeIQ2_XS, nil},
	backend.IQ2_S:   {gguf.IQ2_S, decodeIQ2_S, nil},
	backend.IQ3_XXS: {gguf.IQ3_XXS, decodeIQ3_XXS, nil},
	backend.IQ3_S:   {gguf.IQ3_S, decodeIQ3_S, nil},
	backend.NVFP4:   {gguf.NVFP4, decodeNVFP4, nil},
}

// FormatOf returns the weight format of a GGUF tensor type, or an error that names a type without decoder.
func FormatOf(t gguf.Type) (backend.Format, error) {
	for f, c := range codecs {
		if c.typ == t {
			return backend.Format(f), nil
		}
	}
	return 0, fmt.Errorf("tensor type %v is not supported, expected one of %v", t, backend.AllFormats())
}

// CanEncode reports whether Encode writes format f.
func CanEncode(f backend.Format) bool { return f.Known() && codecs[f].encode != nil }

// TypeOf returns the GGUF tensor type of a weight format, the inverse of FormatOf.
func TypeOf(f backend.Format) (gguf.Type, error) {
	if !f.Known() {
		return 0, fmt.Errorf("unknown weight format %v", f)
	}
	return codecs[f].typ, nil
}

// Decode writes the len(dst) elements that src encodes in format f to dst. len(dst) must be a multiple of f's block
// and src exactly as long as its encoding. The values are the ones llama.cpp decodes, bit for bit.
func Decode(dst []float32, f backend.Format, src []byte) error {
	if err := checkLen(f, len(dst), len(src)); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	codecs[f].decode(dst, src)
	return nil
}

// Encode writes src in format f to dst, each element rounded to the nearest value its block can hold. len(src) must be
// a multiple of f's block and dst exactly as long as the encoding. Block formats store their scale as a half and have
// no infinities or NaNs: such elements are an error, and blocks beyond the scale's range saturate. Not every format has an
// encoder; see CanEncode.
func Encode(dst []byte, f backend.Format, src []float32) error {
	if err := checkLen(f, len(src), len(dst)); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if !CanEncode(f) {
		return fmt.Errorf("encode: %v can be read but not written", f)
	}
	if f.Block() > 1 {
		for i, v := range src {
			if v-v != 0 {
				return fmt.Errorf("encode: element %d is %v, %v holds finite values only", i, v, f)
			}
		}
	}
	codecs[f].encode(dst, src)
	return nil
}

// checkLen checks n elements against the size of their encoding, without multiplying what a caller passed.
func checkLen(f backend.Format, n, size int) error {
	if !f.Known() {
		return fmt.Errorf("unknown weight format %v", f)
	}
	if n%f.Block() != 0 {
		return fmt.Errorf("%v: %d elements, expected a multiple of %d", f, n, f.Block())
	}
	if want := f.RowBytes(n); size != want {
		return fmt.Errorf("%v: %d elements in %d bytes, expected %d bytes", f, n, size, want)
	}
	return nil
}
