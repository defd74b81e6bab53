package weights

import (
	"fmt"
	"runtime"

	"cera/backend"
	"cera/gguf"
	"cera/internal/cores"
)

// recoded is the format of matrices whose own the backend does not take: every backend takes it, and it keeps eleven
// significant bits.
const recoded = backend.F16

// Held returns the format in which a backend holds a matrix that the file has in format f: f itself where the backend
// takes it, and else F16.
func Held(f backend.Format, takes func(backend.Format) bool) backend.Format {
	if takes(f) {
		return f
	}
	return recoded
}

// DecodeHeld is DecodeTensor for the values that a backend holds after Load: those of a format that it does not take are
// rounded to F16.
func DecodeHeld(f *gguf.File, name string, takes func(backend.Format) bool) ([]float32, error) {
	v, err := DecodeTensor(f, name)
	if err != nil {
		return nil, err
	}
	t, _ := f.Tensor(name)
	if format, _ := FormatOf(t.Type); Held(format, takes) != format {
		var b [2]byte
		for i, x := range v {
			putHalf(b[:], x)
			v[i] = half(b[:])
		}
	}
	return v, nil
}

// Notes says, a line a format, which matrices Load re-encodes for a backend that does not take theirs.
func (b *Binding) Notes(takes func(backend.Format) bool) []string {
	count := make(map[backend.Format]int)
	for i := range b.slots {
		s := &b.slots[i]
		t, ok := b.file.Tensor(s.Name)
		if !ok || s.Matrix == nil {
			continue
		}
		if f, err := FormatOf(t.Type); err == nil && Held(f, takes) != f {
			count[f]++
		}
	}
	var notes []string
	for _, f := range backend.AllFormats() {
		switch n := count[f]; n {
		case 0:
		case 1:
			notes = append(notes, fmt.Sprintf("1 tensor in %v is re-encoded to %v", f, recoded))
		default:
			notes = append(notes, fmt.Sprintf("%d tensors in %v are re-encoded to %v", n, f, recoded))
		}
	}
	return notes
}

// Recode decodes src, rows of n elements in format from, and writes them to dst in format to, on all cores. Memory beside
// the two is a row a core. An element that is not finite, or not once it is encoded, is an error that names it by its
// place in the tensor.
func Recode(dst []byte, to backend.Format, src []byte, from backend.Format, rows, n int) error {
	for _, f := range []backend.Format{from, to} {
		if !f.Known() || rows < 0 || n < 1 || n%f.Block() != 0 {
			return fmt.Errorf("re-encode: %d rows of %d elements are not possible in %v", rows, n, f)
		}
	}
	if len(src) != rows*from.RowBytes(n) || len(dst) != rows*to.RowBytes(n) {
		return fmt.Errorf("re-encode: found %d and %d bytes, expected %d of %v and %d of %v for [%d, %d]",
			len(src), len(dst), rows*from.RowBytes(n), from, rows*to.RowBytes(n), to, n, rows)
	}
	return share(rows, func(lo, hi int) error {
		row := make([]float32, n)
		for r := lo; r < hi; r++ {
			if err := recodeRow(dst[r*to.RowBytes(n):][:to.RowBytes(n)], to, src[r*from.RowBytes(n):][:from.RowBytes(n)], from, row, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// share calls work for ranges that make up 0 to n, on all cores, and returns the error of the lowest range; see cores.Each.
func share(n int, work func(lo, hi int) error) error {
	parts := max(1, min(runtime.GOMAXPROCS(0), n))
	errs := make([]error, parts)
	cores.Each(parts, 1, func(int) func(lo, hi int) {
		return func(p, _ int) { errs[p] = work(n*p/parts, n*(p+1)/parts) }
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// recodeRow re-encodes row r, which passes through row.
func recodeRow(dst []byte, to backend.Format, src []byte, from backend.Format, row []float32, r int) error {
	if err := Decode(row, from, src); err != nil {
		return err
	}
	for i, v := range row {
		if v-v != 0 {
			return fmt.Errorf("element %d is %v, expected a finite number", r*len(row)+i, v)
		}
	}
	if err := Encode(dst, to, row); err != nil {
		return err
	}
	if to.Block() > 1 {
		return nil // blocks saturate
	}
	if err := Decode(row, to, dst); err != nil {
		return err
	}
	for i, v := range row {
		if v-v != 0 {
			return fmt.Errorf("element %d is beyond the range of %v", r*len(row)+i, to)
		}
	}
	return nil
}
