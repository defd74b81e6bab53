package gpu

// Memory is what a backend has allocated on its device, in bytes: what was asked for, without what a driver adds to it.
type Memory struct {
	Weights int64 `json:"weights_bytes"` // of LoadWeight
	Tensors int64 `json:"tensors_bytes"` // of Alloc
	Working int64 `json:"working_bytes"` // parameters, readback, staging, what kernels leave to each other
}

// Total is the sum.
func (m Memory) Total() int64 { return m.Weights + m.Tensors + m.Working }

// Work is what the working memory depends on.
type Work struct {
	Rows      int // of activations, at most
	Positions int // of a KV cache
	Heads     int // of queries
	HeadDim   int
	ReadWords int // of the largest tensor that is read back
	Vocab     int // logits whose largest are looked for
	Slots     int // that Rows take of experts
	Experts   int // that there are
	MatrixN   int // of the matrices that Rows are multiplied with, the longest row
	MatrixM   int // and the most rows
}
