// Package trace holds named tensors captured from a run, reads and writes them as .npz, and records them from a
// running forward pass.
package trace

import (
	"fmt"

	"github.com/gomlx/gomlx/types/tensors"
)

// Trace is an ordered set of sites, each a float32 matrix [rows, n] with a row a token, and the tokens that were run.
type Trace struct {
	Tokens []int32
	order  []string
	sites  map[string]*site
}

type site struct {
	n    int
	data []float32 // [rows*n]
}

// New returns an empty trace.
func New() *Trace { return &Trace{sites: map[string]*site{}} }

// Append adds rows [rows, n] to a site; a new site comes after those there are. A width other than that of the site's
// earlier rows, data of another length, or the name of the tokens' array in a file, is an error. The data is copied.
func (t *Trace) Append(name string, rows, n int, data []float32) error {
	if name == "" || name == tokensName {
		return fmt.Errorf("site %q: the name is not free for a site", name)
	}
	if rows < 1 || n < 1 || len(data)%n != 0 || len(data)/n != rows {
		return fmt.Errorf("site %s: %d values, expected [%d, %d]", name, len(data), rows, n)
	}
	s := t.sites[name]
	if s == nil {
		s = &site{n: n}
		t.sites[name] = s
		t.order = append(t.order, name)
	}
	if s.n != n {
		return fmt.Errorf("site %s: rows of %d after rows of %d", name, n, s.n)
	}
	s.data = append(s.data, data...)
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
