package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// builder collects the file of one model.
type builder struct {
	o      Options
	format backend.Format // of Options.Format
	out    *gguf.Writer
	err    error // the first one; later tensors are skipped
}

func newBuilder(o Options) (*builder, error) {
	f, err := weights.FormatOf(o.Format)
	if err == nil && !weights.CanEncode(f) {
		err = fmt.Errorf("%v can be read but not written", f)
	}
	if err != nil {
		return nil, fmt.Errorf("option Format: %w", err)
	}
	return &builder{o: o, format: f, out: gguf.NewWriter()}, nil
}

// metadata sets the keys that llama.cpp's converter writes for a llama without tokenizer.
func (b *builder) metadata() {
	o := b.o
	arch := o.arch()
	set := func(key string, v any) { b.out.Set(strings.Replace(key, "llama.", arch+".", 1), v) }
	set("general.architecture", arch)
	set("general.name", "cera tiny "+arch)
	set("llama.vocab_size", uint32(o.Vocab))
	set("llama.context_length", uint32(o.Ctx))
	set("llama.embedding_length", uint32(o.Dim))
	set("llama.block_count", uint32(o.Layers))
	set("llama.feed_forward_length", uint32(o.FF))
	set("llama.attention.head_count", uint32(o.Heads))
	set("llama.attention.head_count_kv", uint32(o.KVHeads))
	set("llama.attention.layer_norm_rms_epsilon", o.Eps)
	if o.HeadDim != 0 {
		set("llama.attention.key_length", uint32(o.HeadDim))
		set("llama.attention.value_length", uint32(o.HeadDim))
	}
	if o.Window > 0 {
		set("llama.attention.sliding_window", uint32(o.Window))
	}
	set("llama.rope.freq_base", o.RopeBase)
	set("llama.rope.dimension_count", uint32(o.headDim()))
	set("tokenizer.ggml.model", "no_vocab")
}

// tensors adds every tensor. Matrices are [rows, n] as y = W·x reads them; GGUF lists n first.
func (b *builder) tensors() error {
	o := b.o
	q, kv := o.Heads*o.headDim(), o.KVHeads*o.headDim()

	b.matrix("token_embd.weight", o.Vocab, o.Dim, 1)
	b.vector("output_norm.weight", o.Dim, gain)
	if !o.TiedOutput {
		b.matrix("output.weight", o.Vocab, o.Dim, 1)
	}
	if o.RopeFreqs {
		b.vector("rope_freqs.weight", o.headDim()/2, ropeFactors)
	}
	for i := range o.Layers {
		blk := func(name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }
		a := archs[o.arch()]
		if a.postNorm {
			b.vector(blk("post_attention_norm.weight"), o.Dim, gain)
			b.vector(blk("post_ffw_norm.weight"), o.Dim, gain)
		} else {
			b.vector(blk("attn_norm.weight"), o.Dim, gain)
		}
		if a.qkNorm {
			b.vector(blk("attn_q_norm.weight"), o.headDim(), gain)
			b.vector(blk("attn_k_norm.weight"), o.headDim(), gain)
		}
		b.matrix(blk("attn_q.weight"), q, o.Dim, 1)
		b.matrix(blk("attn_k.weight"), kv, o.Dim, 1)
		b.matrix(blk("attn_v.weight"), kv, o.Dim, 1)
		if o.QKVBias {
			b.vector(blk("attn_q.bias"), q, bias)
			b.vector(blk("attn_k.bias"), kv, bias)
			b.vector(blk("attn_v.bias"), kv, bias)
		}
		b.matrix(blk("attn_output.weight"), o.Dim, q, delta)
		if o.OutputBias {
			b.vector(blk("attn_output.bias"), o.Dim, bias)
		}
		if !a.postNorm {
			b.vector(blk("ffn_norm.weight"), o.Dim, gain)
		}
		b.matrix(blk("ffn_gate.weight"), o.FF, o.Dim, 1)
		b.matrix(blk("ffn_up.weight"), o.FF, o.Dim, 1)
		b.matrix(blk("ffn_down.weight"), o.Dim, o.FF, delta)
	}
	return b.err
}

// delta is the size of what a block adds to the stream for an input of unit size. The embeddings are small too: a
// stream whose mean square stays well below 1 keeps the eps of every norm visible in f32, as in trained models.
const delta = 0.25

// matrix adds a random matrix of rows × n elements in the model's format, or F16 where n is no whole number of blocks.
// Its product with a vector of unit elements has elements of about the given size.
func (b *builder) matrix(name string, rows, n int, size float64) {
	f := b.format
	if n%f.Block() != 0 {
		f = backend.F16
	}
	v := make([]float32, rows*n)
	dense(v, stream(b.o.Seed, name), size/math.Sqrt(float64(n)))
	b.add(name, f, v, uint64(n), uint64(rows))
}

// vector adds a vector of n elements in F32.
func (b *builder) vector(name string, n int, fill func([]float32, *rand.PCG)) {
	v := make([]float32, n)
	fill(v, stream(b.o.Seed, name))
	b.add(name, backend.F32, v, uint64(n))
}

func (b *builder) add(name string, f backend.Format, v []float32, dims ...uint64) {
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
	b.out.Add(name, t, dims, data)
}
