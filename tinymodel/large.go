package tinymodel

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// Shape is that of a published llama.
type Shape struct {
	Name                            string
	Layers, Dim, FF, Heads, KVHeads int
	HeadDim, Vocab, Ctx             int
	Tied                            bool // no output.weight
}

// Shapes lists the shapes that WriteShape knows: those of Llama 3.2 1B and Llama 3.1 8B.
var Shapes = []Shape{
	{Name: "1B", Layers: 16, Dim: 2048, FF: 8192, Heads: 32, KVHeads: 8, HeadDim: 64, Vocab: 128256, Ctx: 131072,
		Tied: true},
	{Name: "8B", Layers: 32, Dim: 4096, FF: 14336, Heads: 32, KVHeads: 8, HeadDim: 128, Vocab: 128256, Ctx: 131072},
}

// ShapeByName finds a shape.
func ShapeByName(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("shape %q is not one of %s", name, strings.Join(names, ", "))
}

// patternRows is how many rows of each width are random; the rest of a matrix repeats them, so that a file of many
// gigabytes is written as fast as the disk takes it.
const patternRows = 64

// WriteShape writes a llama of a shape with random weights in the types of a mix: for measurements of speed. Matrices repeat the
// same rows; vectors are F32. It returns the number of bytes written.
func WriteShape(w io.Writer, s Shape, mix Mix, seed uint64) (int64, error) {
	var err error
	out := gguf.NewWriter()
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.name", fmt.Sprintf("random llama of the %s shape, %s", s.Name, mix.Name)},
		{"llama.vocab_size", uint32(s.Vocab)},
		{"llama.context_length", uint32(s.Ctx)},
		{"llama.embedding_length", uint32(s.Dim)},
		{"llama.block_count", uint32(s.Layers)},
		{"llama.feed_forward_length", uint32(s.FF)},
		{"llama.attention.head_count", uint32(s.Heads)},
		{"llama.attention.head_count_kv", uint32(s.KVHeads)},
		{"llama.attention.key_length", uint32(s.HeadDim)},
		{"llama.attention.value_length", uint32(s.HeadDim)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.freq_base", float32(500000)},
		{"llama.rope.dimension_count", uint32(s.HeadDim)},
		{"tokenizer.ggml.model", "no_vocab"},
	} {
		out.Set(kv.key, kv.value)
	}
	type pattern struct {
		t gguf.Type
		n int
	}
	patterns := map[pattern][]byte{}
	matrix := func(name string, t gguf.Type, rows, n int) {
		out.AddFunc(name, t, []uint64{uint64(n), uint64(rows)}, func() ([]byte, error) {
			p, ok := patterns[pattern{t, n}]
			if !ok {
				f, err := weights.FormatOf(t)
				if err == nil {
					p, err = randomMatrix(f, patternRows, n, rand.NewPCG(seed, uint64(n)), 1/math.Sqrt(float64(n)))
				}
				if err != nil {
					return nil, err
				}
				patterns[pattern{t, n}] = p
			}
			data := make([]byte, rows*(len(p)/patternRows))
			for to := data; len(to) > 0; {
				to = to[copy(to, p):]
				runtime.Gosched() // a loop of nothing but copies lets no other goroutine run for seconds, nor a signal be heard
			}
			return data, nil
		})
	}
	vector := func(name string, n int) {
		v := make([]float32, n)
		gain(v, stream(seed, name))
		data := make([]byte, 4*n)
		if err == nil {
			err = weights.Encode(data, backend.F32, v)
		}
		out.Add(name, gguf.F32, []uint64{uint64(n)}, data)
	}
	embedding := mix.Type
	if s.Tied {
		embedding = mix.Finer
	}
	matrix("token_embd.weight", embedding, s.Vocab, s.Dim)
	for i := range s.Layers {
		name := func(what string) string { return fmt.Sprintf("blk.%d.%s.weight", i, what) }
		projection := func(what string, rows, n int) { matrix(name(what), mix.of(what, i, s.Layers), rows, n) }
		vector(name("attn_norm"), s.Dim)
		projection("attn_q", s.Heads*s.HeadDim, s.Dim)
		projection("attn_k", s.KVHeads*s.HeadDim, s.Dim)
		projection("attn_v", s.KVHeads*s.HeadDim, s.Dim)
		projection("attn_output", s.Dim, s.Heads*s.HeadDim)
		vector(name("ffn_norm"), s.Dim)
		projection("ffn_gate", s.FF, s.Dim)
		projection("ffn_up", s.FF, s.Dim)
		projection("ffn_down", s.Dim, s.FF)
	}
	vector("output_norm.weight", s.Dim)
	if !s.Tied {
		matrix("output.weight", mix.Finer, s.Vocab, s.Dim)
	}
	if err != nil {
		return 0, fmt.Errorf("tinymodel: %w", err)
	}
	return out.WriteTo(w)
}
