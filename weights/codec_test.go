package weights

import (
	"bytes"
	"encoding/binary"
	"math"
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

// goldenPair returns what llama.cpp encoded in one format, and what it decoded from that. F32 has no encoding of its own
// and uses the values of F16.
func goldenPair(t *testing.T, g *gguf.File, f backend.Format) (enc []byte, values []float32) {
	t.Helper()
	name := ""
	for _, ts := range g.Tensors {
		if ts.Type.String() == f.String() && !strings.HasSuffix(ts.Name, ".f32") {
			name = ts.Name
		}
	}
	if f == backend.F32 {
		name = "f16"
	}
	raw := func(name string) []byte {
		ts, ok := g.Tensor(name)
		if !ok {
			t.Fatalf("golden file lacks tensor %q in %v", name, f)
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

// Every format decodes to the values of llama.cpp, bit for bit, and no type of the golden file is left out.
func TestDecodeGolden(t *testing.T) {
	g := openGolden(t)
	for _, f := range backend.AllFormats() {
		t.Run(f.String(), func(t *testing.T) {
			enc, want := goldenPair(t, g, f)
			got := poisoned(len(want))
			if err := Decode(got, f, enc); err != nil {
				t.Fatal(err)
			}
			wantBits(t, got, want)
		})
	}
	for _, ts := range g.Tensors {
		if _, err := FormatOf(ts.Type); err != nil {
			t.Errorf("golden tensor %s: %v", ts.Name, err)
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
		{backend.Q4_K, 512, 288, ""},
		{backend.Q4_K, 128, 72, "multiple of 256"},
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
	if len(codecs) != len(backend.AllFormats()) {
		t.Fatalf("%d codecs, expected one for each of %v", len(codecs), backend.AllFormats())
	}
	for _, f := range backend.AllFormats() {
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
		if f.Block() != typ.Block() || f.BlockBytes() != typ.BlockBytes() {
			t.Errorf("format %v has blocks of %d in %d bytes, its GGUF type %d in %d", f, f.Block(), f.BlockBytes(), typ.Block(), typ.BlockBytes())
		}
	}
	if _, err := FormatOf(gguf.Q8_K); err == nil || !strings.Contains(err.Error(), "Q8_K") {
		t.Errorf("FormatOf(Q8_K): error %v, expected one that names it", err)
	}
	if _, err := TypeOf(255); err == nil {
		t.Error("TypeOf(255): no error")
	}
}

// FuzzDecode feeds any bytes to every decoder: no panic, and every element written.
func FuzzDecode(f *testing.F) {
	for _, format := range backend.AllFormats() {
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
	for _, f := range backend.AllFormats() {
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
