package engine_test

import "cera/backend"

// archFaults are the rows of the drill for what only some architectures have.
var archFaults = []fault{
	{name: "embedding not scaled", model: "gemma", op: "scale", at: 0, site: "inp_scaled", do: func(call) {}},
	{name: "stream's share not scaled", model: "granite", op: "scale", at: 3, site: "attn_scaled-1", do: func(call) {}},
	{name: "window ignored", model: "gemma2", op: "attention", at: 0, site: "kqv_out-0",
		do: func(c call) { c.attn.Window = 0; c.run() }},
	{name: "window one too wide", model: "gpt-oss", op: "attention", at: 0, site: "kqv_out-0",
		do: func(c call) { c.attn.Window++; c.run() }},
	{name: "softcap of the scores forgotten", model: "gemma2", op: "attention", at: 1, site: "kqv_out-1",
		do: func(c call) { c.attn.Softcap = 0; c.run() }},
	{name: "sinks forgotten", model: "gpt-oss", op: "attention", at: 1, site: "kqv_out-1",
		do: func(c call) { c.attn.Sinks = backend.Tensor{}; c.run() }},
	{name: "queries not normed", model: "qwen3", op: "norm", at: 5, site: "Qcur_normed-1",
		do: func(c call) { c.be.Copy(*c.dst, *c.a) }},
	{name: "keys normed by the weight of the queries", model: "qwen3", op: "norm", at: 6, site: "Kcur_normed-1",
		do: func(c call) {
			*c.w = c.norms[5]
			c.run()
		}},
	{name: "attention's output not normed", model: "gemma2", op: "norm", at: 5, site: "attn_post_norm-1",
		do: func(c call) { c.be.Copy(*c.dst, *c.a) }},
	{name: "residual dropped between norms of the output", model: "olmo2", op: "add", at: 2, site: "ffn_inp-1",
		do: func(call) {}},
	{name: "shift of a layer norm dropped", model: "stablelm", op: "norm", at: 3, site: "ffn_norm-1",
		do: func(c call) { *c.b = backend.Tensor{}; c.run() }},
	{name: "rope of a block that has none", model: "smollm3", op: "attention", at: 3, site: "kqv_out-3",
		do: func(c call) {
			q := copyOf(c.be, *c.a)
			head := c.attn.HeadDim
			table := c.be.Alloc("table", 64, head)
			angles := make([]float32, 64*head)
			for i := range angles {
				angles[i] = float32([]float64{0.6, 0.8}[i%2])
			}
			c.be.Upload(table, angles)
			c.be.RoPE(q, *c.pos, table, backend.RoPE{HeadDim: head, RotDim: head})
			*c.a = q
			c.run()
		}},
	{name: "expert weights not normalised", model: "mixtral", op: "route", at: 1, site: "ffn_moe_weights-1",
		do: func(c call) { c.router.Normalize = false; c.run() }},
	{name: "softmax over all experts, not the picked", model: "gpt-oss", op: "route", at: 1, site: "ffn_moe_weights-1",
		do: func(c call) {
			c.router.Kind = backend.SoftmaxTopK
			c.run()
		}},
	{name: "slots of a token exchanged", model: "mixtral", op: "expert matmul", at: 3, site: "ffn_moe_gate-1",
		do: func(c call) {
			*c.pos = c.reordered(func(ids []uint32) {
				for i := 0; i+1 < len(ids); i += 2 {
					ids[i], ids[i+1] = ids[i+1], ids[i]
				}
			})
			c.run()
		}},
	{name: "bias of the experts dropped", model: "gpt-oss", op: "expert bias", at: 5, site: "ffn_moe_down-1",
		do: func(call) {}},
	{name: "expert weights left out of the sum", model: "qwen3moe", op: "combine", at: 1, site: "ffn_moe_out-1",
		do: func(c call) {
			ones := make([]float32, c.b.Rows*c.b.N)
			for i := range ones {
				ones[i] = 1
			}
			t := c.be.Alloc("ones", c.b.Rows, c.b.N)
			c.be.Upload(t, ones)
			*c.b = t
			c.run()
		}},
	{name: "shared expert taken whole", model: "qwen2moe", op: "add gated", at: 1, site: "ffn_out-1",
		do: func(c call) { c.be.Add(*c.dst, *c.a) }},
	{name: "gelu for silu", model: "llama", op: "act", at: 1, site: "ffn_swiglu-1", do: func(c call) {
		c.be.GatedAct(*c.dst, *c.a, *c.b, backend.GELUTanh)
	}},
}
