package layers_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cera/backend"
	"cera/gguf/gguftest"
	"cera/layers"
)

// good is the metadata of a small llama.
func good() map[string]any {
	return map[string]any{
		"general.architecture":                   "llama",
		"llama.block_count":                      uint32(2),
		"llama.embedding_length":                 uint32(32),
		"llama.feed_forward_length":              uint32(48),
		"llama.context_length":                   uint32(256),
		"llama.attention.head_count":             uint32(4),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
	}
}

func TestReadConfig(t *testing.T) {
	rope := layers.RopeConfig{Base: 10000, Factor: 1, OrigCtx: 256, Gain: 1, Factors: true}
	base := func() layers.Config {
		shape := layers.BlockShape{Heads: 4, KVHeads: 4, FF: 48}
		return layers.Config{
			Arch:   layers.Arch{Name: "llama", Rope: backend.RopeNorm, MoE: true, Normalize: true},
			Layers: 2, Embd: 32, HeadDim: 8, RotDim: 8, Vocab: 64, Ctx: 256, Eps: 1e-5,
			Shapes: []layers.BlockShape{shape, shape}, Ropes: []layers.RopeConfig{rope},
			AttnScale: float32(1 / math.Sqrt(8)), EmbdFactor: 1, DeltaFactor: 1, LogitFactor: 1,
		}
	}
	each := func(c *layers.Config, f func(s *layers.BlockShape)) {
		for i := range c.Shapes {
			f(&c.Shapes[i])
		}
	}
	for _, c := range []struct {
		name string
		set  map[string]any
		want func(*layers.Config)
	}{
		{"defaults", nil, func(*layers.Config) {}},
		{"grouped queries", map[string]any{"llama.attention.head_count_kv": uint32(2)}, func(c *layers.Config) {
			each(c, func(s *layers.BlockShape) { s.KVHeads = 2 })
		}},
		{"head size of its own", map[string]any{
			"llama.attention.head_count": uint32(5), "llama.attention.key_length": uint32(24),
			"llama.attention.value_length": uint32(24),
		}, func(c *layers.Config) {
			c.HeadDim, c.RotDim, c.AttnScale = 24, 24, float32(1/math.Sqrt(24))
			each(c, func(s *layers.BlockShape) { s.Heads, s.KVHeads = 5, 5 })
		}},
		{"heads and widths a block", map[string]any{
			"llama.attention.head_count": []uint32{4, 2}, "llama.attention.head_count_kv": []int32{2, 1},
			"llama.feed_forward_length": []uint64{48, 64},
		}, func(c *layers.Config) {
			c.Shapes[0].KVHeads = 2
			c.Shapes[1] = layers.BlockShape{Heads: 2, KVHeads: 1, FF: 64}
		}},
		{"part of a head rotates", map[string]any{"llama.rope.dimension_count": uint32(4)},
			func(c *layers.Config) { c.RotDim = 4 }},
		{"rope base", map[string]any{"llama.rope.freq_base": float32(5e5)},
			func(c *layers.Config) { c.Ropes[0].Base = 5e5 }},
		{"linear scaling", map[string]any{"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": float32(4)},
			func(c *layers.Config) {
				c.Ropes[0].Scaling, c.Ropes[0].Factor = layers.LinearScaling, 4
			}},
		{"linear scaling by its older key", map[string]any{"llama.rope.scale_linear": float32(4)},
			func(c *layers.Config) {
				c.Ropes[0].Scaling, c.Ropes[0].Factor = layers.LinearScaling, 4
			}},
		{"yarn", map[string]any{
			"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": float32(4),
			"llama.rope.scaling.original_context_length": uint32(64),
		}, func(c *layers.Config) {
			c.Ropes[0] = layers.RopeConfig{
				Base: 10000, Scaling: layers.YaRN, Factor: 4, OrigCtx: 64, BetaFast: 32, BetaSlow: 1,
				Gain: float32(1 + 0.1*math.Log(4)), Factors: true,
			}
		}},
		{"wider integers", map[string]any{"llama.block_count": uint64(2), "llama.embedding_length": int32(32)},
			func(*layers.Config) {}},
		{"vocabulary of the embedding's rows", map[string]any{"llama.vocab_size": uint32(64)}, func(*layers.Config) {}},
		{"neutral values of what is not there", map[string]any{
			"llama.expert_count": uint32(0), "llama.rope.scaling.type": "none", "llama.logit_scale": float32(1),
			"llama.use_parallel_residual": false, "llama.expert_weights_scale": float32(0),
		}, func(*layers.Config) {}},
		{"experts", map[string]any{"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(2)},
			func(c *layers.Config) {
				c.Experts, c.ExpertsUsed, c.ExpertFF = 8, 2, 48
			}},
		{"experts of a width of their own", map[string]any{
			"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(2),
			"llama.expert_feed_forward_length": uint32(16),
			"llama.expert_weights_norm":        false, "llama.expert_gating_func": uint32(1),
		}, func(c *layers.Config) { c.Experts, c.ExpertsUsed, c.ExpertFF, c.Normalize = 8, 2, 16, false }},
		{"a window that the architecture does not have", map[string]any{"llama.attention.sliding_window": uint32(8)},
			func(*layers.Config) {}},
		{"eps 0", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(0)},
			func(c *layers.Config) { c.Eps = 0 }},
	} {
		metadata := good()
		maps.Copy(metadata, c.set)
		got, err := layers.ReadConfig(gguftest.Keys(t, metadata), 64, 100)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := base()
		c.want(&want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// goodOf is the metadata of a small model of an architecture, of six blocks.
func goodOf(arch string) map[string]any {
	metadata := map[string]any{"general.architecture": arch}
	for k, v := range good() {
		if key, ok := strings.CutPrefix(k, "llama."); ok {
			metadata[arch+"."+key] = v
		}
	}
	metadata[arch+".block_count"] = uint32(6)
	metadata[arch+".attention.layer_norm_epsilon"] = float32(1e-5)
	return metadata
}

// TestBlocks says which blocks of an architecture have a window, and which rotate how.
func TestBlocks(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		arch   string
		set    map[string]any
		window []int
		rope   []int
	}{
		{"llama", nil, []int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0}},
		{"gemma2", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 0, 8, 0, 8, 0},
			[]int{0, 0, 0, 0, 0, 0}},
		{"gemma3", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 8, 8, 8, 8, 0},
			[]int{1, 1, 1, 1, 1, 0}},
		{"gemma3", map[string]any{"attention.sliding_window": uint32(8), "attention.sliding_window_pattern": uint32(3)},
			[]int{8, 8, 0, 8, 8, 0}, []int{1, 1, 0, 1, 1, 0}},
		{"gpt-oss", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 0, 8, 0, 8, 0},
			[]int{0, 0, 0, 0, 0, 0}},
		{"gpt-oss", nil, []int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0}},
		{"phi3", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 8, 8, 8, 8, 8},
			[]int{0, 0, 0, 0, 0, 0}},
		{"phi3", map[string]any{"attention.sliding_window": uint32(0)}, []int{0, 0, 0, 0, 0, 0},
			[]int{0, 0, 0, 0, 0, 0}},
		{"olmo2", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 8, 8, 0, 8, 8},
			[]int{1, 1, 1, 0, 1, 1}},
		{"exaone4", map[string]any{"attention.sliding_window": uint32(8)}, []int{8, 8, 8, 0, 8, 8},
			[]int{0, 0, 0, none, 0, 0}},
		{"exaone4", map[string]any{
			"attention.sliding_window":         uint32(8),
			"attention.sliding_window_pattern": []bool{true, false, true, false, false, true},
		}, []int{8, 0, 8, 0, 0, 8}, []int{0, none, 0, none, none, 0}},
		{"exaone4", nil, []int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0}},
		{"smollm3", nil, []int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, none, 0, 0}},
		{"granite", map[string]any{"rope.scaling.finetuned": false}, []int{0, 0, 0, 0, 0, 0},
			[]int{none, none, none, none, none, none}},
		{"granite", map[string]any{"rope.scaling.finetuned": true}, []int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0}},
	} {
		metadata := goodOf(c.arch)
		for k, v := range c.set {
			metadata[c.arch+"."+k] = v
		}
		got, err := layers.ReadConfig(gguftest.Keys(t, metadata), 64, 100)
		if err != nil {
			t.Errorf("%s %v: %v", c.arch, c.set, err)
			continue
		}
		var window, rope []int
		for _, s := range got.Shapes {
			window, rope = append(window, s.Window), append(rope, s.Rope)
		}
		if diff := cmp.Diff(c.window, window); diff != "" {
			t.Errorf("%s %v: windows (-want +got):\n%s", c.arch, c.set, diff)
		}
		if diff := cmp.Diff(c.rope, rope); diff != "" {
			t.Errorf("%s %v: ropes (-want +got):\n%s", c.arch, c.set, diff)
		}
	}
}

