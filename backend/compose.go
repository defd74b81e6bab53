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
