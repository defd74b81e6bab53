//go:build cgo

package gpu

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// sameRows embeds every row of a weight and compares it with want, bit for bit.
func sameRows(t *testing.T, b *Backend, f backend.Format, rows, n int, data []byte, want []float32) {
	t.Helper()
	w := b.LoadWeight("w", f, rows, n, data)
	dst := filled(t, b, "dst", rows, n, func(int, int) float32 { return 99 })
	tokens := make([]uint32, rows)
	for i := range tokens {
		tokens[i] = uint32(i)
	}
	pos := uploaded(b, "tokens", tokens)
	b.Embed(dst, w, pos)
	got := read(t, b, dst)
	for i := range want {
		if g, w := math.Float32bits(got[i]), math.Float32bits(want[i]); g != w {
			t.Errorf("[%d, %d]: found %g (%#08x), expected %g (%#08x)", i/n, i%n, got[i], g, want[i], w)
			break
		}
	}
	b.FreeWeight(w)
	b.Free(dst)
	b.Free(pos)
}

// layouts are the ways in which a weight's rows lie on the device.
var layouts = []struct {
	name string
	pack Pack
}{{"as in the file", PackNever}, {"packed", PackAlways}}

// eachLayout runs a test on a backend of each layout.
func eachLayout(t *testing.T, test func(t *testing.T, b *Backend)) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) { test(t, open(t, Options{Pack: l.pack})) })
	}
}

// Every format of the golden file that has a decoder in WGSL gives llama.cpp's values, bit for bit.
func TestDecodeGolden(t *testing.T) { eachLayout(t, decodeGolden) }

func decodeGolden(t *testing.T, b *Backend) {
	g, err := gguf.Open("../testdata/golden/quants.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	checked := map[backend.Format]bool{backend.F32: true} // its tensors are the values
	for i := range g.Tensors {
		ts := &g.Tensors[i]
		f, err := weights.FormatOf(ts.Type)
		if err != nil || !b.Takes(f) || strings.HasSuffix(ts.Name, ".f32") {
			continue
		}
		t.Run(ts.Name, func(t *testing.T) {
			data, err := g.Data(ts)
			if err != nil {
				t.Fatal(err)
			}
			want, err := weights.DecodeTensor(g, ts.Name+".f32")
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, b, f, ts.Rows(), ts.N(), data, want)
		})
		checked[f] = true
	}
	for _, f := range backend.Formats() {
		if !checked[f] {
			t.Errorf("the golden file has nothing in %v", f)
		}
	}
}

// Every half as a scale, subnormal ones among them, gives the host's values: blocks of Q4_1 with the scale h and the
// minimum h.
func TestEveryHalf(t *testing.T) { eachLayout(t, everyHalf) }

func everyHalf(t *testing.T, b *Backend) {
	const n = 1 << 10
	var data []byte
	for h := range uint16(0xffff) {
		if h&0x7c00 == 0x7c00 {
			continue // infinities and NaNs
		}
		block := make([]byte, backend.Q4_1.BlockBytes())
		binary.LittleEndian.PutUint16(block, h)
		binary.LittleEndian.PutUint16(block[2:], h^0x8000)
		for i := range block[4:] {
			block[4+i] = byte(i<<4 | i)
		}
		data = append(data, block...)
	}
	data = data[:len(data)/backend.Q4_1.RowBytes(n)*backend.Q4_1.RowBytes(n)]
	rows := len(data) / backend.Q4_1.RowBytes(n)
	want := make([]float32, rows*n)
	if err := weights.Decode(want, backend.Q4_1, data); err != nil {
		t.Fatal(err)
	}
	sameRows(t, b, backend.Q4_1, rows, n, data, want)
}

// Every exponent and every level of MXFP4, from subnormal floats to infinity.
func TestEveryMXFP4(t *testing.T) { eachLayout(t, everyMXFP4) }

func everyMXFP4(t *testing.T, b *Backend) {
	var data []byte
	for e := range 256 {
		block := make([]byte, backend.MXFP4.BlockBytes())
		block[0] = byte(e)
		for i := range block[1:] {
			block[1+i] = byte(i<<4 | 15 - i)
		}
		data = append(data, block...)
	}
	want := make([]float32, 256*32)
	if err := weights.Decode(want, backend.MXFP4, data); err != nil {
		t.Fatal(err)
	}
	sameRows(t, b, backend.MXFP4, 256, 32, data, want)
}

func TestPartRows(t *testing.T) {
	for _, c := range []struct {
		f        backend.Format
		maxBytes int64
		n, want  int
	}{
		{backend.F32, 1 << 27, 4096, 8192},
		{backend.Q8_0, 1 << 27, 4096, (1 << 27) / (4096 / 32 * 34)},
		{backend.F16, 1<<31 - 4, 4096, 1<<18 - 1},
		{backend.Q2_K, 1<<31 - 4, 4096, 1<<20 - 1}, // 1,597,830 rows would fit by their bytes
		{backend.Q2_K, 84, 256, 1},
	} {
		if got := partRows(c.maxBytes, c.f.RowBytes(c.n), c.n); got != c.want {
			t.Errorf("%v rows of %d in %d bytes: %d, expected %d", c.f, c.n, c.maxBytes, got, c.want)
		}
	}
}
