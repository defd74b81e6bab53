package kernelbench

import (
	"fmt"
	"slices"

	"cera/backend"
)

// MainFormats are those of products in all their forms; of the others there are only the largest matrices.
func MainFormats() []backend.Format {
	return []backend.Format{backend.F16, backend.Q8_0, backend.Q4_0, backend.Q4_K}
}

// cases lists the kernels of a shape.
func (o *Options) cases(be backend.Backend, s Shape) []*Case {
	var all []*Case
	for _, rows := range o.NormRows {
		all = append(all, PassCase(rows, s.Dim), AddRMSNormCase(rows, s.Dim), FusedNormCase(rows, s.Dim), RMSNormCase(rows, s.Dim),
			LayerNormCase(rows, s.Dim))
	}
	prompts := slices.Concat([]int{1}, o.Prompts)
	all = append(all, o.products(s)...)
	for _, rows := range prompts {
		all = append(all, ropeCase(rows, s), actCase(rows, s))
		for _, half := range []bool{false, true} {
			all = append(all, storeCase(rows, s, half), ropeStoreCase(rows, s, half))
		}
	}
	for _, half := range []bool{false, true} {
		a := AttentionShape{Heads: s.Heads, KV: s.KVHeads, HeadDim: s.HeadDim, Half: half}
		for _, depth := range o.Depths {
			a.Rows, a.Positions, a.Ctx = 1, depth, max(depth, 4096)
			all = append(all, a.Case())
		}
		for _, rows := range o.Prompts {
			a.Rows, a.Positions, a.Ctx = rows, rows, max(rows, 4096)
			all = append(all, a.Case())
		}
	}
	all = append(all, argMaxCase(s), topKCase(s, drawn), drawCase(drawn))
	for _, c := range all {
		c.Model = s.Name
	}
	return all
}

// products are matrices times one row and times a prompt.
func (o *Options) products(s Shape) []*Case {
	main := s.Main
	if main == nil {
		main = MainFormats()
	}
	q, kv := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	var all []*Case
	for _, f := range o.Formats {
		if s.Dim%f.Block() != 0 || s.FF%f.Block() != 0 || q%f.Block() != 0 {
			continue
		}
		dense := s.Experts == 0
		if dense {
			all = append(all, MatMulCase(f, 1, s.FF, s.Dim), MatMulCase(f, 1, s.Dim, s.FF))
		}
		if !slices.Contains(main, f) {
			continue
		}
		all = append(all, MatMulCase(f, 1, s.Dim, q), MatMulCase(f, 1, s.Vocab, s.Dim), joinedCase(f, s.Dim, q, kv))
		if dense {
			all = append(all, gatedCase(f, s.FF, s.Dim, s.Act))
		}
		for _, rows := range o.Prompts {
			if dense {
				all = append(all, MatMulCase(f, rows, s.FF, s.Dim), MatMulCase(f, rows, s.Dim, s.FF))
			} else {
				all = append(all, MatMulCase(f, rows, s.Dim, q))
			}
		}
		for _, rows := range slices.Concat([]int{1}, o.Prompts) {
			all = append(all, embedCase(f, rows, s.Vocab, s.Dim))
		}
	}
	if s.Experts > 0 {
		all = append(all, o.experts(s, main)...)
	}
	return all
}

// AddRMSNormCase is the batch kernel between attention and MLP.
func AddRMSNormCase(rows, n int) *Case {
	size := 4 * int64(rows) * int64(n)
	return &Case{
		Kernel: "add_rmsnorm_batch", Shape: dims(rows, n), Bytes: 4*float64(size) + 4*float64(n), Largest: size,
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 3*size, cycleBytes), func(a *arena) func() {
				src, residual, dst := a.spread(rows, n, 1), a.spread(rows, n, 1e-3), a.alloc(rows, n)
				w := a.spread(1, n, 1)
				return func() { be.AddRMSNorm(dst, src, residual, w, 1e-5) }
			})
		},
	}
}

// FusedNormCase is the arena kernel.
func FusedNormCase(rows, n int) *Case {
	size := 4 * int64(rows) * int64(n)
	return &Case{
		Kernel: "fused_residual_rms_norm", Shape: dims(rows, n), Largest: 4 * int64(3*rows+2) * int64(n),
		Bytes: 4*float64(size) + 8*float64(n),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 3*size, cycleBytes), func(a *arena) func() {
				all := a.spread(3*rows+2, n, 1)
				view := func(lo, count int) backend.Tensor { return all.Slice(lo, lo+count) }
				p := backend.FusedNorm{
					In: view(0, rows), Residual: view(rows, rows), Out: view(2*rows, rows), Sum: view(0, rows),
					Gamma: view(3*rows, 1), Beta: view(3*rows+1, 1), Eps: 1e-5,
				}
				return func() { be.FusedResidualRMSNorm(p) }
			})
		},
	}
}

