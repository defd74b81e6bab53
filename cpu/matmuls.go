package cpu

import "cera/backend"

// Join does nothing: weights are read where they are.
func (b *Backend) Join(...backend.Weight) {}

func (b *Backend) MatMuls(dst []backend.Tensor, x backend.Tensor, w []backend.Weight) {
	if len(dst) != len(w) {
		b.fail("matmuls", "%d outputs for %d weights", len(dst), len(w))
		return
	}
	if b.kernels.MatMul == nil {
		backend.MatMulEach(b, dst, x, w)
	} else if list, ok := b.products("matmuls", dst, x, w); ok {
		b.kernels.MatMul(list)
	}
}

func (b *Backend) RopeStoreKV(c backend.KV, q, k, v, pos, table backend.Tensor, p backend.RoPE) {
	backend.RopeThenStore(b, c, q, k, v, pos, table, p)
}

func (b *Backend) GatedMatMul(dst, gate, up, x backend.Tensor, wGate, wUp backend.Weight, act backend.Activation) {
	b.MatMuls([]backend.Tensor{gate, up}, x, []backend.Weight{wGate, wUp})
	b.GatedAct(dst, gate, up, act)
}
