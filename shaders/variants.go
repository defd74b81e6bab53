package shaders

// Variants lists every variant of every kernel, for the given weight formats (ggml's names).
func Variants(formats ...string) []Variant {
	vs := []Variant{
		RMSNormBatch{}, RMSNormBatch{Add: true},
		FusedResidualRMSNorm{}, FusedResidualRMSNorm{Tee: true},
		LayerNorm{}, LayerNorm{Bias: true}, LayerNorm{Threads: 64},
		RoPE{Style: "norm"}, RoPE{Style: "neox"}, StoreKV{}, StoreKV{Half: true}, RoPEStore{Style: "norm"}, RoPEStore{Style: "neox", Half: true}, UnpackHalf{}, UnpackHalf{BuiltIn: true},
		GatedAct{Act: "silu"}, GatedAct{Act: "gelu_tanh"}, GatedAct{Act: "clamped_swiglu"},
		Act{Act: "silu"}, Act{Act: "gelu_tanh"},
		AddBias{}, Add{}, AddGated{}, Scale{}, Softcap{},
		Route{}, ExpertSort{64}, ExpertBias{}, Combine{}, ArgMax{}, ArgMax{Merge: true}, TopK{}, TopK{Merge: true}, Draw{}, Advance{},
		BenchPass{}, BenchFMA{}, MatMulPanel{Tile{64, 128, 8}}, MatMulSum{},
		ExpertPanel{Tile{32, 128, 8}}, Panel{Format: "F32", Width: 32, Gather: true},
	}
	for _, f := range formats {
		vs = append(vs, Embed{Format: f}, MatVec{f}, ExpertMatMul{Format: f}, Panel{Format: f, Width: 64})
	}
	for _, f := range PackedFormats() {
		vs = append(vs, Embed{f, true}, ExpertMatMul{f, true}, Panel{Format: f, Packed: true, Width: 128})
	}
	for _, f := range append(PackedFormats(), "F32", "F16", "BF16") {
		v := MatVecPacked{Format: f, Threads: 64, Rows: 4, Tokens: 1}
		many, parts, gated, exact := v, v, v, v
		many.Tokens, parts.Parts, gated.Act, exact.ExactHalves = 8, true, "silu", true
		vs = append(vs, v, many, parts, gated, exact, ExpertVec{v})
	}
	return append(vs, attentionVariants()...)
}
