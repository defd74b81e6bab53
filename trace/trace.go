// Package trace holds named tensors captured from a run: it records them from a running forward pass, reads and writes
// them as .npz, reads those of other engines, and compares two traces.
package trace

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/types/tensors"
)

// Trace is an ordered set of sites, each a float32 matrix [rows, n] with a row a token, and the tokens that were run.
type Trace struct {
	Tokens   []int32
	Manifest *Manifest // where it came from; nil where nothing is known
	order    []string
	sites    map[string]*site
}

type site struct {
	n    int
	data []float32 // [rows*n]
	dims []int     // the shape in the file where it has more than two dimensions
}

// New returns an empty trace.
func New() *Trace { return &Trace{sites: map[string]*site{}} }

// Append adds rows [rows, n] to a site; a new site comes after those there are. A width other than that of the site's
// earlier rows, data of another length, or a name that a file's tokens or manifest have, is an error. The data is
// copied.
func (t *Trace) Append(name string, rows, n int, data []float32) error {
	return t.put(name, rows, n, data, false)
}

// put is Append, which may keep data itself where nobody else has it.
func (t *Trace) put(name string, rows, n int, data []float32, keep bool) error {
	if err := checkRows(name, rows, n, len(data)); err != nil {
		return err
	}
	s := t.sites[name]
	if s == nil {
		s = &site{n: n}
		t.sites[name] = s
		t.order = append(t.order, name)
		if keep {
			s.data = slices.Clip(data)
			return nil
		}
	}
	if s.n != n {
		return fmt.Errorf("site %s: rows of %d after rows of %d", name, n, s.n)
	}
	s.data = append(s.data, data...)
	return nil
}

// checkRows checks what is to be appended to a site.
func checkRows(name string, rows, n, values int) error {
	if name == "" || name == tokensName || name == manifestName {
		return fmt.Errorf("site %q: the name is not free for a site", name)
	}
	if rows < 1 || n < 1 || values%n != 0 || values/n != rows {
		return fmt.Errorf("site %s: %d values, expected [%d, %d]", name, values, rows, n)
	}
	return nil
}

// Sites returns the names of the sites, in the order in which they came.
func (t *Trace) Sites() []string { return append([]string(nil), t.order...) }

// Data returns a site's rows, [rows, n] row-major. The slice is the trace's own.
func (t *Trace) Data(name string) (data []float32, rows, n int, ok bool) {
	s := t.sites[name]
	if s == nil {
		return nil, 0, 0, false
	}
	return s.data, len(s.data) / s.n, s.n, true
}

// Tensor returns a copy of a site as a host tensor of shape [rows, n].
func (t *Trace) Tensor(name string) (*tensors.Tensor, bool) {
	data, rows, n, ok := t.Data(name)
	if !ok {
		return nil, false
	}
	return tensors.FromFlatDataAndDimensions(data, rows, n), true
}
