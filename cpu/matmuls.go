package cpu

import "cera/backend"

// Join does nothing: weights are read a row at a time.
func (b *Backend) Join(...backend.Weight) {}

func (b *Backend) MatMuls(dst []backend.Tensor, x backend.Tensor, w []backend.Weight) {
	if len(dst) != len(w) {
		b.fail("matmuls", "%d outputs for %d weights", len(dst), len(w))
		return
	}
	backend.MatMulEach(b, dst, x, w)
}

func (b *Backend) RopeStoreKV(c backend.KV, q, k, v, pos, table backend.Tensor, p backend.RoPE) {
	backend.RopeThenStore(b, c, q, k, v, pos, table, p)
}

func (b *Backend) GatedMatMul(dst, gate, up, x backend.Tensor, wGate, wUp backend.Weight, act backend.Activation) {
	backend.MatMulThenAct(b, dst, gate, up, x, wGate, wUp, act)
}