// RMSNormCase is the norm of rows to which nothing is added.
func RMSNormCase(rows, n int) *Case {
	size := 4 * int64(rows) * int64(n)
	return &Case{
		Kernel: "rmsnorm_batch", Shape: dims(rows, n), Bytes: 2*float64(size) + 4*float64(n), Largest: size,
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 2*size, cycleBytes), func(a *arena) func() {
				src, w, dst := a.spread(rows, n, 1), a.spread(1, n, 1), a.alloc(rows, n)
				return func() { be.RMSNorm(dst, src, w, 1e-5) }
			})
		},
	}
}

// LayerNormCase is the norm by mean and variance, with a bias.
func LayerNormCase(rows, n int) *Case {
	size := 4 * int64(rows) * int64(n)
	return &Case{
		Kernel: "layer_norm", Shape: dims(rows, n), Bytes: 2*float64(size) + 8*float64(n), Largest: size,
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, sets(be, rows, 2*size, cycleBytes), func(a *arena) func() {
				src, w, bias, dst := a.spread(rows, n, 1), a.spread(1, n, 1), a.spread(1, n, 1), a.alloc(rows, n)
				return func() { be.LayerNorm(dst, src, w, bias, 1e-5) }
			})
		},
	}
}

// MatMulCase is x [rows, k] times a matrix [m, k]. With one row it is bound by the matrix, of which there are copies in turn.
func MatMulCase(f backend.Format, rows, m, k int) *Case {
	c := &Case{Kernel: "matmul " + f.String(), Shape: fmt.Sprintf("%dx%dx%d", rows, m, k), Arithmetic: true}
	if rows == 1 {
		c.Kernel, c.Shape, c.Arithmetic = "matvec "+f.String(), dims(m, k), false
	}
	matrix := int64(m) * int64(f.RowBytes(k))
	c.Bytes = float64(matrix) + 4*float64(rows*(m+k))
	c.Flops = 2 * float64(rows) * float64(m) * float64(k)
	c.Largest = 4 * int64(rows) * int64(max(m, k))
	c.Make = func(be backend.Backend) (*Work, error) {
		n := 1
		if rows == 1 {
			n = copies(be, matrix)
		}
		return makeSets(be, n, func(a *arena) func() {
			w, x, y := a.weight(f, m, k), a.spread(rows, k, 1), a.alloc(rows, m)
			return func() { be.MatMul(y, x, w) }
		})
	}
	return c
}

// copies returns how many matrices of so many bytes it takes until no cache answers.
func copies(be backend.Backend, each int64) int {
	if be.Info().Software {
		return 1
	}
	return between(each, weightBytes)
}

// joinedCase is x times three matrices that are stored together.
func joinedCase(f backend.Format, k, q, kv int) *Case {
	m := q + 2*kv
	bytes := int64(m) * int64(f.RowBytes(k))
	return &Case{
		Kernel: "qkv " + f.String(), Shape: dims(m, k), Bytes: float64(bytes) + 4*float64(m+k), Flops: 2 * float64(m) * float64(k),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, copies(be, bytes), func(a *arena) func() {
				w := []backend.Weight{a.weight(f, q, k), a.weight(f, kv, k), a.weight(f, kv, k)}
				if a.err == nil {
					be.Join(w...)
				}
				x, y := a.spread(1, k, 1), []backend.Tensor{a.alloc(1, q), a.alloc(1, kv), a.alloc(1, kv)}
				return func() { be.MatMuls(y, x, w) }
			})
		},
	}
}

// gatedCase is x times gate and up, and the activation of what they give.
func gatedCase(f backend.Format, m, k int, act backend.Activation) *Case {
	bytes := 2 * int64(m) * int64(f.RowBytes(k))
	return &Case{
		Kernel: "gate_up " + f.String(), Shape: dims(2*m, k),
		Bytes: float64(bytes) + 4*float64(m+k), Flops: 4 * float64(m) * float64(k),
		Make: func(be backend.Backend) (*Work, error) {
			return makeSets(be, copies(be, bytes), func(a *arena) func() {
				gate, up := a.weight(f, m, k), a.weight(f, m, k)
				if a.err == nil {
					be.Join(gate, up)
				}
				x, g, u, y := a.spread(1, k, 1), a.alloc(1, m), a.alloc(1, m), a.alloc(1, m)
				return func() { be.GatedMatMul(y, g, u, x, gate, up, act) }
			})
		},
	}
}
