package hostile

import (
	"fmt"
	"math"
	"strings"

	"cera/gguf"
)

var (
	nan  = float32(math.NaN())
	inf  = float32(math.Inf(1))
	most = uint64(math.MaxUint64)
)

// models are files whose metadata describe no model.
func models() []Row {
	arch := func(name string, value any, want ...string) Row {
		return change(Model, name, "llama", func(m *edited) { m.set("general.architecture", value) },
			append(want, "general.architecture")...)
	}
	const between, finite, positive = "is not between 1 and", "is not a finite number", "is not a number > 0"
	return []Row{
		{"no keys at all", Model, []string{"general.architecture", "missing"}, func(dir string) (string, error) {
			return write(dir, fileName, header(3, 0, 0))
		}},
		arch("no architecture", nil, "missing"),
		arch("architecture as number", uint32(7), "uint32 7", "want a string"),
		arch("architecture that is unknown", "magic", `"magic" is not supported`, "llama"),
		arch("architecture of 1 MiB", strings.Repeat("x", 1<<20), "is not supported", "llama"),
		arch("architecture with control characters", "\x1b[2J\x1b]0;title\x07", `\x1b[2J`, "is not supported"),
		arch("architecture with empty name", "", `"" is not supported`),

		key("llama", "block_count", nil, "missing"),
		key("llama", "block_count", uint32(0), between),
		key("llama", "block_count", uint32(1_000_000_000), between, "1000000000"),
		key("llama", "block_count", most, between),
		key("llama", "block_count", int32(-1), "int32 -1", "non-negative"),
		key("llama", "block_count", float32(4), "float32 4", "integer"),
		key("llama", "block_count", "4", `string "4"`, "integer"),
		key("llama", "embedding_length", uint32(0), between),
		key("llama", "embedding_length", uint32(1<<31), between),
		key("llama", "embedding_length", int64(-64), "int64 -64"),
		key("llama", "context_length", uint32(0), between),
		key("llama", "context_length", most, between),
		key("llama", "vocab_size", uint32(255), "255 differs from the 256 rows", "token_embd.weight"),
		key("llama", "vocab_size", most, between),

		key("llama", "attention.head_count", uint32(0), between, "0"),
		key("llama", "attention.head_count", nil, "missing"),
		key("llama", "attention.head_count", uint32(5), "does not divide head_count 5"),
		key("llama", "attention.head_count", uint32(1<<24), "do not divide"),
		key("llama", "attention.head_count", most, between),
		key("llama", "attention.head_count", []int32{4, 4, 4}, "3 values", "4 blocks"),
		key("llama", "attention.head_count", []int32{4, 4, 4, 0}, between),
		key("llama", "attention.head_count", []int32{4, 4, 4, -4}, "non-negative"),
		key("llama", "attention.head_count", make([]uint32, 100_000), "100000 values", "4 blocks"),
		key("llama", "attention.head_count", []string{"4"}, "array of 1 string"),
		key("llama", "attention.head_count_kv", uint32(0), between),
		key("llama", "attention.head_count_kv", uint32(3), "3 does not divide head_count 4"),
		key("llama", "attention.head_count_kv", uint32(1<<24), "does not divide"),
		key("llama", "attention.key_length", uint32(0), between),
		key("llama", "attention.key_length", uint64(1<<40), between),
		key("llama", "attention.value_length", uint32(32), "32 differs from key_length 16"),
		change(Model, "heads that overflow", "llama", func(m *edited) {
			m.set("llama.attention.head_count", uint32(1<<24))
			m.set("llama.attention.head_count_kv", uint32(1))
			m.set("llama.attention.key_length", uint32(1<<24))
		}, "llama.attention.head_count", "16777216 heads of 16777216", "more than"),
		key("llama", "feed_forward_length", uint32(0), between),
		key("llama", "feed_forward_length", nil, "missing"),
		key("llama", "feed_forward_length", most, between),

		key("llama", "attention.layer_norm_rms_epsilon", nil, "missing"),
		key("llama", "attention.layer_norm_rms_epsilon", float32(-1e-5), "-1e-05", "is not a number >= 0"),
		key("llama", "attention.layer_norm_rms_epsilon", nan, "NaN", finite),
		key("llama", "attention.layer_norm_rms_epsilon", inf, "+Inf", finite),
		key("llama", "attention.layer_norm_rms_epsilon", math.MaxFloat64, finite),
		key("llama", "attention.layer_norm_rms_epsilon", uint32(1), "uint32 1", "float32"),
		key("stablelm", "attention.layer_norm_epsilon", nan, "NaN", finite),

		key("llama", "rope.freq_base", nan, "NaN", finite),
		key("llama", "rope.freq_base", inf, "+Inf", finite),
		key("llama", "rope.freq_base", float32(0), positive),
		key("llama", "rope.freq_base", float32(-10000), "-10000", positive),
		key("llama", "rope.freq_base", "10000", `string "10000"`),
		key("llama", "rope.dimension_count", uint32(0), between),
		key("llama", "rope.dimension_count", uint32(7), "7 is not an even number up to the head's 16"),
		key("llama", "rope.dimension_count", uint32(18), "18 is not an even number up to the head's 16"),
		key("llama", "rope.scaling.type", "magic", `"magic" is not supported`),
		key("llama", "rope.scaling.type", strings.Repeat("x", 1<<20), "is not supported"),
		key("llama", "rope.scaling.factor", float32(-2), "-2", positive),
		key("llama", "rope.scaling.factor", nan, "NaN", finite),
		key("llama", "rope.scaling.attn_factor", float32(0), positive),
		key("gpt-oss", "rope.scaling.original_context_length", uint32(0), between),
		key("gpt-oss", "rope.freq_base", float32(1), "1 is not a number > 1", "yarn"),
		key("gpt-oss", "rope.freq_base", float32(0.5), "0.5 is not a number > 1", "yarn"),
		key("gpt-oss", "rope.scaling.yarn_beta_fast", float32(0), positive),

		key("gemma2", "attention.sliding_window", int32(-1), "int32 -1", "non-negative"),
		key("gemma2", "attention.sliding_window", uint64(1<<40), between),
		key("gemma2", "attention.sliding_window_pattern", []bool{true}, "1 values", "4 blocks"),
		key("gemma2", "attention.sliding_window_pattern", uint32(0), between),
		key("gemma2", "attn_logit_softcapping", float32(-1), "-1 is not a number >= 0"),
		key("gemma2", "final_logit_softcapping", nan, "NaN", finite),
		key("granite", "embedding_scale", nan, "NaN", finite),
		key("granite", "logit_scale", inf, "+Inf", finite),

		key("qwen3moe", "expert_used_count", uint32(9), between, "9"),
		key("qwen3moe", "expert_used_count", uint32(0), between, "0"),
		key("qwen3moe", "expert_used_count", nil, "missing"),
		key("qwen3moe", "expert_count", uint32(1_000_000), between, "1000000"),
		key("qwen3moe", "expert_count", most, between),
		key("qwen3moe", "expert_feed_forward_length", uint32(0), between),
		key("qwen3moe", "expert_gating_func", uint32(77), "77 is not supported"),
		key("gemma", "expert_count", uint32(4), "experts are not supported"),
	}
}

