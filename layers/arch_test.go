package layers_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cera/backend"
	"cera/gguf"
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

func keys(t *testing.T, metadata map[string]any) layers.Keys {
	t.Helper()
	w := gguf.NewWriter()
	for k, v := range metadata {
		w.Set(k, v)
	}
	var buf bytes.Buffer
	if _, err := w.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadConfig(t *testing.T) {
	base := layers.Config{
		Arch:   layers.Arch{Name: "llama", Rope: backend.RopeNorm, Act: backend.SiLU},
		Layers: 2, Embd: 32, FF: 48, Heads: 4, KVHeads: 4, HeadDim: 8, RotDim: 8, Vocab: 64, Ctx: 256, Eps: 1e-5, RopeBase: 10000,
	}
	for _, c := range []struct {
		name string
		set  map[string]any
		want func(*layers.Config)
	}{
		{"defaults", nil, func(*layers.Config) {}},
		{"grouped queries", map[string]any{"llama.attention.head_count_kv": uint32(2)}, func(c *layers.Config) { c.KVHeads = 2 }},
		{"head size of its own", map[string]any{
			"llama.attention.head_count": uint32(5), "llama.attention.key_length": uint32(24), "llama.attention.value_length": uint32(24),
		}, func(c *layers.Config) { c.Heads, c.KVHeads, c.HeadDim, c.RotDim = 5, 5, 24, 24 }},
		{"part of a head rotates", map[string]any{"llama.rope.dimension_count": uint32(4)}, func(c *layers.Config) { c.RotDim = 4 }},
		{"rope base", map[string]any{"llama.rope.freq_base": float32(5e5)}, func(c *layers.Config) { c.RopeBase = 5e5 }},
		{"wider integers", map[string]any{"llama.block_count": uint64(2), "llama.embedding_length": int32(32)}, func(*layers.Config) {}},
		{"neutral values of what is not there", map[string]any{
			"llama.expert_count": uint32(0), "llama.rope.scaling.type": "none", "llama.logit_scale": float32(1),
		}, func(*layers.Config) {}},
		{"eps 0", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(0)}, func(c *layers.Config) { c.Eps = 0 }},
	} {
		metadata := good()
		maps.Copy(metadata, c.set)
		got, err := layers.ReadConfig(keys(t, metadata), 64, 100)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := base
		c.want(&want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
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
		{"architecture is a number", map[string]any{"general.architecture": uint32(1)}, []string{"general.architecture"}},
		{"no block count", map[string]any{"llama.block_count": nil}, []string{"llama.block_count", "missing"}},
		{"block count of 0", map[string]any{"llama.block_count": uint32(0)}, []string{"llama.block_count", "0 is not between 1 and 100"}},
		{"more blocks than tensors", map[string]any{"llama.block_count": uint32(1e9)}, []string{"llama.block_count", "1000000000"}},
		{"block count is text", map[string]any{"llama.block_count": "two"}, []string{"llama.block_count"}},
		{"negative width", map[string]any{"llama.embedding_length": int32(-32)}, []string{"llama.embedding_length"}},
		{"width past any machine", map[string]any{"llama.embedding_length": uint64(1 << 60)}, []string{"llama.embedding_length"}},
		{"head count of 0", map[string]any{"llama.attention.head_count": uint32(0)}, []string{"llama.attention.head_count"}},
		{"heads do not divide the width", map[string]any{"llama.attention.head_count": uint32(5)}, []string{"5 heads", "32"}},
		{"KV heads do not divide the heads", map[string]any{"llama.attention.head_count_kv": uint32(3)}, []string{"head_count_kv", "3", "4"}},
		{"head counts a layer", map[string]any{"llama.attention.head_count": []uint32{4, 2}}, []string{"llama.attention.head_count"}},
		{"values of another size", map[string]any{"llama.attention.value_length": uint32(16)}, []string{"value_length", "16", "8"}},
		{"more rotates than there is", map[string]any{"llama.rope.dimension_count": uint32(10)}, []string{"rope.dimension_count", "10"}},
		{"an odd part rotates", map[string]any{"llama.rope.dimension_count": uint32(3)}, []string{"rope.dimension_count", "3"}},
		{"no eps", map[string]any{"llama.attention.layer_norm_rms_epsilon": nil}, []string{"layer_norm_rms_epsilon", "missing"}},
		{"negative eps", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(-1)}, []string{"layer_norm_rms_epsilon", "-1"}},
		{"eps is not a number", map[string]any{"llama.attention.layer_norm_rms_epsilon": nan}, []string{"layer_norm_rms_epsilon", "NaN"}},
		{"rope base 0", map[string]any{"llama.rope.freq_base": float32(0)}, []string{"rope.freq_base"}},
		{"rope base is not a number", map[string]any{"llama.rope.freq_base": nan}, []string{"rope.freq_base", "NaN"}},
		{"experts", map[string]any{"llama.expert_count": uint32(8)}, []string{"llama.expert_count", "8", "not supported"}},
		{"rope scaling", map[string]any{"llama.rope.scaling.type": "yarn"}, []string{"rope.scaling.type", `"yarn"`}},
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
		_, err := layers.ReadConfig(keys(t, metadata), 64, 100)
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
	if _, err := layers.ReadConfig(keys(t, good()), 0, 100); err == nil || !strings.Contains(err.Error(), "token_embd.weight") {
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
