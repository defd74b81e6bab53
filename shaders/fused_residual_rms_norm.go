package shaders

// FusedResidualRMSNorm selects a form of fused_residual_rms_norm.wgsl. With Tee the sum of the inputs is stored
// as well, at SumOff; without it the field is a pad word that the kernel ignores. Form says how rows are read.
type FusedResidualRMSNorm struct {
	Tee  bool
	Form NormForm
}

// Program implements Variant.
func (v FusedResidualRMSNorm) Program() Program {
	var defines map[string]string
	if v.Tee {
		defines = map[string]string{"TEE": "1"}
	}
	return Program{
		File:     "fused_residual_rms_norm.wgsl",
		Entry:    "fused_residual_rms_norm",
		Defines:  v.Form.defines(defines),
		Bindings: []Access{ReadWrite, Uniform}, // arena, params
	}
}

// FusedResidualRMSNormParams is the kernel's uniform. Offsets are in f32 elements from the start of the arena;
// rows of in, residual, sum and out follow one another without gaps.
type FusedResidualRMSNormParams struct {
	Outer       uint32 // rows
	Inner       uint32 // row length in elements; 0 writes nothing
	InOff       uint32 // [outer, inner]
	ResidualOff uint32 // [outer, inner]
	BiasOff     uint32 // [inner], read where HasBias is not 0
	GammaOff    uint32 // [inner]
	BetaOff     uint32 // [inner], always added
	OutOff      uint32 // [outer, inner]
	EpsBits     uint32 // bits of the f32 epsilon
	HasBias     uint32
	SumOff      uint32 // [outer, inner], may be InOff; a pad word without Tee
	Pad         uint32
}

// Grid returns the workgroups: one a row.
func (p FusedResidualRMSNormParams) Grid() Grid { return Fold(int(p.Outer)) }
