package kernelbench

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"cera/backend"
	"cera/weights"
)

const (
	cycleBytes  = 512 << 20 // that sets of tensors have together, several times what a cache holds
	weightBytes = 128 << 20 // the same of matrices, which take longer to upload
	maxSets     = 32
)

// sets returns how many sets of so many bytes it takes until no cache answers. One row is different: there an op works on what
// the one before left, as in a step that depends on another.
func sets(be backend.Backend, rows int, each int64, all int) int {
	if rows == 1 || be.Info().Software {
		return 1
	}
	return between(each, all)
}

func between(each int64, all int) int { return int(max(1, min(maxSets, int64(all)/max(1, each)+1))) }

// arena allocates what ops work on.
type arena struct {
	be   backend.Backend
	work *Work
	err  error
	last matrixKey // of data
	data []byte
}

type matrixKey struct {
	f       backend.Format
	rows, n int
}

// makeSets makes n ops, each by a call of op.
func makeSets(be backend.Backend, n int, op func(a *arena) func()) (*Work, error) {
	a := &arena{be: be, work: &Work{}}
	for range n {
		a.work.Ops = append(a.work.Ops, op(a))
	}
	if err := be.Flush(); a.err == nil {
		a.err = err
	}
	if a.err != nil {
		a.work.Free()
		return nil, a.err
	}
	return a.work, nil
}

func (a *arena) alloc(rows, n int) backend.Tensor {
	t := a.be.Alloc("bench", rows, n)
	a.work.free = append(a.work.free, func() { a.be.Free(t) })
	return t
}

// some is how many rows are random; they stand again and again.
const some = 64

// spread allocates [rows, n] and fills it.
func (a *arena) spread(rows, n int, scale float64) backend.Tensor {
	t := a.alloc(rows, n)
	a.fill(t, random(min(some, rows)*n, scale))
	return t
}

// fill writes rows of t again and again.
func (a *arena) fill(t backend.Tensor, block []float32) {
	few := len(block) / t.N
	src := a.be.Alloc("bench", few, t.N)
	a.be.Upload(src, block)
	for lo := 0; lo < t.Rows; lo += few {
		hi := min(lo+few, t.Rows)
		a.be.Copy(t.Slice(lo, hi), src.Slice(0, hi-lo))
	}
	a.be.Free(src)
}

// ids puts a [1, n] u32 tensor on the device.
func (a *arena) ids(data []uint32) backend.Tensor {
	t := a.alloc(1, len(data))
	a.be.UploadU32(t, data)
	return t
}

// weight uploads a matrix.
func (a *arena) weight(f backend.Format, rows, n int) backend.Weight {
	if key := (matrixKey{f, rows, n}); a.last != key || a.data == nil {
		data, err := Matrix(f, rows, n)
		if err != nil {
			if a.err == nil {
				a.err = err
			}
			return nil
		}
		a.last, a.data = key, data
	}
	w := a.be.LoadWeight("bench", f, rows, n, a.data)
	a.work.free = append(a.work.free, func() { a.be.FreeWeight(w) })
	return w
}

func random(n int, scale float64) []float32 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rng.NormFloat64() * scale)
	}
	return values
}

// Matrix is some random rows again and again, in an encoding: zeros would run at another speed.
func Matrix(f backend.Format, rows, n int) ([]byte, error) {
	if n%f.Block() != 0 {
		return nil, fmt.Errorf("rows of %d elements are not a multiple of %s's block of %d", n, f, f.Block())
	}
	few := min(some, rows)
	part := make([]byte, few*f.RowBytes(n))
	if weights.CanEncode(f) {
		if err := weights.Encode(part, f, random(few*n, 1)); err != nil {
			return nil, err
		}
	} else {
		rng := rand.New(rand.NewPCG(2, uint64(n)))
		for i := range part {
			part[i] = byte(rng.Uint32()) &^ 0x40 // halves of any scale stay below 2, and finite
		}
	}
	return bytes.Repeat(part, (rows+few-1)/few)[:rows*f.RowBytes(n)], nil
}

func dims(rows, n int) string { return fmt.Sprintf("%dx%d", rows, n) }
