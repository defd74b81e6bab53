package shaders

// Variants lists every variant of every kernel, for the given weight formats (ggml's names).
func Variants(formats ...string) []Variant {
	vs := []Variant{
		RMSNormBatch{}, RMSNormBatch{Add: true},
		FusedResidualRMSNorm{}, FusedResidualRMSNorm{Tee: true},
		LayerNorm{}, LayerNorm{Bias: true},
		RoPE{Style: "norm"}, RoPE{Style: "neox"}, StoreKV{}, Attention{}, Attention{Sinks: true},
		GatedAct{Act: "silu"}, GatedAct{Act: "gelu_tanh"}, GatedAct{Act: "clamped_swiglu"},
		Act{Act: "silu"}, Act{Act: "gelu_tanh"},
		AddBias{}, Add{}, AddGated{}, Scale{}, Softcap{},
		Route{}, ExpertBias{}, Combine{},
	}
	for _, f := range formats {
		vs = append(vs, Embed{f}, MatVec{f}, MatMul{f}, ExpertMatMul{f})
	}
	return vs
}
