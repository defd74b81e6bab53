package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// builder collects the file of one model.
type builder struct {
	o       Options
	a       arch
	format  backend.Format // of Options.Format
	vectors backend.Format // of Options.Vectors
	out     *gguf.Writer
	err     error // the first one; later tensors are skipped
}

func newBuilder(o Options) (*builder, error) {
	f, err := weights.FormatOf(o.Format)
	if err == nil && !weights.CanEncode(f) {
		err = fmt.Errorf("%v can be read but not written", f)
	}
	if err != nil {
		return nil, fmt.Errorf("option Format: %w", err)
	}
	v, err := weights.FormatOf(o.Vectors)
	if err != nil {
		return nil, fmt.Errorf("option Vectors: %w", err)
	}
	a, _ := o.find()
	return &builder{o: o, a: a, format: f, vectors: v, out: gguf.NewWriter()}, nil
}

// delta is the size of what a block adds to the stream for an input of unit size. The embeddings are small too: a
// stream whose mean square stays well below 1 keeps the eps of every norm visible in f32, as in trained models.
const delta = 0.25

// tensors adds every tensor. Matrices are [rows, n] as y = W·x reads them; GGUF lists n first.
func (b *builder) tensors() error {
	o := b.o
	embd := 1.0
	if b.a.embd != nil {
		embd /= b.a.embd(o)
	}
	b.matrix("token_embd.weight", o.Vocab, o.Dim, embd)
	b.norm("output_norm", gain)
	if !o.TiedOutput {
		b.matrix("output.weight", o.Vocab, o.Dim, 1)
	}
	if o.RopeFreqs {
		b.vector("rope_freqs.weight", o.rotDim()/2, ropeFactors)
	}
	if o.LongFactors {
		b.vector("rope_factors_short.weight", o.rotDim()/2, shortFactors)
		b.vector("rope_factors_long.weight", o.rotDim()/2, ropeFactors)
	}
	for i := range o.Layers {
		b.block(i, func(name string) string { return fmt.Sprintf("blk.%d.%s", i, name) })
	}
	return b.err
}

// block adds the tensors of block i; blk makes their names.
func (b *builder) block(i int, blk func(string) string) {
	if !b.a.noPre {
		b.norm(blk("attn_norm"), gain)
	}
	b.attention(i, blk)
	if b.a.post {
		b.norm(blk("post_attention_norm"), smallGain)
	}
	switch {
	case b.a.noPre:
	case b.a.ffnNorm != "":
		b.norm(blk(b.a.ffnNorm), gain)
	default:
		b.norm(blk("ffn_norm"), gain)
	}
	if b.o.Experts > 0 {
		b.experts(blk)
	} else {
		b.mlp(blk, "", 1, b.o.FF, b.a.mlpBias || b.o.MLPBias)
	}
	if b.a.post {
		b.norm(blk("post_ffw_norm"), smallGain)
	}
}

func (b *builder) attention(i int, blk func(string) string) {
	o, a := b.o, b.a
	heads, kvHeads := o.heads(i)
	q, kv := heads*o.headDim(), kvHeads*o.headDim()
	names, rows := []string{"attn_q", "attn_k", "attn_v"}, []int{q, kv, kv}
	if a.fused {
		names, rows = []string{"attn_qkv"}, []int{q + 2*kv}
	}
	for i, name := range names {
		b.matrix(blk(name+".weight"), rows[i], o.Dim, 1)
	}
	if a.qkvBias || o.QKVBias {
		for i, name := range names {
			b.vector(blk(name+".bias"), rows[i], bias)
		}
	}
	switch a.qk {
	case ofHeads:
		b.vector(blk("attn_q_norm.weight"), o.headDim(), gain)
		b.vector(blk("attn_k_norm.weight"), o.headDim(), gain)
	case ofRows:
		b.vector(blk("attn_q_norm.weight"), q, gain)
		b.vector(blk("attn_k_norm.weight"), kv, gain)
	}
	if a.sinks {
		b.vector(blk("attn_sinks.weight"), heads, sinks)
	}
	b.matrix(blk("attn_output.weight"), o.Dim, q, delta)
	if a.outBias || o.OutputBias {
		b.vector(blk("attn_output.bias"), o.Dim, bias)
	}
}

