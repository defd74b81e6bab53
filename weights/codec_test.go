package weights

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
)

// openGolden opens the file in which llama.cpp encoded and decoded a matrix in each of its types.
func openGolden(t *testing.T) *gguf.File {
	t.Helper()
	for _, path := range []string{"../testdata/golden/quants.gguf", "../../shared/golden/quants.gguf"} {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := gguf.NewFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return f
	}
	t.Skip("SKIPPED: no golden/quants.gguf")
	return nil
}

// goldenPair returns the encoding and the values of one format. F32 has none of its own and uses those of F16.
func goldenPair(t *testing.T, g *gguf.File, f backend.Format) (enc []byte, values []float32) {
	t.Helper()
	name := strings.ToLower(f.String())
	if f == backend.F32 {
		name = "f16"
	}
	raw := func(name string) []byte {
		ts, ok := g.Tensor(name)
		if !ok {
			t.Fatalf("golden file lacks tensor %s", name)
		}
		data, err := g.Data(ts)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	v := raw(name + ".f32")
	if len(v) != 512*8*4 {
		t.Fatalf("golden tensor %s.f32 has %d bytes, expected %d", name, len(v), 512*8*4)
	}
	values = make([]float32, len(v)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(v[4*i:]))
	}
	if f == backend.F32 {
		return v, values
	}
	return raw(name), values
}

func TestDecodeGolden(t *testing.T) {
	g := openGolden(t)
	for _, f := range backend.Formats() {
		t.Run(f.String(), func(t *testing.T) {
			enc, want := goldenPair(t, g, f)
			got := poisoned(len(want))
			if err := Decode(got, f, enc); err != nil {
				t.Fatal(err)
			}
			wantBits(t, got, want)
		})
	}
}

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

// TestEncodeError bounds the rounding error of an element by the step between the levels of its block.
func TestEncodeError(t *testing.T) {
	for _, f := range backend.Formats() {
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
		s := make([]float32, 32)
		for i := range s {
			s[i] = v
		}
		return s
	}
	for _, f := range backend.Formats() {
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
			enc := make([]byte, f.RowBytes(32))
			err := Encode(enc, f, fill(c.in))
			if (err != nil) != c.err {
				t.Errorf("%v of %s: error %v, expected one: %v", f, c.name, err, c.err)
			}
			if err != nil {
				continue
			}
			got := poisoned(32)
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

func TestLengths(t *testing.T) {
	for _, c := range []struct {
		f       backend.Format
		n, size int
		want    string // "" for none
	}{
		{backend.F32, 0, 0, ""},
		{backend.F32, 3, 12, ""},
		{backend.F32, 3, 11, "expected 12 bytes"},
		{backend.F16, 3, 7, "expected 6 bytes"},
		{backend.BF16, 1, 0, "expected 2 bytes"},
		{backend.Q4_0, 64, 36, ""},
		{backend.Q4_0, 31, 18, "multiple of 32"},
		{backend.Q4_1, 32, 19, "expected 20 bytes"},
		{backend.Q5_0, 32, 23, "expected 22 bytes"},
		{backend.Q5_1, 0, 24, "expected 0 bytes"},
		{backend.Q8_0, 96, 101, "expected 102 bytes"},
		{backend.Format(len(codecs)), 32, 32, "unknown weight format"},
		{backend.Format(255), 0, 0, "unknown weight format"},
	} {
		for _, err := range []error{
			Decode(make([]float32, c.n), c.f, make([]byte, c.size)),
			Encode(make([]byte, c.size), c.f, make([]float32, c.n)),
		} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v, %d elements, %d bytes: %v", c.f, c.n, c.size, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, %d elements, %d bytes: error %v, expected %q", c.f, c.n, c.size, err, c.want)
			}
		}
	}
}

func TestFormatOf(t *testing.T) {
	if len(codecs) != len(backend.Formats()) {
		t.Fatalf("%d codecs, expected one for each of %v", len(codecs), backend.Formats())
	}
	for _, f := range backend.Formats() {
		typ, err := TypeOf(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := FormatOf(typ); err != nil || got != f {
			t.Errorf("FormatOf(%v) = %v, %v, expected %v", typ, got, err, f)
		}
		if typ.String() != f.String() {
			t.Errorf("format %v has GGUF type %v", f, typ)
		}
	}
	if _, err := FormatOf(gguf.Q4_K); err == nil || !strings.Contains(err.Error(), "Q4_K") {
		t.Errorf("FormatOf(Q4_K): error %v, expected one that names it", err)
	}
	if _, err := TypeOf(255); err == nil {
		t.Error("TypeOf(255): no error")
	}
}

// FuzzDecode feeds any bytes to every decoder: no panic, and every element written.
func FuzzDecode(f *testing.F) {
	for _, format := range backend.Formats() {
		f.Add(uint8(format), bytes.Repeat([]byte{0xff, 0x7c, 1}, format.BlockBytes()), uint16(0))
	}
	f.Fuzz(func(t *testing.T, format uint8, data []byte, extra uint16) {
		ff := backend.Format(format)
		if int(format) >= len(codecs) {
			if Decode(make([]float32, extra), ff, data) == nil {
				t.Fatalf("%v: no error", ff)
			}
			return
		}
		n := len(data) / ff.BlockBytes() * ff.Block()
		dst := poisoned(n + int(extra))
		err := Decode(dst, ff, data)
		if ok := extra == 0 && len(data)%ff.BlockBytes() == 0; ok != (err == nil) {
			t.Fatalf("%v: %d bytes, %d elements: %v", ff, len(data), len(dst), err)
		}
		if err != nil {
			return
		}
		for i, v := range dst {
			if math.Float32bits(v) == poison && ff != backend.F32 {
				t.Fatalf("%v: element %d not written", ff, i)
			}
		}
	})
}

// poison is a NaN that no decoder but F32 makes: its lowest bit lies below the mantissa of a half or bfloat16.
const poison = 0x7fc0ffff

func poisoned(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(poison)
	}
	return v
}

func wantBits(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("value %d: got %v (%#08x), want %v (%#08x)",
				i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, f := range backend.Formats() {
		b.Run(f.String(), func(b *testing.B) {
			dst := make([]float32, 4096)
			src := make([]byte, f.RowBytes(len(dst)))
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if err := Decode(dst, f, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
