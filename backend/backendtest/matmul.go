package backendtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
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
// zeros, subnormal halves, the largest half.
func encode(t *testing.T, be backend.Backend, f backend.Format, rows, n int, seed uint64) *matrix {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(f)))
	values := make([]float32, rows*n)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	for i, v := range []float32{0, float32(math.Copysign(0, -1)), 0x1p-24, -0x1.ffcp-15, 0x1p-14} {
		if f.Block() == 1 && i < len(values) {
			values[i] = v
		}
	}
	data := make([]byte, rows*f.RowBytes(n))
	if err := weights.Encode(data, f, values); err != nil {
		t.Fatal(err)
	}
	// A block whose scale is a subnormal half.
	if f.Block() > 1 && rows > 1 {
		binary.LittleEndian.PutUint16(data[f.RowBytes(n):], 0x8155)
	}
	m := &matrix{be.LoadWeight(fmt.Sprintf("test %s", f), f, rows, n, data), make([]float32, rows*n), n}
	if err := weights.Decode(m.decoded, f, data); err != nil {
		t.Fatal(err)
	}
	return m
}

// widths returns row lengths in elements that a format can have, and that no wide load divides.
func widths(f backend.Format) []int {
	if f.Block() > 1 {
		return []int{32, 96, 352, 1056}
	}
	return []int{1, 3, 31, 64, 257, 1025}
}

func testEmbed(t *testing.T, be backend.Backend) {
	for _, f := range backend.Formats() {
		for _, n := range widths(f) {
			const vocab = 37
			table := encode(t, be, f, vocab, n, 1)
			tokens := []uint32{0, 36, 5, 5, 1, 17, 36}
			dst := poisoned(be, len(tokens), n, n+3)
			pos := ids(be, tokens)
			be.Embed(dst.t, table.w, pos)
			dst.expect(t, fmt.Sprintf("%s, n %d", f, n), func(r, i int) (float64, float64) {
				return float64(table.at(int(tokens[r]), i)), 0
			})
			dst.free()
			be.Free(pos)
			be.FreeWeight(table.w)
		}
	}
}

func testMatMul(t *testing.T, be backend.Backend) {
	for _, f := range backend.Formats() {
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