// shapes are files whose tensors do not fit what the metadata say.
func shapes() []Row {
	at := func(name string, edit func(m *edited), want ...string) Row {
		return change(Model, name, "llama", edit, want...)
	}
	return []Row{
		at("no embedding", func(m *edited) { m.remove("token_embd.weight") }, "token_embd.weight"),
		at("no tensors", func(m *edited) { m.tensors = nil }, "token_embd.weight: no rows"),
		at("missing tensor", func(m *edited) { m.remove("blk.2.attn_q.weight") },
			`tensor "blk.2.attn_q.weight": missing`, "[64, 64]"),
		at("tensor of no use", func(m *edited) { m.add("blk.0.attn_magic.weight", gguf.F32, 8) },
			`tensor "blk.0.attn_magic.weight"`, "expected no such tensor"),
		at("tensor of a block too many", func(m *edited) { m.add("blk.4.attn_norm.weight", gguf.F32, 64) },
			`tensor "blk.4.attn_norm.weight"`, "expected no such tensor"),
		at("transposed matrix", func(m *edited) {
			t := m.tensor("blk.1.ffn_down.weight")
			t.dims[0], t.dims[1] = t.dims[1], t.dims[0]
		},
			`tensor "blk.1.ffn_down.weight"`, "found [64, 80]", "expected [80, 64]"),
		at("matrix of three dimensions", func(m *edited) {
			t := m.tensor("blk.1.attn_q.weight")
			t.dims = []uint64{64, 32, 2}
		},
			`tensor "blk.1.attn_q.weight"`, "found [64, 32, 2]", "expected [64, 64]"),
		at("norm of another width", func(m *edited) { m.tensor("output_norm.weight").floats(1, 2, 3) },
			`tensor "output_norm.weight"`, "found [3]", "expected [64]"),
		at("norm in blocks", func(m *edited) {
			m.remove("output_norm.weight")
			m.add("output_norm.weight", gguf.Q8_0, 64)
		},
			`tensor "output_norm.weight"`, "F32, F16 or BF16"),
		at("matrix of integers", func(m *edited) {
			m.remove("blk.3.attn_k.weight")
			m.add("blk.3.attn_k.weight", gguf.I32, 64, 32)
		},
			`tensor "blk.3.attn_k.weight"`, "I32"),
		at("matrix in a format without decoder",
			func(m *edited) { m.remove("output.weight"); m.add("output.weight", gguf.Q8_1, 64, 256) },
			`tensor "output.weight"`, "Q8_1"),
		at("embedding of another width", func(m *edited) {
			m.remove("token_embd.weight")
			m.add("token_embd.weight", gguf.F32, 32, 256)
		},
			`tensor "token_embd.weight"`, "found [32, 256]", "expected [64, 256]"),
		at("all tensors missing but one", func(m *edited) {
			m.tensors = m.tensors[:1]
			for i := range 255 { // enough for the number of blocks
				m.add(fmt.Sprintf("more.%d", i), gguf.I8, 1)
			}
			m.set("llama.block_count", uint32(256))
		}, "missing, expected", "more"),
		at("5000 blocks", func(m *edited) {
			for i := range 5000 {
				m.add(fmt.Sprintf("blk.%d.attn_norm.weight", i+4), gguf.I8, 1)
			}
			m.set("llama.block_count", uint32(5000))
		}, "llama.block_count", "5000 is not between 1 and"),
		change(Model, "experts of another number", "qwen3moe", func(m *edited) {
			m.set("qwen3moe.expert_count", uint32(7))
		}, "blk.0.ffn_gate_inp.weight"),
		change(Model, "experts in two dimensions", "qwen3moe", func(m *edited) {
			t := m.tensor("blk.0.ffn_up_exps.weight")
			t.dims = []uint64{t.dims[0], t.dims[1] * t.dims[2]}
		}, `tensor "blk.0.ffn_up_exps.weight"`),
	}
}

// loads are models whose tensors have elements that no model can have: what is read of them before they run tells.
func loads() []Row {
	factors := func(name, tensor string, bad float32) Row {
		return change(Load, name, "phi3", func(m *edited) {
			m.remove(tensor)
			m.add(tensor, gguf.F32, 8).floats(1, 1, 1, bad, 1, 1, 1, 1)
		}, fmt.Sprintf("tensor %q", tensor), "element 3 is", "above 0")
	}
	return []Row{
		factors("rope factor of 0", "rope_freqs.weight", 0),
		factors("rope factor below 0", "rope_freqs.weight", -1),
		factors("rope factor that is NaN", "rope_factors_short.weight", nan),
		factors("rope factor that is infinite", "rope_factors_long.weight", inf),
	}
}
