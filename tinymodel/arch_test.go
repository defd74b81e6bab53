package tinymodel

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
)

// committed are models in testdata that llama.cpp ran, with the options that give a file the same tensors and keys.
var committed = []struct {
	file, arch string
	change     func(o *Options)
}{
	{file: "llama", arch: "llama"},
	{file: "llama-mqa-hd24", arch: "llama", change: func(o *Options) { o.HeadDim = 24 }},
	{file: "llama-obias", arch: "llama", change: func(o *Options) { o.QKVBias, o.OutputBias = true, true }},
	{file: "llama3-ropefreqs", arch: "llama", change: func(o *Options) { o.RopeFreqs, o.TiedOutput = true, true }},
	{file: "mixtral", arch: "llama", change: func(o *Options) { o.Experts, o.ExpertsUsed = 3, 2 }},
	{file: "qwen2", arch: "qwen2"},
	{file: "qwen2moe", arch: "qwen2moe"},
	{file: "qwen3", arch: "qwen3", change: func(o *Options) { o.TiedOutput = true }},
	{file: "qwen3moe", arch: "qwen3moe"},
	{file: "gemma", arch: "gemma"},
	{file: "gemma2", arch: "gemma2"},
	{file: "gemma3", arch: "gemma3"},
	{file: "phi3", arch: "phi3", change: func(o *Options) { o.OrigCtx = 256 }},
	{file: "granite", arch: "granite", change: func(o *Options) { o.TiedOutput = true }},
	{file: "olmo2", arch: "olmo2"},
	{file: "smollm3", arch: "smollm3", change: func(o *Options) { o.TiedOutput = true }},
	{file: "stablelm", arch: "stablelm"},
	{file: "starcoder2", arch: "starcoder2"},
	{file: "gpt-oss", arch: "gpt-oss", change: func(o *Options) { o.HeadDim = 16 }},
}

// TestCommitted holds names of tensors and keys, how many dimensions a tensor has and the type of a key against files
// that were written by another program.
func TestCommitted(t *testing.T) {
	seen := map[string]bool{"exaone4": true} // of which there is none
	for _, c := range committed {
		seen[c.arch] = true
		want, err := gguf.Open("../testdata/archs/" + c.file + ".gguf")
		if err != nil {
			t.Fatal(err)
		}
		defer want.Close()
		o := For(c.arch)
		if c.change != nil {
			c.change(&o)
		}
		got, _ := model(t, o)
		a, b := outline(got), outline(want)
		diff(t, c.file+": only here", a, b, nil)
		diff(t, c.file+": only in testdata", b, a, nil)
	}
	for _, arch := range Archs() {
		if !seen[arch] {
			t.Errorf("%s is compared with no file", arch)
		}
	}
}

// outline lists the keys and the tensors of the first block and outside of any.
func outline(f *gguf.File) []string {
	var s []string
	for _, kv := range f.Keys {
		s = append(s, fmt.Sprintf("%s %v", kv.Key, kv.Type))
	}
	for _, t := range f.Tensors {
		if !strings.HasPrefix(t.Name, "blk.") || strings.HasPrefix(t.Name, "blk.0.") {
			s = append(s, fmt.Sprintf("%s of %d dimensions", t.Name, len(t.Dims)))
		}
	}
	return s
}

