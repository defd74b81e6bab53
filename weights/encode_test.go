package weights

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cera/backend"
)

// Encoding what llama.cpp decoded must give back its bytes where the values leave one choice: in the other formats its
// search for a scale need not reach the last level, so that other blocks hold the same values.
func TestEncodeGolden(t *testing.T) {
	g := openGolden(t)
	for _, f := range []backend.Format{backend.F32, backend.F16, backend.BF16, backend.Q8_0} {
		t.Run(f.String(), func(t *testing.T) {
			want, values := goldenPair(t, g, f)
			got := make([]byte, len(want))
			if err := Encode(got, f, values); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("byte %d (block %d, byte %d of it): got %#02x, want %#02x",
						i, i/f.BlockBytes(), i%f.BlockBytes(), got[i], want[i])
				}
			}
		})
	}
}

// TestEncodeQ4_K compares the error of our encoding with that of llama.cpp's, which searches in another way and weighs
// large elements more, a row at a time. What both encode is at hand as F16, whose own error is a hundredth.
func TestEncodeQ4_K(t *testing.T) {
	const rows, n = 8, 512
	g := openGolden(t)
	_, original := goldenPair(t, g, backend.F16)
	enc, theirs := goldenPair(t, g, backend.Q4_K)
	if err := Encode(enc, backend.Q4_K, original); err != nil {
		t.Fatal(err)
	}
	ours := poisoned(len(original))
	if err := Decode(ours, backend.Q4_K, enc); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for r := range rows {
		row := func(v []float32) []float32 { return v[r*n:][:n] }
		ratio := math.Sqrt(nmse(row(ours), row(original)) / nmse(row(theirs), row(original)))
		t.Logf("row %d: %.3f of llama.cpp's RMS error", r, ratio)
		if !(ratio < 1.05) {
			t.Errorf("row %d: %.3f of llama.cpp's RMS error, expected at most 1.05", r, ratio)
		}
		sum += ratio / rows
	}
	if !(sum < 1.01) {
		t.Errorf("on average %.3f of llama.cpp's RMS error, expected at most 1.01", sum)
	}
}

// encodable lists the formats that have an encoder.
func encodable() []backend.Format {
	return slices.DeleteFunc(backend.AllFormats(), func(f backend.Format) bool { return !CanEncode(f) })
}

// TestEncodeError bounds the rounding error of an element by the step between the levels of its block.
func TestEncodeError(t *testing.T) {
	for _, f := range encodable() {
		for _, scale := range []float32{0.05, 1, 300} {
			rng := rand.New(rand.NewPCG(7, uint64(f)))
			src := make([]float32, 64*32)
			for i := range src {
				src[i] = scale * (rng.Float32() - 0.3)
			}
			enc := make([]byte, f.RowBytes(len(src)))
			if err := Encode(enc, f, src); err != nil {
				t.Fatal(err)
			}
			got := poisoned(len(src))
			if err := Decode(got, f, enc); err != nil {
				t.Fatal(err)
			}
			for i, v := range src {
				block := src[i/32*32:][:32]
				lo, hi := extent(block)
				var bound float64
				switch f {
				case backend.F16:
					bound = math.Abs(float64(v))*0x1p-11 + 0x1p-25
				case backend.BF16:
					bound = math.Abs(float64(v)) * 0x1p-8
				case backend.Q8_0:
					bound = math.Abs(extreme(block)) / 127 * 0.57 // half a step; 1/16 of one for the scale's own rounding
				case backend.Q4_0:
					bound = math.Abs(extreme(block)) / 8 * 1.01 // the short side ends one step early
				case backend.Q5_0:
					bound = math.Abs(extreme(block)) / 16 * 1.01
				case backend.Q4_1:
					bound = (hi-lo)/15*0.51 + math.Abs(lo)*0x1p-11
				case backend.Q5_1:
					bound = (hi-lo)/31*0.52 + math.Abs(lo)*0x1p-11
				case backend.Q4_K:
					// Up to 1.5 steps are cut off at the ends for smaller ones between; scale and minimum have six bits.
					bound = (hi - min(lo, 0)) * (2.0/15 + 2.0/63)
				}
				if e := math.Abs(float64(got[i]) - float64(v)); !(e <= bound) {
					t.Fatalf("%v at scale %v: element %d is %v, decoded %v: off by %g, bound %g", f, scale, i, v, got[i], e, bound)
				}
			}
		}
	}
}

func TestEncodeEdges(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	fill := func(v float32) []float32 {
		s := make([]float32, 256)
		for i := range s {
			s[i] = v
		}
		return s
	}
	for _, f := range encodable() {
		block := f.Block() > 1
		for _, c := range []struct {
			name string
			in   float32
			ok   func(got float32) bool
			err  bool
		}{
			{"zero", 0, func(g float32) bool { return g == 0 }, false},
			{"subnormal", 1e-44, func(g float32) bool { return math.Abs(float64(g)) <= 2e-44 }, false},
			{"huge", 3e38, func(g float32) bool { return g > 0 && (!block || g-g == 0) }, false},
			{"infinity", inf, func(g float32) bool { return g == inf }, block},
			{"NaN", nan, func(g float32) bool { return g != g }, block},
		} {
			enc := make([]byte, f.RowBytes(256))
			err := Encode(enc, f, fill(c.in))
			if (err != nil) != c.err {
				t.Errorf("%v of %s: error %v, expected one: %v", f, c.name, err, c.err)
			}
			if err != nil {
				continue
			}
			got := poisoned(256)
			if err := Decode(got, f, enc); err != nil {
				t.Fatal(err)
			}
			for i, g := range got {
				if !c.ok(g) {
					t.Errorf("%v of %s: element %d decodes to %v", f, c.name, i, g)
					break
				}
			}
		}
	}
}

// A format without encoder says so and writes nothing.
func TestNoEncoder(t *testing.T) {
	for _, f := range backend.AllFormats() {
		if CanEncode(f) {
			continue
		}
		enc := make([]byte, f.RowBytes(256))
		src := make([]float32, 256)
		for i := range src {
			src[i] = 1
		}
		err := Encode(enc, f, src)
		if err == nil || !strings.Contains(err.Error(), f.String()+" can be read but not written") {
			t.Errorf("%v: error %v, expected one that names it", f, err)
		}
		if slices.Max(enc) != 0 {
			t.Errorf("%v: something was written", f)
		}
	}
	if CanEncode(backend.Format(len(codecs))) {
		t.Error("an unknown format can be encoded")
	}
}

func TestBF16RoundsToEven(t *testing.T) {
	for _, c := range []struct{ in, want uint32 }{
		{0x3f808000, 0x3f80}, // tie, even below
		{0x3f818000, 0x3f82}, // tie, even above
		{0x3f808001, 0x3f81},
		{0x3f807fff, 0x3f80},
		{0x7f7fffff, 0x7f80}, // to infinity
		{0x7f800001, 0x7fc0}, // a NaN stays one
		{0xff800000, 0xff80},
	} {
		var b [2]byte
		encodeBF16(b[:], []float32{math.Float32frombits(c.in)})
		if got := binary.LittleEndian.Uint16(b[:]); uint32(got) != c.want {
			t.Errorf("%#08x: got %#04x, want %#04x", c.in, got, c.want)
		}
	}
}