// mlp adds the matrices of an MLP of width ff, or of as many as there are planes.
func (b *builder) mlp(blk func(string) string, suffix string, planes, ff int, biased bool) {
	a, dim := b.a, b.o.Dim
	size := max(a.gated, 1)
	linear := func(name string, rows, n int, size float64) {
		b.planes(blk(name+suffix+".weight"), b.format, planes, rows, n, size)
		if biased {
			b.vectorPlanes(blk(name+suffix+".bias"), planes, rows, bias)
		}
	}
	if a.fused {
		linear("ffn_up", 2*ff, dim, size)
	} else {
		if !a.plain {
			linear("ffn_gate", ff, dim, size)
		}
		linear("ffn_up", ff, dim, size)
	}
	// A gate times an up has the square of their size.
	linear("ffn_down", dim, ff, delta/(size*size))
}

func (b *builder) experts(blk func(string) string) {
	o, biased := b.o, b.a.mlpBias || b.o.MLPBias
	b.planes(blk("ffn_gate_inp.weight"), backend.F32, 1, o.Experts, o.Dim, 1)
	if biased {
		b.vector(blk("ffn_gate_inp.bias"), o.Experts, bias)
	}
	b.mlp(blk, "_exps", o.Experts, o.expertFF(), biased)
	if o.SharedFF > 0 {
		b.vector(blk("ffn_gate_inp_shexp.weight"), o.Dim, sinks)
		b.mlp(blk, "_shexp", 1, o.SharedFF, false)
	}
}

// norm adds a norm of the stream, or of what is added to it.
func (b *builder) norm(name string, fill filler) {
	b.vector(name+".weight", b.o.Dim, fill)
	if b.a.layerNorm {
		b.vector(name+".bias", b.o.Dim, bias)
	}
}

// matrix adds a random matrix of rows × n elements in the model's format. Its product with a vector of unit elements
// has elements of about the given size.
func (b *builder) matrix(name string, rows, n int, size float64) {
	b.planes(name, b.format, 1, rows, n, size)
}

// planes is matrix for several of them in one tensor, in format f or F16 where n is no whole number of blocks.
func (b *builder) planes(name string, f backend.Format, planes, rows, n int, size float64) {
	if n%f.Block() != 0 {
		f = backend.F16
	}
	v := make([]float32, planes*rows*n)
	dense(v, stream(b.o.Seed, name), size/math.Sqrt(float64(n)))
	b.add(name, f, v, planes, uint64(n), uint64(rows))
}

// vector adds a vector of n elements.
func (b *builder) vector(name string, n int, fill filler) { b.vectorPlanes(name, 1, n, fill) }

// vectorPlanes is vector for several of them in one tensor.
func (b *builder) vectorPlanes(name string, planes, n int, fill filler) {
	v := make([]float32, planes*n)
	fill(v, stream(b.o.Seed, name))
	b.add(name, b.vectors, v, planes, uint64(n))
}

// filler fills the elements of a vector.
type filler func([]float32, *rand.PCG)

// add adds a tensor of dims, with one more dimension where there are several planes.
func (b *builder) add(name string, f backend.Format, v []float32, planes int, dims ...uint64) {
	if b.err != nil {
		return
	}
	data := make([]byte, f.RowBytes(len(v)))
	if b.err = weights.Encode(data, f, v); b.err != nil {
		return
	}
	var t gguf.Type
	if t, b.err = weights.TypeOf(f); b.err != nil {
		return
	}
	if planes > 1 {
		dims = append(dims, uint64(planes))
	}
	b.out.Add(name, t, dims, data)
}
