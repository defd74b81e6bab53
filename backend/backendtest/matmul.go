package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/weights"
)

// matrix is a weight on the device with its decoded values.
type matrix struct {
	w       backend.Weight
	decoded []float32
	n       int
}

func (m *matrix) at(r, i int) float32 { return m.decoded[r*m.n+i] }

// encode makes a random matrix in a format. Values that stand for edge cases of the encoding are among them: signed
// zeros, subnormal halves, and in a format of blocks one whose scales are subnormal halves.
func encode(t *testing.T, be backend.Backend, f backend.Format, rows, n int, seed uint64) *matrix {
	t.Helper()
	data := RandomBlocks(f, rows, n, seed)
	m := &matrix{decoded: make([]float32, rows*n), n: n}
	if f.Block() == 1 {
		rng := rand.New(rand.NewPCG(seed, uint64(f)))
		for i := range m.decoded {
			m.decoded[i] = float32(rng.NormFloat64())
		}
		copy(m.decoded, []float32{0, float32(math.Copysign(0, -1)), 0x1p-24, -0x1.ffcp-15, 0x1p-14})
		if err := weights.Encode(data, f, m.decoded); err != nil {
			t.Fatal(err)
		}
	}
	if err := weights.Decode(m.decoded, f, data); err != nil {
		t.Fatal(err)
	}
	m.w = be.LoadWeight(fmt.Sprintf("test %s", f), f, rows, n, data)
	return m
}

// widths returns row lengths in elements that a format can have, and that no wide load divides.
func widths(f backend.Format) []int {
	switch block := f.Block(); {
	case block == 1:
		return []int{1, 3, 31, 64, 257, 1025}
	case block <= 32:
		return []int{block, 3 * block, 11 * block, 33 * block}
	default:
		return []int{block, 3 * block, 5 * block}
	}
}

// taken returns the formats that a backend takes, which must be all of Formats.
func taken(t *testing.T, be backend.Backend) []backend.Format {
	t.Helper()
	var fs []backend.Format
	for _, f := range backend.AllFormats() {
		if be.Takes(f) {
			fs = append(fs, f)
		} else if slices.Contains(backend.Formats(), f) {
			t.Errorf("%v is not taken", f)
		}
	}
	return fs
}

// testFormats holds Takes against LoadWeight: what is not taken, and what no format is, must be refused.
func testFormats(t *testing.T, be backend.Backend) {
	unknown := backend.Format(len(backend.AllFormats()))
	for _, f := range append(backend.AllFormats(), unknown, 255) {
		n, data := 256, []byte(nil)
		if f.Known() {
			data = RandomBlocks(f, 2, n, 1)
		}
		w := be.LoadWeight("any format", f, 2, n, data)
		err := be.Flush()
		switch {
		case be.Takes(f) && (err != nil || w == nil || !f.Known()):
			t.Errorf("%v is taken, but loaded with error %v", f, err)
		case !be.Takes(f) && (err == nil || !strings.Contains(err.Error(), f.String())):
			t.Errorf("%v is not taken, but loaded with error %v", f, err)
		}
		be.FreeWeight(w)
	}
}

// testEmbed compares bits: the sign of a zero counts as well.
func testEmbed(t *testing.T, be backend.Backend) {
	for _, f := range taken(t, be) {
		for _, n := range widths(f) {
			const vocab = 37
			table := encode(t, be, f, vocab, n, 1)
			tokens := []uint32{0, 36, 5, 5, 1, 17, 36}
			dst := poisoned(be, len(tokens), n, n+3)
			pos := ids(be, tokens)
			be.Embed(dst.t, table.w, pos)
			what := fmt.Sprintf("%s, n %d", f, n)
			dst.expect(t, what, func(r, i int) (float64, float64) {
				return float64(table.at(int(tokens[r]), i)), 0
			})
			got := make([]float32, len(tokens)*n)
			if err := be.Read(got, dst.t); err != nil {
				t.Fatal(err)
			}
			for i, g := range got {
				if w := table.at(int(tokens[i/n]), i%n); math.Float32bits(g) != math.Float32bits(w) {
					t.Fatalf("%s: [%d, %d] is %g, want %g", what, i/n, i%n, g, w)
				}
			}
			dst.free()
			be.Free(pos)
			be.FreeWeight(table.w)
		}
	}
}

// testMatMul covers the matrix-vector product and the product of many rows in every format, with row lengths and row
// counts that no tile divides.
func testMatMul(t *testing.T, be backend.Backend) {
	for _, f := range taken(t, be) {
		for j, k := range widths(f) {
			for _, rows := range []int{1, 2, 7, 8, 9, 33, 70} {
				m := []int{1, 5, 64, 131}[(j+rows)%4]
				matMul(t, be, f, rows, m, k, (j+rows)%3)
			}
		}
	}
	// More outputs than one dimension of a grid holds, and a long inner product.
	matMul(t, be, backend.F32, 1, 70000, 3, 0)
	matMul(t, be, backend.F32, 1, 3, 16385, 0)
}

// matMul checks one shape.
func matMul(t *testing.T, be backend.Backend, f backend.Format, rows, m, k, pad int) {
	t.Helper()
	w := encode(t, be, f, m, k, 2)
	x, dst := put(be, rows, k, k+pad, random(3, 1)), poisoned(be, rows, m, m+pad)
	be.MatMul(dst.t, x.t, w.w)
	what := fmt.Sprintf("%s, %d × %d × %d, padding %d", f, rows, m, k, pad)
	dst.expect(t, what, func(r, o int) (float64, float64) {
		var sum, abs float64
		for i := range k {
			p := float64(x.at(r, i)) * float64(w.at(o, i))
			sum += p
			abs += math.Abs(p)
		}
		return sum, check.DotBound(k, abs)
	})
	x.unchanged(t, what+": x")
	x.free()
	dst.free()
	be.FreeWeight(w.w)
}
