package engine_test

import (
	"math"

	"github.com/x448/float16"

	"cera/backend"
)

func bits(v float32) uint32 { return math.Float32bits(v) }

// fault is one row of the drill: what goes wrong where, and which site must be named for it.
type fault struct {
	name  string
	model string // a file of testdata/archs, or "q4_0" for one made for the drill
	op    string // the op that goes wrong
	at    int    // which call of it in a pass; -1: every one
	site  string // what must be named
	do    func(c call)
	load  func(d *drill, name string, data []byte) []byte // for faults of a weight's bytes
}

// Calls of a pass of two blocks, by number.
const (
	ffnNorm1 = 3
	q1, v1   = 7, 9
	o1       = 10
	down1    = 13
)

// normOf gives dst the norm of rows that f makes, by a formula of the drill's own.
func normOf(c call, row func(r int) []float32, inv func(sum, n, eps float64) float64, plus float32) {
	w := c.host(*c.w)
	out := make([]float32, 0, c.dst.Rows*c.dst.N)
	for r := range c.dst.Rows {
		x := row(r)
		var sum float64
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		k := inv(sum, float64(len(x)), float64(*c.eps))
		for i, v := range x {
			out = append(out, float32(float64(v)*k*float64(w[i]+plus)))
		}
	}
	c.be.Upload(*c.dst, out)
}

func rightInv(sum, n, eps float64) float64 { return 1 / math.Sqrt(sum/n+eps) }

// rowsOf returns the rows of the stream as they are now.
func rowsOf(c call) func(r int) []float32 {
	data, n := c.host(*c.a), c.a.N
	return func(r int) []float32 { return data[r*n : (r+1)*n] }
}

