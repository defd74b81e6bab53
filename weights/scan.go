package weights

import (
	"fmt"
	"sync"

	"cera/gguf"
)

// NonFinite says which elements of a tensor are no finite numbers.
type NonFinite struct {
	NaN, Inf int     // how many
	First    int     // the first, by its place in the file's order
	Value    float32 // of the first
}

// Any reports whether there is one.
func (n NonFinite) Any() bool { return n.NaN+n.Inf > 0 }

// add takes over what was found elsewhere in the same tensor.
func (n *NonFinite) add(o NonFinite) {
	if o.Any() && (!n.Any() || o.First < n.First) {
		n.First, n.Value = o.First, o.Value
	}
	n.NaN += o.NaN
	n.Inf += o.Inf
}

// scanElements is about how many elements are decoded at a time.
const scanElements = 1 << 14

// Scan decodes a tensor, on all cores, and counts the elements that are no finite numbers. A block whose scale is none has
// no others. A type without a decoder is an error; see FormatOf.
func Scan(f *gguf.File, t *gguf.Tensor) (NonFinite, error) {
	var found NonFinite
	format, err := FormatOf(t.Type)
	if err != nil {
		return found, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	step := max(1, scanElements/format.Block()) // blocks
	var mu sync.Mutex
	err = f.View(t, func(data []byte) error {
		blocks := len(data) / format.BlockBytes()
		return share(blocks, func(lo, hi int) error {
			var mine NonFinite
			buf := make([]float32, min(step, hi-lo)*format.Block())
			for ; lo < hi; lo += step {
				n := min(step, hi-lo)
				part := buf[:n*format.Block()]
				if err := Decode(part, format, data[lo*format.BlockBytes():(lo+n)*format.BlockBytes()]); err != nil {
					return fmt.Errorf("tensor %q: %w", t.Name, err)
				}
				mine.add(scan(part, lo*format.Block()))
			}
			mu.Lock()
			defer mu.Unlock()
			found.add(mine)
			return nil
		})
	})
	if err != nil {
		return NonFinite{}, err
	}
	return found, nil
}

// scan looks at the elements from at on.
func scan(v []float32, at int) (n NonFinite) {
	for i, x := range v {
		if x-x == 0 {
			continue
		}
		if !n.Any() {
			n.First, n.Value = at+i, x
		}
		if x != x {
			n.NaN++
		} else {
			n.Inf++
		}
	}
	return n
}
