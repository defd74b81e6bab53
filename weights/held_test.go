package weights

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/gguf/gguftest"
)

// native takes what every backend takes.
func native(f backend.Format) bool { return slices.Contains(backend.Formats(), f) }

func TestHeld(t *testing.T) {
	for _, f := range backend.AllFormats() {
		if got := Held(f, backend.Format.Known); got != f {
			t.Errorf("%v is held as %v by a backend that takes all", f, got)
		}
		want := f
		if !native(f) {
			want = backend.F16
		}
		if got := Held(f, native); got != want {
			t.Errorf("%v is held as %v, expected %v", f, got, want)
		}
	}
}

// heldFile has two tensors of golden IQ3_S, one of IQ1_M, one of Q4_K, and a vector.
func heldFile(t *testing.T) *gguf.File {
	t.Helper()
	g := openGolden(t)
	w := gguf.NewWriter()
	w.Set("general.architecture", "test")
	for name, f := range map[string]backend.Format{"a": backend.IQ3_S, "b": backend.IQ1_M, "c": backend.IQ3_S, "d": backend.Q4_K} {
		enc, _ := goldenPair(t, g, f)
		typ, err := TypeOf(f)
		if err != nil {
			t.Fatal(err)
		}
		w.Add(name, typ, []uint64{512, 8}, enc)
	}
	w.Add("v", gguf.F32, []uint64{2}, make([]byte, 8))
	return gguftest.File(t, w)
}

// A backend gets F16 for what it does not take, and DecodeHeld tells the values that it has, bit for bit.
func TestLoadReencodes(t *testing.T) {
	f := heldFile(t)
	var m [4]backend.Weight
	var v backend.Tensor
	slots := []Slot{{Name: "v", Rows: 1, N: 2, Vector: &v}}
	for i, name := range []string{"a", "b", "c", "d"} {
		slots = append(slots, Slot{Name: name, Rows: 8, N: 512, Matrix: &m[i]})
	}
	b := Bind(f, slots)
	want := []string{"1 tensor in IQ1_M is re-encoded to F16", "2 tensors in IQ3_S are re-encoded to F16"}
	if got := b.Notes(native); !slices.Equal(got, want) {
		t.Errorf("notes %q, expected %q", got, want)
	}
	if got := b.Notes(backend.Format.Known); got != nil {
		t.Errorf("notes %q for a backend that takes all", got)
	}
	d := newDevice()
	if err := b.Load(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b", "c", "d"} {
		format := backend.F16
		if name == "d" {
			format = backend.Q4_K
		}
		if m[i] != (matrix{name, format, 8, 512}) {
			t.Errorf("%s: got %+v, expected [8, 512] %v", name, m[i], format)
		}
		onDevice := poisoned(8 * 512)
		if err := Decode(onDevice, format, d.encoded[name]); err != nil {
			t.Fatal(err)
		}
		held, err := DecodeHeld(f, name, native)
		if err != nil {
			t.Fatal(err)
		}
		wantBits(t, held, onDevice)
		exact, err := DecodeTensor(f, name)
		if err != nil {
			t.Fatal(err)
		}
		if e := nmse(held, exact); e > 1e-7 || slices.Equal(held, exact) != (name == "d") {
			t.Errorf("%s: held values are off by NMSE %.2g, expected a rounding to F16", name, e)
		}
		all, err := DecodeHeld(f, name, backend.Format.Known)
		if err != nil {
			t.Fatal(err)
		}
		wantBits(t, all, exact)
	}
	if _, err := DecodeHeld(f, "gone", native); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a missing tensor: error %v", err)
	}
}

func TestRecode(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	f32 := func(at int, v float32) []byte {
		b := make([]byte, 4*3*256)
		for i := range 3 * 256 {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(i)/256-1))
		}
		binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(v))
		return b
	}
	for _, c := range []struct {
		name    string
		src     []byte
		to      backend.Format
		rows, n int
		want    string
	}{
		{"rows", f32(0, 5), backend.Q8_0, 3, 256, ""},
		{"one row", f32(0, 5), backend.BF16, 1, 768, ""},
		{"no rows", nil, backend.F16, 0, 768, ""},
		{"infinity", f32(300, inf), backend.Q4_0, 3, 256, "element 300 is +Inf"},
		{"NaN", f32(767, nan), backend.F16, 3, 256, "element 767 is NaN"},
		{"two, of which the first is told", append(f32(1, nan)[:512*4], f32(600, nan)[512*4:]...), backend.F16, 3, 256, "element 1 is NaN"},
		{"beyond F16", f32(513, 65520), backend.F16, 3, 256, "element 513 is beyond the range of F16"},
		{"largest F16", f32(513, 65519), backend.F16, 3, 256, ""},
		{"beyond BF16", f32(5, math.MaxFloat32), backend.BF16, 3, 256, "element 5 is beyond the range of BF16"},
		{"no encoder", f32(0, 1), backend.IQ3_S, 3, 256, "IQ3_S can be read but not written"},
		{"half a block", f32(0, 1), backend.Q4_K, 6, 128, "6 rows of 128 elements are not possible in Q4_K"},
		{"missing bytes", f32(0, 1)[4:], backend.F16, 3, 256, "found 3068 and"},
		{"unknown format", f32(0, 1), backend.Format(200), 3, 256, "Format(200)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dst []byte
			if c.to.Known() {
				dst = make([]byte, c.rows*c.n/c.to.Block()*c.to.BlockBytes())
			}
			err := Recode(dst, c.to, c.src, backend.F32, c.rows, c.n)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, expected %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			values, want := make([]float32, c.rows*c.n), make([]byte, len(dst))
			if err := Decode(values, backend.F32, c.src); err != nil {
				t.Fatal(err)
			}
			if err := Encode(want, c.to, values); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(dst, want) {
				t.Error("the bytes differ from those of one Encode of the whole")
			}
		})
	}
}
