package cpufast

import (
	"cera/backend"
	"cera/cpu"
)

// vector is one set of vector kernels, whose operands are checked.
type vector struct {
	name string
	// matmul multiplies rows lo to hi-1 of panels, of n elements each, with rows of x as arrange gives them:
	// dst[at[t]+o-lo] is the result of row o and row t of x.
	matmul func(f backend.Format, w []byte, panel, n, lo, hi int, x []float32, tokens int, dst []float32, at []int)
	// attend is the attention of a few heads on the KV head that they share, for one row of q. Keys and values begin at
	// the first position that is seen. scores: the heads' rows of the positions, rounded up to 16.
	attend func(a *cpu.Attend, q []float32, k, v cache, heads, positions int, sinks, scores, dst []float32)
	act    func(act backend.Activation, dst, gate, up []float32)
}

// cache is one KV head's keys or values from some position on.
type cache struct {
	words  []uint32
	skip   int // bytes before the head's first element
	stride int // bytes from one position to the next
}

// headsTogether is how many heads on one KV head are computed in one go.
const headsTogether = 4

// attend shares rows and heads out among the cores.
func (f *fast) attend(a cpu.Attend) {
	group := a.NHead / a.NKV
	parts := (group + headsTogether - 1) / headsTogether // of a KV head's group
	size := 4
	if a.Half {
		size = 2
	}
	f.parallel(a.Rows*a.NKV*parts, func(s *scratch, i int) {
		r, kv, first := i/(a.NKV*parts), i/parts%a.NKV, i%parts*headsTogether
		heads := min(headsTogether, group-first)
		head := kv*group + first
		begin, positions := a.Begin(r)
		scores := sized(&s.scores, heads*((positions+15)&^15))
		side := func(words []uint32, stride int) cache {
			return cache{words[begin*stride:], kv * a.HeadDim * size, 4 * stride}
		}
		var sinks []float32
		if a.SinkScores != nil {
			sinks = a.SinkScores[head : head+heads]
		}
		q, dst := a.Q[r*a.QStride+head*a.HeadDim:][:heads*a.HeadDim],
			a.Dst[r*a.DstStride+head*a.HeadDim:][:heads*a.HeadDim]
		f.v.attend(&a, q, side(a.K, a.KStride), side(a.V, a.VStride), heads, positions, sinks, scores, dst)
	})
}
