package shaders

// Variants lists every variant of every kernel, for the given weight formats (ggml's names).
func Variants(formats ...string) []Variant {
	vs := []Variant{
		RMSNormBatch{}, RMSNormBatch{Add: true},
		FusedResidualRMSNorm{}, FusedResidualRMSNorm{Tee: true},
		RoPE{Style: "norm"}, StoreKV{}, Attention{}, GatedAct{Act: "silu"}, AddBias{},
	}
	for _, f := range formats {
		vs = append(vs, Embed{f}, MatVec{f}, MatMul{f})
	}
	return vs
}
