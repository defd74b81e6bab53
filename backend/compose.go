package backend

// MatMulEach is MatMuls, one weight at a time: what backends do that have nothing to fuse.
func MatMulEach(b Backend, dst []Tensor, x Tensor, w []Weight) {
	for i := range w {
		b.MatMul(dst[i], x, w[i])
	}
}

// MatMulThenAct is GatedMatMul, one op after the other.
func MatMulThenAct(b Backend, dst, gate, up, x Tensor, wGate, wUp Weight, act Activation) {
	b.MatMul(gate, x, wGate)
	b.MatMul(up, x, wUp)
	b.GatedAct(dst, gate, up, act)
}

// RopeThenStore is RopeStoreKV, one op after the other.
func RopeThenStore(b Backend, c KV, q, k, v, pos, table Tensor, p RoPE) {
	b.RoPE(q, pos, table, p)
	b.RoPE(k, pos, table, p)
	b.StoreKV(c, k, v, pos)
}