// TestScales reads the factors of embedding, stream, attention and logits.
func TestScales(t *testing.T) {
	type scales struct{ Attn, Embd, Delta, Logit, AttnCap, FinalCap float32 }
	root := float32(1 / math.Sqrt(8))
	for _, c := range []struct {
		arch   string
		blocks uint32
		set    map[string]any
		want   scales
	}{
		{"llama", 6, nil, scales{root, 1, 1, 1, 0, 0}},
		{"gemma", 6, nil, scales{root, float32(math.Sqrt(32)), 1, 1, 0, 0}},
		{"gemma2", 6, nil, scales{root, float32(math.Sqrt(32)), 1, 1, 50, 30}},
		{"gemma2", 6, map[string]any{"attn_logit_softcapping": float32(20), "final_logit_softcapping": float32(0)},
			scales{root, float32(math.Sqrt(32)), 1, 1, 20, 0}},
		{"gemma2", 46, map[string]any{"attention.key_length": uint32(16), "attention.value_length": uint32(16)},
			scales{root, float32(math.Sqrt(32)), 1, 1, 50, 30}}, // by the width: 32/4, not 16
		{"granite", 6, nil, scales{root, 1, 1, 1, 0, 0}},
		{"granite", 6, map[string]any{
			"embedding_scale": float32(12), "residual_scale": float32(0.25), "logit_scale": float32(8),
			"attention.scale": float32(0.5),
		}, scales{0.5, 12, 0.25, 0.125, 0, 0}},
	} {
		metadata := goodOf(c.arch)
		metadata[c.arch+".block_count"] = c.blocks
		for k, v := range c.set {
			metadata[c.arch+"."+k] = v
		}
		got, err := layers.ReadConfig(gguftest.Keys(t, metadata), 64, 100)
		if err != nil {
			t.Errorf("%s %v: %v", c.arch, c.set, err)
			continue
		}
		s := scales{got.AttnScale, got.EmbdFactor, got.DeltaFactor, got.LogitFactor, got.AttnSoftcap, got.FinalSoftcap}
		if diff := cmp.Diff(c.want, s); diff != "" {
			t.Errorf("%s, %d blocks, %v (-want +got):\n%s", c.arch, c.blocks, c.set, diff)
		}
	}
}

