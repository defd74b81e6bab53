package weights

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"cera/backend"
	"cera/gguf"
)

// Slot is one place in a model that a tensor of the file fills. At most one of Matrix and Vector is set; a slot with
// neither is only checked, for example one whose values are wanted on the host (see DecodeTensor).
type Slot struct {
	Name string // the tensor's GGUF name, as "blk.0.attn_q.weight"
	Rows int    // expected rows, the GGUF dimension 1, or the product of dimensions 1 and 2; 1 for a vector
	N    int    // expected row length, the GGUF dimension 0

	// Planes is how many matrices of Rows/Planes rows stand one after the other, the GGUF dimension 2, as the experts
	// of a mixture; 0 is 1.
	Planes int

	// Optional says that a file may lack the tensor. Matrix and Vector are then left as they are.
	Optional bool

	// Positive says that the elements of a vector must be finite and above 0, which Load checks.
	Positive bool

	// Matrix receives the uploaded weight [Rows, N], in the file's encoding where the backend takes it, which may be any
	// that FormatOf knows.
	Matrix *backend.Weight

	// Vector receives the tensor [Rows, N], decoded to f32; the file may hold F32, F16 or BF16. A Tensor that is valid
	// before Load is written in place and stays its owner's; otherwise Load allocates one.
	Vector *backend.Tensor

	// Found is set by Bind: the file has the tensor.
	Found bool
}

// vector reports whether the slot takes a vector.
func (s *Slot) vector() bool { return s.Vector != nil || s.Matrix == nil && s.Rows == 1 }

// Mismatch is a tensor that cannot fill its slot. It is an error of one line.
type Mismatch struct {
	Tensor   string `json:"tensor"`
	Found    string `json:"found"`    // dimensions and type in the file, as "[64, 32] Q8_0"
	Expected string `json:"expected"` // as "[64, 64]"
}

func (m Mismatch) Error() string {
	return fmt.Sprintf("tensor %q: found %s, expected %s", m.Tensor, m.Found, m.Expected)
}

// Binding says how the tensors of a file fill the slots of a model. Its lists are in the order of the slots, Unused in
// the order of the file.
type Binding struct {
	Missing    []string // required slots without a tensor
	Unused     []string // tensors without a slot
	Mismatched []Mismatch

	file  *gguf.File
	slots []Slot // the caller's, so that Found shows there
	bad   []error
}

// Bind looks for the tensor of every slot and checks its shape and type; it sets Found in slots, and keeps slots for
// Load. Dimensions are [N, Rows] for a matrix and [N] for a vector; further dimensions of 1 are tolerated. Tensors that
// match a pattern of ignore (as in path.Match) may stay unused. Whatever is wrong is collected: see Err.
func Bind(f *gguf.File, slots []Slot, ignore ...string) *Binding {
	b := &Binding{file: f, slots: slots}
	bound := make(map[string]bool, len(slots))
	for i := range slots {
		s := &slots[i]
		bound[s.Name] = true
		if s.Matrix != nil && s.Vector != nil {
			b.bad = append(b.bad, fmt.Errorf("slot %s: takes a matrix and a vector, expected one of them", s.Name))
		}
		if s.Planes > 1 && s.Rows%s.Planes != 0 {
			b.bad = append(b.bad, fmt.Errorf("slot %s: %d rows, expected a multiple of the %d planes", s.Name, s.Rows, s.Planes))
		}
		t, ok := f.Tensor(s.Name)
		s.Found = ok
		if !ok {
			if !s.Optional {
				b.Missing = append(b.Missing, s.Name)
			}
			continue
		}
		if want := s.reject(t); want != "" {
			b.Mismatched = append(b.Mismatched, Mismatch{s.Name, describe(t), want})
		}
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if bound[t.Name] {
			continue
		}
		ok, err := matchAny(ignore, t.Name)
		if err != nil {
			b.bad = append(b.bad, err)
			ignore = nil
		}
		if !ok {
			b.Unused = append(b.Unused, t.Name)
		}
	}
	return b
}

// dims returns the expected dimensions in the file's order.
func (s *Slot) dims() []int {
	switch {
	case s.Planes > 1:
		return []int{s.N, s.Rows / s.Planes, s.Planes}
	case s.vector() && s.Rows == 1:
		return []int{s.N}
	}
	return []int{s.N, s.Rows}
}

// shape returns the expected dimensions as text.
func (s *Slot) shape() string { return dims(s.dims()...) }

// reject returns what s expects where t cannot fill it, and "" where it can.
func (s *Slot) reject(t *gguf.Tensor) string {
	want := s.shape()
	if !s.fits(t.Dims) {
		return want
	}
	f, err := FormatOf(t.Type)
	switch {
	case err != nil:
		return fmt.Sprintf("%s in one of %v", want, backend.AllFormats())
	case s.vector() && f.Block() > 1:
		return fmt.Sprintf("%s in F32, F16 or BF16", want)
	case s.N%f.Block() != 0:
		return fmt.Sprintf("%s in a format whose blocks divide the row", want)
	}
	return ""
}

// fits compares a shape of the file with the slot's; dimensions past the slot's are 1.
func (s *Slot) fits(found []uint64) bool {
	want := s.dims()
	for i := range max(len(found), len(want)) {
		f, w := uint64(1), 1
		if i < len(found) {
			f = found[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if w < 1 || f != uint64(w) {
			return false
		}
	}
	return true
}

// Err returns nil if every required slot is filled and every tensor used, or one error with a line for each that is
// not, up to a number: it names the tensor, the dimensions and type found, and the dimensions expected.
func (b *Binding) Err() error {
	errs, more := append([]error(nil), b.bad...), 0
	add := func(err func() error) {
		if len(errs) < maxLines {
			errs = append(errs, err())
		} else {
			more++
		}
	}
	for _, m := range b.Mismatched {
		add(func() error { return m })
	}
	for i := range b.slots {
		if s := &b.slots[i]; !s.Found && !s.Optional {
			add(func() error { return fmt.Errorf("tensor %q: missing, expected %s", s.Name, s.shape()) })
		}
	}
	for _, name := range b.Unused {
		add(func() error {
			found := ""
			if t, ok := b.file.Tensor(name); ok {
				found = " " + describe(t)
			}
			return fmt.Errorf("tensor %.99q: found%s, expected no such tensor", name, found)
		})
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// maxLines is the most lines of Err: a model of many blocks may lack all of them.
const maxLines = 40

// describe returns shape and type of t, as "[64, 32] Q8_0".
func describe(t *gguf.Tensor) string { return fmt.Sprintf("%s %v", dims(t.Dims...), t.Type) }

// dims formats a shape in the file's order, row length first.
func dims[T int | uint64](d ...T) string {
	s := make([]string, len(d))
	for i, v := range d {
		s[i] = fmt.Sprint(v)
	}
	return "[" + strings.Join(s, ", ") + "]"
}

// matchAny reports whether name matches one of the patterns.
func matchAny(patterns []string, name string) (bool, error) {
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err != nil {
			return false, fmt.Errorf("ignore pattern %q: %w", p, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}
