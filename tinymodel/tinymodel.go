// Package tinymodel writes small models of every architecture with random weights: files to run, check and break
// without a download. The same options give the same bytes on every platform.
package tinymodel

import (
	"fmt"
	"io"

	"cera/gguf"
)

// Options is the shape of a model. The zero value is no model; start from Default or For.
type Options struct {
	// Seed selects the weights. Every tensor draws from its own stream, so a tensor keeps its values when other
	// options change, as long as its own shape stays.
	Seed uint64

	Arch string // general.architecture, one of Archs; empty: llama

	Layers  int // transformer blocks
	Dim     int // width of the residual stream
	FF      int // width between ffn_gate/ffn_up and ffn_down
	Heads   int // query heads
	KVHeads int // key and value heads, a divisor of Heads
	HeadDim int // elements a head, even; 0: Dim/Heads. The file has key_length and value_length only when set
	RotDim  int // leading elements of a head that rotate, even; 0: all
	Vocab   int // token ids, none of which has a text
	Ctx     int // context length, metadata only

	// BlockHeads and BlockKVHeads give each block its own number in place of Heads and KVHeads, which then serve for
	// the size of a head alone. The file has an array for each that is set.
	BlockHeads, BlockKVHeads []int

	// Format encodes the matrices. A matrix whose rows are no whole number of blocks becomes F16, as in the files of
	// the usual quantizers; a router stays F32.
	Format gguf.Type
	// Vectors encodes norm weights, biases and the like: F32, F16 or BF16.
	Vectors gguf.Type

	TiedOutput  bool // no output.weight: token_embd.weight serves twice
	RopeFreqs   bool // rope_freqs.weight, a factor for each pair of a head
	LongFactors bool // rope_factors_short.weight and rope_factors_long.weight, likewise
	QKVBias     bool // blk.N.attn_{q,k,v}.bias, also where the architecture does not ask for them; as the next two
	OutputBias  bool // blk.N.attn_output.bias
	MLPBias     bool // blk.N.ffn_{gate,up,down}.bias

	Experts     int // experts in place of each MLP, of which a router picks ExpertsUsed; 0: MLPs
	ExpertsUsed int
	ExpertFF    int // width of an expert; 0: FF, without a key of its own
	SharedFF    int // width of the expert that every token takes beside the others; 0: there is none

	Window       int     // attention.sliding_window; 0: no key
	Windowed     []bool  // attention.sliding_window_pattern, a value a block; nil: no key
	AttnSoftcap  float32 // attn_logit_softcapping; 0: no key
	FinalSoftcap float32 // final_logit_softcapping; 0: no key

	Eps         float32 // of every norm
	RopeBase    float32 // rope angle of pair j at position p: p / RopeBase^(2j/RotDim)
	RopeScaling string  // rope.scaling.type, as it is; empty: no key
	RopeFactor  float32 // rope.scaling.factor; 0: no key
	OrigCtx     int     // rope.scaling.original_context_length; 0: no key
	NoRope      bool    // rope.scaling.finetuned is false, by which granite does not rotate
}

// Default returns the options of the built-in model: under 200 KB, grouped-query attention, Q8_0 matrices with an F16
// ffn_down.
func Default() Options {
	return Options{
		Seed:     1,
		Arch:     "llama",
		Layers:   4,
		Dim:      64,
		FF:       80,
		Heads:    4,
		KVHeads:  2,
		Vocab:    256,
		Ctx:      512,
		Format:   gguf.Q8_0,
		Eps:      1e-5,
		RopeBase: 10000,
	}
}

// headDim returns the elements of one head.
func (o Options) headDim() int {
	if o.HeadDim != 0 {
		return o.HeadDim
	}
	return o.Dim / o.Heads
}

// rotDim returns the elements of a head that rotate.
func (o Options) rotDim() int {
	if o.RotDim != 0 {
		return o.RotDim
	}
	return o.headDim()
}

// expertFF returns the width of one expert.
func (o Options) expertFF() int {
	if o.ExpertFF != 0 {
		return o.ExpertFF
	}
	return o.FF
}

// heads returns the query heads of a block and its key and value heads.
func (o Options) heads(block int) (q, kv int) {
	q, kv = o.Heads, o.KVHeads
	if len(o.BlockHeads) > 0 {
		q = o.BlockHeads[block]
	}
	if len(o.BlockKVHeads) > 0 {
		kv = o.BlockKVHeads[block]
	}
	return q, kv
}

// Write writes the model to w as a GGUF file and returns the number of bytes written. Options that no model can have
// are an error, and nothing is written then.
func Write(w io.Writer, o Options) (int64, error) {
	if err := o.validate(); err != nil {
		return 0, fmt.Errorf("tinymodel: %w", err)
	}
	b, err := newBuilder(o)
	if err != nil {
		return 0, fmt.Errorf("tinymodel: %w", err)
	}
	b.metadata()
	if err := b.tensors(); err != nil {
		return 0, fmt.Errorf("tinymodel: %w", err)
	}
	return b.out.WriteTo(w)
}