// TestArchs reads a config of every row, and holds the table to what the forward pass has.
func TestArchs(t *testing.T) {
	for _, name := range layers.Archs() {
		c, err := layers.ReadConfig(gguftest.Keys(t, goodOf(name)), 64, 100)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.QK == layers.HeadQKNorm && c.QKV == layers.FusedQKV {
			t.Errorf("%s: heads cannot be normed out of a fused projection", name)
		}
		// The walk without a device names each norm once.
		m := layers.NewModel(c)
		seen := map[string]bool{}
		for _, n := range layers.NormSitesOf(m) {
			if seen[n.Site] {
				t.Errorf("%s: %s is there twice", name, n.Site)
			}
			seen[n.Site] = true
		}
		if !seen[layers.SiteResultNorm] || len(seen) < 7 {
			t.Errorf("%s: %d norms", name, len(seen))
		}
	}
}

func TestReadConfigRefuses(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for _, c := range []struct {
		name string
		set  map[string]any // nil deletes a key
		want []string
	}{
		{"no architecture", map[string]any{"general.architecture": nil}, []string{"general.architecture", "missing"}},
		{"unknown architecture", map[string]any{"general.architecture": "mamba"}, []string{`"mamba"`, "llama"}},
		{"architecture is a number", map[string]any{"general.architecture": uint32(1)},
			[]string{"general.architecture"}},
		{"no block count", map[string]any{"llama.block_count": nil}, []string{"llama.block_count", "missing"}},
		{"block count of 0", map[string]any{"llama.block_count": uint32(0)},
			[]string{"llama.block_count", "0 is not between 1 and 100"}},
		{"more blocks than tensors", map[string]any{"llama.block_count": uint32(1e9)},
			[]string{"llama.block_count", "1000000000"}},
		{"block count is text", map[string]any{"llama.block_count": "two"}, []string{"llama.block_count"}},
		{"negative width", map[string]any{"llama.embedding_length": int32(-32)}, []string{"llama.embedding_length"}},
		{"width past any machine", map[string]any{"llama.embedding_length": uint64(1 << 60)},
			[]string{"llama.embedding_length"}},
		{"head count of 0", map[string]any{"llama.attention.head_count": uint32(0)},
			[]string{"llama.attention.head_count"}},
		{"heads do not divide the width", map[string]any{"llama.attention.head_count": uint32(5)},
			[]string{"5 heads", "32"}},
		{"KV heads do not divide the heads", map[string]any{"llama.attention.head_count_kv": uint32(3)},
			[]string{"head_count_kv", "3", "4"}},
		{"too few head counts", map[string]any{"llama.attention.head_count": []uint32{4}},
			[]string{"llama.attention.head_count", "1 values", "2 blocks"}},
		{"a head count of 0 in a block", map[string]any{"llama.attention.head_count": []uint32{4, 0}},
			[]string{"llama.attention.head_count", "0 is not between"}},
		{"KV heads of a block do not divide", map[string]any{"llama.attention.head_count_kv": []uint32{2, 3}},
			[]string{"head_count_kv", "3", "4", "block 1"}},
		{"head count is text", map[string]any{"llama.attention.head_count": "four"},
			[]string{"llama.attention.head_count"}},
		{"another vocabulary", map[string]any{"llama.vocab_size": uint32(63)},
			[]string{"llama.vocab_size", "63", "64 rows of token_embd.weight"}},
		{"values of another size", map[string]any{"llama.attention.value_length": uint32(16)},
			[]string{"value_length", "16", "8"}},
		{"more rotates than there is", map[string]any{"llama.rope.dimension_count": uint32(10)},
			[]string{"rope.dimension_count", "10"}},
		{"an odd part rotates", map[string]any{"llama.rope.dimension_count": uint32(3)},
			[]string{"rope.dimension_count", "3"}},
		{"no eps", map[string]any{"llama.attention.layer_norm_rms_epsilon": nil},
			[]string{"layer_norm_rms_epsilon", "missing"}},
		{"negative eps", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(-1)},
			[]string{"layer_norm_rms_epsilon", "-1"}},
		{"eps is not a number", map[string]any{"llama.attention.layer_norm_rms_epsilon": nan},
			[]string{"layer_norm_rms_epsilon", "NaN"}},
		{"rope base 0", map[string]any{"llama.rope.freq_base": float32(0)}, []string{"rope.freq_base"}},
		{"rope base is not a number", map[string]any{"llama.rope.freq_base": nan}, []string{"rope.freq_base", "NaN"}},
		{"experts of an architecture without",
			map[string]any{"general.architecture": "qwen2", "qwen2.expert_count": uint32(4),
				"qwen2.block_count": uint32(2), "qwen2.embedding_length": uint32(32),
				"qwen2.feed_forward_length": uint32(48),
				"qwen2.context_length":      uint32(256), "qwen2.attention.head_count": uint32(4),
				"qwen2.attention.layer_norm_rms_epsilon": float32(1e-5),
			}, []string{"qwen2.expert_count", "4", "not supported"}},
		{"experts without a number", map[string]any{"llama.expert_count": uint32(8)},
			[]string{"llama.expert_used_count", "missing"}},
		{"more experts used than there are",
			map[string]any{"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(9)},
			[]string{"llama.expert_used_count", "9 is not between 1 and 8"}},
		{"sigmoid router", map[string]any{
			"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(2),
			"llama.expert_gating_func": uint32(2),
		}, []string{"llama.expert_gating_func", "2 is not supported"}},
		{"rope scaling", map[string]any{"llama.rope.scaling.type": "dynamic"},
			[]string{"rope.scaling.type", `"dynamic"`, "yarn"}},
		{"rope factor", map[string]any{"llama.rope.scaling.factor": float32(-2)},
			[]string{"rope.scaling.factor", "-2"}},
		{"rope factor is not a number", map[string]any{"llama.rope.scaling.factor": nan},
			[]string{"rope.scaling.factor", "NaN"}},
		{"parallel residual", map[string]any{"llama.use_parallel_residual": true},
			[]string{"use_parallel_residual", "not supported"}},
		{"negative softcap", map[string]any{"llama.attn_logit_softcapping": float32(-1)},
			[]string{"attn_logit_softcapping", "-1"}},
		{"logit scale", map[string]any{"llama.logit_scale": float32(0.5)}, []string{"logit_scale", "0.5"}},
	} {
		metadata := good()
		for k, v := range c.set {
			if v == nil {
				delete(metadata, k)
			} else {
				metadata[k] = v
			}
		}
		_, err := layers.ReadConfig(gguftest.Keys(t, metadata), 64, 100)
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", c.name, err, w)
			}
		}
	}
	if _, err := layers.ReadConfig(gguftest.Keys(t, good()), 0, 100); err == nil ||
		!strings.Contains(err.Error(), "token_embd.weight") {
		t.Errorf("no vocabulary: %v", err)
	}
}

func TestParseNorms(t *testing.T) {
	for _, n := range []layers.Norms{layers.NormsAuto, layers.NormsBatch, layers.NormsArena} {
		if got, err := layers.ParseNorms(n.String()); err != nil || got != n {
			t.Errorf("%v came back as %v, %v", n, got, err)
		}
	}
	if _, err := layers.ParseNorms("Batch"); err == nil {
		t.Error("a name in capitals was accepted")
	}
}
