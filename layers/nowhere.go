package layers

import "cera/backend"

// nowhere is a backend without a device: a walk through the model that only wants to know what would run.
type nowhere struct{}

var _ backend.Backend = nowhere{}

func (nowhere) Info() backend.Info {
	return backend.Info{}
}
func (nowhere) Alloc(string, int, int) backend.Tensor {
	return backend.Tensor{}
}
func (nowhere) Free(backend.Tensor)                                                              {}
func (nowhere) LoadWeight(string, backend.Format, int, int, []byte) backend.Weight               { return nil }
func (nowhere) Takes(backend.Format) bool                                                        { return true }
func (nowhere) FreeWeight(backend.Weight)                                                        {}
func (nowhere) Upload(backend.Tensor, []float32)                                                 {}
func (nowhere) UploadU32(backend.Tensor, []uint32)                                               {}
func (nowhere) Copy(_, _ backend.Tensor)                                                         {}
func (nowhere) Read([]float32, backend.Tensor) error                                             { return nil }
func (nowhere) Flush() error                                                                     { return nil }
func (nowhere) Record(f func()) func()                                                           { f(); return f }
func (nowhere) ArgMax(_, _ backend.Tensor)                                                       {}
func (nowhere) TopK(_, _, _, _ backend.Tensor)                                                   {}
func (nowhere) Draw(_, _, _, _, _, _ backend.Tensor)                                             {}
func (nowhere) Advance(_, _, _, _ backend.Tensor)                                                {}
func (nowhere) Close()                                                                           {}
func (nowhere) Embed(backend.Tensor, backend.Weight, backend.Tensor)                             {}
func (nowhere) RMSNorm(_, _, _ backend.Tensor, _ float32)                                        {}
func (nowhere) AddRMSNorm(_, _, _, _ backend.Tensor, _ float32)                                  {}
func (nowhere) FusedResidualRMSNorm(backend.FusedNorm)                                           {}
func (nowhere) LayerNorm(_, _, _, _ backend.Tensor, _ float32)                                   {}
func (nowhere) MatMul(_, _ backend.Tensor, _ backend.Weight)                                     {}
func (nowhere) Join(...backend.Weight)                                                           {}
func (nowhere) MatMuls([]backend.Tensor, backend.Tensor, []backend.Weight)                       {}
func (nowhere) GatedMatMul(_, _, _, _ backend.Tensor, _, _ backend.Weight, _ backend.Activation) {}
func (nowhere) AddBias(_, _ backend.Tensor)                                                      {}
func (nowhere) Add(_, _ backend.Tensor)                                                          {}
func (nowhere) Scale(backend.Tensor, float32)                                                    {}
func (nowhere) Softcap(backend.Tensor, float32)                                                  {}
func (nowhere) RoPE(_, _, _ backend.Tensor, _ backend.RoPE)                                      {}
func (nowhere) StoreKV(backend.KV, backend.Tensor, backend.Tensor, backend.Tensor)               {}
func (nowhere) RopeStoreKV(backend.KV, backend.Tensor, backend.Tensor, backend.Tensor, backend.Tensor, backend.Tensor,
	backend.RoPE) {
}
func (nowhere) UnpackHalf(_, _ backend.Tensor)                                                     {}
func (nowhere) Attention(_, _ backend.Tensor, _ backend.KV, _ backend.Tensor, _ backend.Attention) {}
func (nowhere) Act(_, _ backend.Tensor, _ backend.Activation)                                      {}
func (nowhere) GatedAct(_, _, _ backend.Tensor, _ backend.Activation)                              {}
func (nowhere) Route(_, _, _ backend.Tensor, _ backend.Router)                                     {}
func (nowhere) ExpertMatMul(_, _ backend.Tensor, _ backend.Weight, _ backend.Tensor)               {}
func (nowhere) ExpertBias(_, _, _ backend.Tensor)                                                  {}
func (nowhere) Combine(_, _, _ backend.Tensor)                                                     {}
func (nowhere) AddGated(_, _, _ backend.Tensor)                                                    {}
