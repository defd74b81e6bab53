package weights

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cera/backend"
	"cera/gguf"
	"cera/gguf/gguftest"
)

// scanFile is a file of one tensor in rows of row elements.
func scanFile(t *testing.T, typ gguf.Type, row int, data []byte) *gguf.File {
	t.Helper()
	rowBytes, err := typ.RowBytes(uint64(row))
	if err != nil {
		t.Fatal(err)
	}
	w := gguf.NewWriter()
	w.Add("w", typ, []uint64{uint64(row), uint64(len(data)) / rowBytes}, data)
	return gguftest.File(t, w)
}

// Random bytes of every format hold what a count over all decoded elements finds, across the pieces that are decoded at a
// time; zeros hold nothing.
func TestScan(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	const row, rows = 256, 3 * scanElements / 256
	for _, f := range backend.AllFormats() {
		t.Run(f.String(), func(t *testing.T) {
			typ, err := TypeOf(f)
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, rows*f.RowBytes(row))
			file := scanFile(t, typ, row, data)
			if got, err := Scan(file, &file.Tensors[0]); err != nil || got.Any() || got != (NonFinite{}) {
				t.Errorf("zeros: %+v, %v", got, err)
			}
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			v := make([]float32, rows*row)
			if err := Decode(v, f, data); err != nil {
				t.Fatal(err)
			}
			want := NonFinite{First: -1}
			for i, x := range v {
				bad := true
				switch x := float64(x); {
				case math.IsNaN(x):
					want.NaN++
				case math.IsInf(x, 0):
					want.Inf++
				default:
					bad = false
				}
				if bad && want.First < 0 {
					want.First, want.Value = i, x
				}
			}
			file = scanFile(t, typ, row, data)
			got, err := Scan(file, &file.Tensors[0])
			if err != nil {
				t.Fatal(err)
			}
			if got.Any() != (want.First >= 0) {
				t.Fatalf("found %+v, expected %+v", got, want)
			}
			if !got.Any() {
				return
			}
			if got.NaN != want.NaN || got.Inf != want.Inf || got.First != want.First || math.Float32bits(got.Value) != math.Float32bits(want.Value) {
				t.Errorf("found %+v, expected %+v", got, want)
			}
		})
	}
}

// One element is found wherever it is, and told from its neighbours.
func TestScanOne(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, bad := range []float32{float32(math.NaN()), inf, -inf} {
		for _, n := range []int{1, 2, scanElements - 1, scanElements, scanElements + 1, 5*scanElements + 7} {
			for _, at := range []int{0, n / 2, n - 1} {
				v := make([]float32, n)
				for i := range v {
					v[i] = math.MaxFloat32
				}
				v[at] = bad
				data := make([]byte, 4*n)
				encodeF32(data, v)
				file := scanFile(t, gguf.F32, n, data)
				got, err := Scan(file, &file.Tensors[0])
				if err != nil || got.NaN+got.Inf != 1 || got.First != at || math.Float32bits(got.Value) != math.Float32bits(bad) ||
					(got.NaN == 1) != (bad != bad) {
					t.Errorf("%v at %d of %d: %+v, %v", bad, at, n, got, err)
				}
			}
		}
	}
}

func TestScanNoDecoder(t *testing.T) {
	file := scanFile(t, gguf.I32, 4, make([]byte, 16))
	if _, err := Scan(file, &file.Tensors[0]); err == nil || !strings.Contains(err.Error(), `tensor "w"`) || !strings.Contains(err.Error(), "I32") {
		t.Errorf("error %v, expected one about I32", err)
	}
}
