// Package tinymodel writes small llama models with random weights: files to run, check and break without a download.
// The same options give the same bytes on every platform.
package tinymodel

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cera/gguf"
)

// Options is the shape of a model. The zero value is no model; start from Default.
type Options struct {
	// Seed selects the weights. Every tensor draws from its own stream, so a tensor keeps its values when other
	// options change, as long as its own shape stays.
	Seed uint64

	// Arch is the architecture: llama (or empty), qwen2, qwen3 or exaone4.
	Arch string

	Layers  int // transformer blocks
	Dim     int // width of the residual stream
	FF      int // width between ffn_gate/ffn_up and ffn_down
	Heads   int // query heads
	KVHeads int // key and value heads, a divisor of Heads
	HeadDim int // elements a head, even; 0: Dim/Heads. The file has key_length and value_length only when set
	Vocab   int // token ids, none of which has a text
	Ctx     int // context length, metadata only

	// Format encodes the matrices; vectors are F32. A matrix whose rows are no whole number of blocks becomes F16,
	// as in the files of the usual quantizers.
	Format gguf.Type

	TiedOutput bool // no output.weight: token_embd.weight serves twice
	RopeFreqs  bool // rope_freqs.weight, a factor for each pair of a head
	QKVBias    bool // blk.N.attn_{q,k,v}.bias
	OutputBias bool // blk.N.attn_output.bias
	Window     int  // attention.sliding_window, for exaone4; 0: none

	Eps      float32 // of every norm
	RopeBase float32 // rope angle of pair j at position p: p / RopeBase^(2j/headDim)
}

// Default returns the options of the built-in model: under 200 KB, grouped-query attention, Q8_0 matrices with an F16
// ffn_down.
func Default() Options {
	return Options{
		Seed:     1,
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

// Bounds on each width and on the elements of one matrix: nothing overflows, and memory stays within reach.
const (
	maxDim      = 1 << 20
	maxElements = 1 << 30
)

// arch is what an architecture's files have beside those of llama.
type arch struct {
	qkNorm   bool // a norm of each head of q and k
	postNorm bool // norms of what attention and MLP give, in place of those before them
	window   bool // may have a sliding window
}

var archs = map[string]arch{
	"llama":   {},
	"qwen2":   {},
	"qwen3":   {qkNorm: true},
	"exaone4": {qkNorm: true, postNorm: true, window: true},
}

// arch returns the architecture's name.
func (o Options) arch() string {
	if o.Arch == "" {
		return "llama"
	}
	return o.Arch
}

// headDim returns the elements of one head.
func (o Options) headDim() int {
	if o.HeadDim != 0 {
		return o.HeadDim
	}
	return o.Dim / o.Heads
}

// largest returns the number of elements of the largest matrix. Widths are in range.
func (o Options) largest() int64 {
	return int64(o.Dim) * int64(max(o.Vocab, o.FF, o.Heads*o.headDim()))
}

// validate returns an error that names the first option no model can have.
func (o Options) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Layers", o.Layers}, {"Dim", o.Dim}, {"FF", o.FF}, {"Heads", o.Heads},
		{"KVHeads", o.KVHeads}, {"Vocab", o.Vocab}, {"Ctx", o.Ctx},
	} {
		if f.value < 1 || f.value > maxDim {
			return fmt.Errorf("option %s is %d, expected 1 to %d", f.name, f.value, maxDim)
		}
	}
	if _, ok := archs[o.arch()]; !ok {
		return fmt.Errorf("option Arch is %q, expected one of %s", o.Arch, strings.Join(slices.Sorted(maps.Keys(archs)), ", "))
	}
	switch hd := o.headDim(); {
	case o.Window < 0 || o.Window > 0 && !archs[o.arch()].window:
		return fmt.Errorf("option Window is %d, expected 0 for %s", o.Window, o.arch())
	case o.HeadDim == 0 && o.Dim%o.Heads != 0:
		return fmt.Errorf("option Dim is %d, expected a multiple of Heads (%d) where HeadDim is 0", o.Dim, o.Heads)
	case hd < 2 || hd%2 != 0 || hd > maxDim/o.Heads:
		return fmt.Errorf("a head has %d elements, expected an even number from 2 to %d", hd, maxDim/o.Heads)
	case o.Heads%o.KVHeads != 0:
		return fmt.Errorf("option KVHeads is %d, expected a divisor of Heads (%d)", o.KVHeads, o.Heads)
	case o.largest() > maxElements:
		return fmt.Errorf("the largest matrix has %d elements, expected at most %d", o.largest(), maxElements)
	case !(o.Eps >= 0) || o.Eps-o.Eps != 0:
		return fmt.Errorf("option Eps is %v, expected a finite number, 0 or more", o.Eps)
	case !(o.RopeBase > 0) || o.RopeBase-o.RopeBase != 0:
		return fmt.Errorf("option RopeBase is %v, expected a finite number above 0", o.RopeBase)
	}
	return nil
}

// Write writes the model to w as a GGUF file and returns the number of bytes written. Options that no model can have are
// an error, and nothing is written then.
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
