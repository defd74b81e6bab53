package layers

import (
	"strconv"

	"cera/backend"
	"cera/weights"
)

// Model is a checkpoint on a device: what the forward pass reads and never writes.
type Model struct {
	Config
	TokEmbd    backend.Weight // [Vocab, Embd]
	Output     backend.Weight // [Vocab, Embd]; nil: tied to TokEmbd
	OutputNorm backend.Tensor // [1, Embd]
	RopeFreqs  backend.Tensor // [1, RotDim/2], divides each pair's frequency; optional
	Blocks     []Block
}

// Block is one transformer block.
type Block struct {
	AttnNorm backend.Tensor // [1, Embd]
	Q        backend.Weight // [HeadDim*Heads, Embd]
	K, V     backend.Weight // [HeadDim*KVHeads, Embd]
	QBias    backend.Tensor // [1, HeadDim*Heads], optional
	KBias    backend.Tensor // [1, HeadDim*KVHeads], optional
	VBias    backend.Tensor // [1, HeadDim*KVHeads], optional
	O        backend.Weight // [Embd, HeadDim*Heads]
	OBias    backend.Tensor // [1, Embd], optional
	FFNNorm  backend.Tensor // [1, Embd]
	Gate, Up backend.Weight // [FF, Embd]
	Down     backend.Weight // [Embd, FF]
}

// GGUF names outside the blocks.
const (
	NameTokEmbd    = "token_embd.weight"
	nameOutput     = "output.weight"
	nameOutputNorm = "output_norm.weight"
	nameRopeFreqs  = "rope_freqs.weight"
)

// blockName returns the GGUF name of a block's tensor.
func blockName(layer int, name string) string { return "blk." + strconv.Itoa(layer) + "." + name }

// NewModel returns a model without weights; Slots says where they go.
func NewModel(c Config) *Model { return &Model{Config: c, Blocks: make([]Block, c.Layers)} }

// Slots lists every tensor the model takes, by GGUF name and shape, with the place it is loaded to.
func (m *Model) Slots() []weights.Slot {
	var (
		q     = m.HeadDim * m.Heads
		kv    = m.HeadDim * m.KVHeads
		slots []weights.Slot
	)
	matrix := func(name string, rows, n int, dst *backend.Weight, optional bool) {
		slots = append(slots, weights.Slot{Name: name, Rows: rows, N: n, Matrix: dst, Optional: optional})
	}
	vector := func(name string, n int, dst *backend.Tensor, optional bool) {
		slots = append(slots, weights.Slot{Name: name, Rows: 1, N: n, Vector: dst, Optional: optional})
	}
	matrix(NameTokEmbd, m.Vocab, m.Embd, &m.TokEmbd, false)
	vector(nameRopeFreqs, m.RotDim/2, &m.RopeFreqs, true)
	for i := range m.Blocks {
		b := &m.Blocks[i]
		name := func(s string) string { return blockName(i, s) }
		vector(name("attn_norm.weight"), m.Embd, &b.AttnNorm, false)
		matrix(name("attn_q.weight"), q, m.Embd, &b.Q, false)
		matrix(name("attn_k.weight"), kv, m.Embd, &b.K, false)
		matrix(name("attn_v.weight"), kv, m.Embd, &b.V, false)
		vector(name("attn_q.bias"), q, &b.QBias, true)
		vector(name("attn_k.bias"), kv, &b.KBias, true)
		vector(name("attn_v.bias"), kv, &b.VBias, true)
		matrix(name("attn_output.weight"), m.Embd, q, &b.O, false)
		vector(name("attn_output.bias"), m.Embd, &b.OBias, true)
		vector(name("ffn_norm.weight"), m.Embd, &b.FFNNorm, false)
		matrix(name("ffn_gate.weight"), m.FF, m.Embd, &b.Gate, false)
		matrix(name("ffn_up.weight"), m.FF, m.Embd, &b.Up, false)
		matrix(name("ffn_down.weight"), m.Embd, m.FF, &b.Down, false)
	}
	vector(nameOutputNorm, m.Embd, &m.OutputNorm, false)
	matrix(nameOutput, m.Vocab, m.Embd, &m.Output, true)
	return slots
}

// head returns the matrix that makes logits.
func (m *Model) head() backend.Weight {
	if m.Output != nil {
		return m.Output
	}
	return m.TokEmbd
}

// Close releases the model's memory on the device.
func (m *Model) Close(be backend.Backend) {
	for _, s := range m.Slots() {
		if s.Matrix != nil && *s.Matrix != nil {
			be.FreeWeight(*s.Matrix)
			*s.Matrix = nil
		}
		if s.Vector != nil && s.Vector.Valid() {
			be.Free(*s.Vector)
			*s.Vector = backend.Tensor{}
		}
	}
}