// exaone4 has llama.cpp's tensors for it.
func TestExaone4(t *testing.T) {
	o := For("exaone4")
	o.Layers, o.Format, o.Windowed = 1, gguf.F32, []bool{true}
	f, _ := model(t, o)
	want := []string{
		"token_embd.weight F32 [64 256]", "output_norm.weight F32 [64]", "output.weight F32 [64 256]",
		"blk.0.attn_q.weight F32 [64 64]", "blk.0.attn_k.weight F32 [64 32]", "blk.0.attn_v.weight F32 [64 32]",
		"blk.0.attn_q_norm.weight F32 [16]", "blk.0.attn_k_norm.weight F32 [16]",
		"blk.0.attn_output.weight F32 [64 64]",
		"blk.0.post_attention_norm.weight F32 [64]", "blk.0.ffn_gate.weight F32 [64 80]",
		"blk.0.ffn_up.weight F32 [64 80]",
		"blk.0.ffn_down.weight F32 [80 64]", "blk.0.post_ffw_norm.weight F32 [64]",
	}
	if got := shapes(f); !slices.Equal(got, want) {
		t.Errorf("tensors\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w, err := f.Uint("exaone4.attention.sliding_window"); err != nil || w != 6 {
		t.Errorf("window %d, %v, expected 6", w, err)
	}
	if p, err := f.Bools("exaone4.attention.sliding_window_pattern"); err != nil || !slices.Equal(p, o.Windowed) {
		t.Errorf("pattern %v, %v, expected %v", p, err, o.Windowed)
	}
}

// TestVariants says which keys and tensors an option adds, and which it takes away.
func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name      string
		arch      string
		change    func(o *Options)
		add, drop []string
	}{
		{"BlockHeads", "llama", func(o *Options) { o.BlockHeads, o.BlockKVHeads = []int{6, 3}, []int{2, 3} }, []string{
			"llama.attention.head_count = [6 3]", "llama.attention.head_count_kv = [2 3]",
			"blk.0.attn_k.weight F32 [48 16]", "blk.0.attn_v.weight F32 [48 16]", "blk.1.attn_q.weight F32 [48 24]",
			"blk.1.attn_output.weight F32 [24 48]",
		}, []string{
			"llama.attention.head_count = 6", "llama.attention.head_count_kv = 3",
			"blk.0.attn_k.weight F32 [48 24]", "blk.0.attn_v.weight F32 [48 24]", "blk.1.attn_q.weight F32 [48 48]",
			"blk.1.attn_output.weight F32 [48 48]",
		}},
		{"LongFactors, RotDim", "phi3", func(o *Options) { o.LongFactors, o.RotDim, o.OrigCtx = true, 6, 32 }, []string{
			"rope_factors_short.weight F32 [3]", "rope_factors_long.weight F32 [3]", "phi3.rope.dimension_count = 6",
			"phi3.rope.scaling.original_context_length = 32",
		}, []string{"phi3.rope.dimension_count = 8"}},
		{"RopeScaling", "qwen2", func(o *Options) { o.RopeScaling, o.RopeFactor = "yarn", 4 },
			[]string{"qwen2.rope.scaling.type = yarn", "qwen2.rope.scaling.factor = 4"}, nil},
		{"NoRope", "granite", func(o *Options) { o.NoRope = true }, []string{"granite.rope.scaling.finetuned = false"},
			nil},
		{"softcaps and window", "gemma2", func(o *Options) { o.AttnSoftcap, o.FinalSoftcap, o.Window = 5, 4, 3 },
			[]string{
				"gemma2.attn_logit_softcapping = 5", "gemma2.final_logit_softcapping = 4",
				"gemma2.attention.sliding_window = 3",
			}, nil},
		{"MLPBias", "llama", func(o *Options) { o.MLPBias, o.Layers = true, 1 }, []string{
			"blk.0.ffn_gate.bias F32 [36]", "blk.0.ffn_up.bias F32 [36]", "blk.0.ffn_down.bias F32 [48]",
			"llama.block_count = 1",
		}, append(block(1), "llama.block_count = 2")},
		{"Experts", "qwen2moe", func(o *Options) {
			o.Layers, o.Experts, o.ExpertsUsed, o.ExpertFF, o.SharedFF = 1, 5, 2, 20, 28
		}, []string{
			"qwen2moe.block_count = 1", "qwen2moe.expert_count = 5", "qwen2moe.expert_used_count = 2",
			"qwen2moe.expert_feed_forward_length = 20", "qwen2moe.expert_shared_feed_forward_length = 28",
			"blk.0.ffn_gate_inp.weight F32 [48 5]", "blk.0.ffn_gate_exps.weight F32 [48 20 5]",
			"blk.0.ffn_up_exps.weight F32 [48 20 5]",
			"blk.0.ffn_down_exps.weight F32 [20 48 5]", "blk.0.ffn_gate_inp_shexp.weight F32 [48]",
			"blk.0.ffn_gate_shexp.weight F32 [48 28]", "blk.0.ffn_up_shexp.weight F32 [48 28]",
			"blk.0.ffn_down_shexp.weight F32 [28 48]",
		}, append(block(1), "blk.1.attn_q.bias F32 [48]", "blk.1.attn_k.bias F32 [24]", "blk.1.attn_v.bias F32 [24]",
			"blk.0.ffn_gate.weight F32 [48 36]", "blk.0.ffn_up.weight F32 [48 36]", "blk.0.ffn_down.weight F32 [36 48]",
			"qwen2moe.block_count = 2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := small()
			o.Arch = c.arch
			before, _ := model(t, o)
			c.change(&o)
			after, _ := model(t, o)
			had, has := all(before), all(after)
			diff(t, "added", has, had, c.add)
			diff(t, "dropped", had, has, c.drop)
		})
	}
}

// all returns every tensor and key.
func all(f *gguf.File) []string {
	s := shapes(f)
	for _, kv := range f.Keys {
		s = append(s, fmt.Sprintf("%s = %v", kv.Key, kv.Value))
	}
	return s
}

// Vectors have the type that was asked for, those of experts too; a router stays as it is.
func TestVectors(t *testing.T) {
	for _, typ := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16} {
		o := For("gpt-oss")
		o.Vectors, o.Format, o.Layers, o.LongFactors = typ, gguf.Q4_0, 1, true
		f, _ := model(t, o)
		for _, ts := range f.Tensors {
			want := typ
			switch {
			case strings.HasSuffix(ts.Name, "ffn_gate_inp.weight"):
				want = gguf.F32
			case len(ts.Dims) > 1 && strings.HasSuffix(ts.Name, ".weight"):
				want = gguf.Q4_0
			}
			if ts.Type != want {
				t.Errorf("%s %v is %v, expected %v", ts.Name, ts.Dims, ts.Type, want)
			}
		}
	}
}

// The bytes of every architecture are pinned, all together.
func TestPinnedArchs(t *testing.T) {
	h := sha256.New()
	for _, arch := range Archs() {
		o := For(arch)
		o.Vectors, o.LongFactors = gguf.BF16, true
		if _, err := Write(h, o); err != nil {
			t.Errorf("%s: %v", arch, err)
		}
	}
	const want = "09eb58cfb96e9cbe7b5074adf60cdda887fcbb70cd918eeae10b3bbe30e7d635"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("sha256 %s, expected %s", got, want)
	}
}

// llama is the default by every way to ask for it.
func TestForLlama(t *testing.T) {
	named, unnamed := For("llama"), For("")
	_, want := model(t, Default())
	empty := Default()
	empty.BlockHeads, empty.BlockKVHeads, empty.Windowed = []int{}, []int{}, []bool{}
	for _, o := range []Options{named, unnamed, empty} {
		if _, got := model(t, o); !bytes.Equal(got, want) {
			t.Errorf("Arch %q is another model than the default", o.Arch)
		}
	}
	if _, err := Write(io.Discard, For("mamba")); err == nil ||
		!strings.Contains(err.Error(), `option Arch is "mamba", expected one of llama, `) {
		t.Errorf("an unknown architecture: %v", err)
	}
}