// faults is the drill's table.
var faults = []fault{
	// What a norm sees.
	{name: "eps from the wrong key", op: "norm", at: ffnNorm1, site: "ffn_norm-1",
		do: func(c call) { *c.eps = 1e-6; c.run() }},
	{name: "one eps for all, from a stale pipeline", op: "norm", at: -1, site: "attn_norm-0",
		do: func(c call) { *c.eps = 1e-3; c.run() }},
	{name: "eps outside the root", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		c.run()
		normOf(c, rowsOf(c), func(sum, n, eps float64) float64 { return 1 / (math.Sqrt(sum/n) + eps) }, 0)
	}},
	{name: "mean over n-1", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		c.run()
		normOf(c, rowsOf(c), func(sum, n, eps float64) float64 { return 1 / math.Sqrt(sum/(n-1)+eps) }, 0)
	}},
	{name: "residual added twice", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		twice := c.host(*c.b)
		for i := range twice {
			twice[i] *= 2
		}
		t := c.be.Alloc("twice", c.b.Rows, c.b.N)
		c.be.Upload(t, twice)
		*c.b = t
		c.run()
	}},
	{name: "stream not written back", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		before := copyOf(c.be, *c.a)
		c.run()
		c.be.Copy(*c.a, before)
	}},
	{name: "norm taken before the residual is added", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		before := rowsOf(c)
		c.run()
		normOf(c, before, rightInv, 0)
	}},
	{name: "residual written back too early", op: "matmul", at: o1, site: "ffn_norm-1", do: func(c call) {
		c.run()
		stream, delta := c.host(c.stream), c.host(*c.dst)
		for i, v := range delta {
			stream[i] += v
		}
		c.be.Upload(c.stream, stream)
	}},
	{name: "norm weight of the block before", op: "norm", at: ffnNorm1, site: "ffn_norm-1",
		do: func(c call) { *c.w = c.norms[1]; c.run() }},
	{name: "1 added to the norm's weight", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		c.run()
		normOf(c, rowsOf(c), rightInv, 1)
	}},
	{name: "tail of the row dropped", model: "llama-odd", op: "norm", at: ffnNorm1, site: "ffn_norm-1",
		do: func(c call) {
			last := columns(*c.dst, c.dst.N-1, 1)
			before := copyOf(c.be, last)
			c.run()
			c.be.Copy(last, before)
		}},
	{name: "stride mistaken for another width", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		c.run()
		data := c.host(*c.dst)
		c.patch(func(r, i int, _ float32) float32 { return data[r*(c.dst.N-1)+i] })
	}},
	{name: "one NaN lane in a norm", op: "norm", at: ffnNorm1, site: "ffn_norm-1", do: func(c call) {
		c.patch(func(r, i int, v float32) float32 {
			if r == 2 && i == 5 {
				return float32(math.NaN())
			}
			return v
		})
	}},
	// What no norm sees from its own inputs.
	{name: "embedding of the next token", op: "embed", at: 0, site: "embd", do: func(c call) {
		*c.pos = c.other(func(id uint32) uint32 { return (id + 1) % 64 })
		c.run()
	}},
	{name: "q bias dropped", model: "llama-obias", op: "bias", at: 4, site: "Qcur-1", do: func(call) {}},
	{name: "one NaN lane in a value", op: "matmul", at: v1, site: "Vcur-1", do: func(c call) {
		c.patch(func(r, i int, v float32) float32 {
			if r == 2 && i == 5 {
				return float32(math.NaN())
			}
			return v
		})
	}},
	{name: "rope base 500000 for 10000", op: "rope", at: 2, site: "Qcur_rope-1", do: func(c call) {
		n := c.a.N
		table := make([]float32, c.a.Rows*n)
		for i := range table {
			p, j := i/n, i%n/2
			sin, cos := math.Sincos(float64(p) * math.Pow(500000, -2*float64(j)/float64(n)))
			table[i] = float32([]float64{cos, sin}[i%2])
		}
		t := c.be.Alloc("other table", c.a.Rows, n)
		c.be.Upload(t, table)
		*c.a = t
		c.run()
	}},
	{name: "rope pairs halves, not neighbours", op: "rope", at: 3, site: "Kcur_rope-1", do: func(c call) {
		x, at, table, d := c.host(*c.dst), c.ids(*c.pos), c.host(*c.a), c.rope.HeadDim
		for i := range x {
			r, h, j := i/c.dst.N, i%c.dst.N/d*d, i%c.dst.N%d
			if j >= d/2 {
				continue
			}
			lo, hi := r*c.dst.N+h+j, r*c.dst.N+h+j+d/2
			cos, sin := table[int(at[r])*c.a.N+2*j], table[int(at[r])*c.a.N+2*j+1]
			x[lo], x[hi] = x[lo]*cos-x[hi]*sin, x[lo]*sin+x[hi]*cos
		}
		c.be.Upload(*c.dst, x)
	}},
	{name: "position off by one after the first batch", op: "rope", at: -1, site: "Qcur_rope-0", do: func(c call) {
		if c.ids(*c.pos)[0] > 0 {
			*c.pos = c.other(func(p uint32) uint32 { return p + 1 })
		}
		c.run()
	}},
	{name: "position 0 after the first batch", op: "rope", at: -1, site: "Qcur_rope-0", do: func(c call) {
		if c.ids(*c.pos)[0] > 0 {
			*c.pos = c.other(func(uint32) uint32 { return 0 })
		}
		c.run()
	}},
	{name: "keys stored one slot late", op: "store", at: 1, site: "cache_k-1", do: func(c call) {
		*c.pos = c.other(func(p uint32) uint32 { return p + 1 })
		c.run()
	}},
	{name: "keys of q stored without rope", op: "rope", at: 3, site: "Kcur_rope-1", do: func(call) {}},
	{name: "stale slot of the cache read", op: "attention", at: 1, site: "kqv_out-1", do: func(c call) {
		slot := c.kv.K.Slice(3, 4)
		before := copyOf(c.be, slot)
		c.be.Copy(slot, c.kv.K.Slice(0, 1))
		c.run()
		c.be.Copy(slot, before)
	}},
	{name: "causal mask off by one", op: "attention", at: 1, site: "kqv_out-1", do: func(c call) {
		*c.pos = c.other(func(p uint32) uint32 { return max(p, 1) - 1 })
		c.run()
	}},
	{name: "future seen by attention", op: "attention", at: 1, site: "kqv_out-1", do: func(c call) {
		*c.pos = c.other(func(p uint32) uint32 { return p | 3 })
		c.run()
	}},
	{name: "attention scale missing", op: "attention", at: 1, site: "kqv_out-1",
		do: func(c call) { c.attn.Scale = 1; c.run() }},
	{name: "KV heads tiled, not repeated", op: "attention", at: 1, site: "kqv_out-1", do: func(c call) {
		// Heads 1 and 2 of four change places on the way in and out: head h reads KV head h % 2.
		swap := func(t backend.Tensor) backend.Tensor {
			s, d := copyOf(c.be, t), c.attn.HeadDim
			c.be.Copy(columns(s, d, d), columns(t, 2*d, d))
			c.be.Copy(columns(s, 2*d, d), columns(t, d, d))
			return s
		}
		*c.a = swap(*c.a)
		c.run()
		c.be.Copy(*c.dst, swap(*c.dst))
	}},
	{name: "output projection in half precision", op: "matmul", at: o1, site: "attn_out-1", do: func(c call) {
		c.patch(func(_, _ int, v float32) float32 { return float16.Fromfloat32(v).Float32() })
	}},
	{name: "half-precision accumulator overflows", op: "matmul", at: q1, site: "Qcur-1", do: func(c call) {
		c.patch(func(r, i int, v float32) float32 {
			if r == 4 {
				return float16.Fromfloat32(v * 1e6).Float32()
			}
			return v
		})
	}},
	{name: "gate and up exchanged", op: "act", at: 1, site: "ffn_swiglu-1",
		do: func(c call) { *c.a, *c.b = *c.b, *c.a; c.run() }},
	{name: "activation left out", op: "act", at: 1, site: "ffn_swiglu-1", do: func(c call) {
		gate, up := c.host(*c.a), c.host(*c.b)
		c.patch(func(r, i int, _ float32) float32 { return gate[r*c.a.N+i] * up[r*c.b.N+i] })
	}},
	{name: "last row of the batch not computed", op: "matmul", at: down1, site: "ffn_out-1", do: func(c call) {
		last := c.dst.Slice(c.dst.Rows-1, c.dst.Rows)
		before := copyOf(c.be, last)
		c.run()
		c.be.Copy(last, before)
	}},
	{name: "Q4_0 nibbles in the wrong order", model: "q4_0", site: "ffn_up-1",
		load: func(_ *drill, name string, data []byte) []byte {
			if name == "blk.1.ffn_up.weight" {
				for i := range data {
					if i%18 >= 2 {
						data[i] = data[i]<<4 | data[i]>>4
					}
				}
			}
			return data
		}},
	{name: "scale of one block zeroed", model: "q4_0", site: "ffn_gate-1",
		load: func(_ *drill, name string, data []byte) []byte {
			if name == "blk.1.ffn_gate.weight" {
				data[18*7], data[18*7+1] = 0, 0
			}
			return data
		}},
	{name: "embedding used for the separate output", model: "q4_0", site: "result_output",
		load: func(d *drill, name string, data []byte) []byte {
			if name == "token_embd.weight" {
				d.saved["embd"] = data
			}
			if name == "output.weight" {
				copy(data, d.saved["embd"])
			}
			return data
		}},
	{name: "logits softcap forgotten", model: "gemma2", op: "softcap", at: -1, site: "result_output",
		do: func(call) {}},
}
