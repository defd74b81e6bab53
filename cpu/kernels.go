package cpu

import "cera/backend"

// Kernels replace this package's loops in the ops that cost the most, on operands that are checked already: a backend
// with kernels differs from the reference in these ops alone. What a func is given must not be kept.
type Kernels struct {
	Backend, Driver string // of Info

	// Pack keeps a matrix [rows, n] as MatMul is to read it, from its GGUF encoding.
	Pack func(f backend.Format, rows, n int, data []byte) Matrix
	// MatMul computes products, none of which writes where another does.
	MatMul func(products []Product)
	// Attend computes an attention; nil: the reference does.
	Attend func(a Attend)
	// Act computes dst = act(gate) * up, and act(gate) where up is nil, of one row; nil: the reference does.
	Act func(act backend.Activation, dst, gate, up []float32)
}

// Matrix is a weight as Kernels keep it.
type Matrix interface {
	// Row writes row r in the file's encoding to dst.
	Row(dst []byte, r int)
}

// Product multiplies rows Lo to Hi-1 of W with rows of X:
//
//	Dst[At[i]+o-Lo] = sum over k of X[From[i]*Stride+k] * W[o,k]
type Product struct {
	W      Matrix
	Lo, Hi int
	X      []float32
	Stride int
	From   []int // rows of X; those of several products may be one slice
	Dst    []float32
	At     []int // where the results of each of them begin
}

// Attend holds the operands of an attention beside its shape; the words of a tensor begin at its first element. Keys
// and values lie in the cache as package backend's KV says.
type Attend struct {
	backend.Attention
	Rows             int
	Dst, Q           []float32
	DstStride        int
	QStride          int
	K, V             []uint32
	KStride, VStride int  // words
	Half             bool // the cache holds halves, two a word
	Pos              []uint32
	SinkScores       []float32 // [NHead], or nil
}

// Begin returns the first position that row r sees, and how many it sees.
func (a *Attend) Begin(r int) (first, positions int) {
	end := int(a.Pos[r]) + 1
	if a.Window > 0 {
		first = max(0, end-a.Window)
	}
	return first, end - first
}

// NewWith returns a cpu backend that runs kernels.
func NewWith(k Kernels) *Backend { return &Backend{kernels: k} }

// products writes one product for each weight, whose operands are checked.
func (b *Backend) products(op string, dst []backend.Tensor, x backend.Tensor, w []backend.Weight) ([]Product, bool) {
	list := make([]Product, len(w))
	var from []int
	for i := range w {
		m, d, xm, ok := b.matmul(op, dst[i], x, w[i])
		if !ok {
			return nil, false
		}
		at := make([]int, x.Rows)
		for r := range at {
			at[r] = r * d.stride
		}
		if from == nil {
			from = make([]int, x.Rows)
			for r := range from {
				from[r] = r
			}
		}
		list[i] = Product{W: m.matrix, Hi: m.rows, X: xm.f, Stride: xm.stride, From: from, Dst: d.f, At: at}
	}
	return list, true
}
