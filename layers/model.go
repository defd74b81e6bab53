package layers

import (
	"strconv"

	"cera/backend"
	"cera/weights"
)

// Mat is a matrix of the model: its GGUF name, and the weight [rows, n] once it is loaded.
type Mat struct {
	Name string
	W    backend.Weight
	Has  bool // the file has it
}

// Vec is a vector of the model, or one for each expert: its GGUF name, and the tensor [rows, n] once it is loaded.
type Vec struct {
	Name string
	T    backend.Tensor
	Has  bool // the file has it
}

// Norm is the weight and the shift of a norm.
type Norm struct{ W, B Vec }

// Linear is a matrix with its optional bias.
type Linear struct {
	Mat
	Bias Vec
}

// Model is a checkpoint on a device: what the forward pass reads and never writes.
type Model struct {
	Config
	TokEmbd    Mat  // [Vocab, Embd]
	Output     Mat  // [Vocab, Embd]; where the file has none, TokEmbd serves twice
	OutputNorm Norm // [1, Embd]
	RopeFreqs  Vec  // [1, RotDim/2], divides each pair's frequency; optional
	RopeShort  Vec  // likewise, for contexts up to RopeConfig.OrigCtx
	RopeLong   Vec  // likewise, for longer ones
	Blocks     []Block

	// LongContext says that sequences may be longer than the model was first trained with, RopeConfig.OrigCtx: of the
	// file's rope factors those for long contexts are used. All sequences of a model rotate alike.
	LongContext bool

	slots []weights.Slot
	found []*bool // of each slot: the Has it sets
}

// Block is one transformer block. Which parts it has depends on the architecture and the file.
type Block struct {
	BlockShape
	AttnNorm     Norm   // [1, Embd]
	Q            Linear // [HeadDim*Heads, Embd]
	K, V         Linear // [HeadDim*KVHeads, Embd]
	QKV          Linear // the rows of all three
	QNorm, KNorm Norm   // [1, HeadDim], or [1, HeadDim*Heads] and [1, HeadDim*KVHeads]
	Sinks        Vec    // [1, Heads], see backend.Attention; optional
	O            Linear // [Embd, HeadDim*Heads]
	AttnPostNorm Norm   // [1, Embd]

	FFNNorm     Norm   // [1, Embd]
	Gate, Up    Linear // [FF, Embd]; a fused Up is [2*FF, Embd]
	Down        Linear // [Embd, FF]
	FFNPostNorm Norm   // [1, Embd]

	Router               Linear // [Experts, Embd]
	GateExps, UpExps     Linear // [Experts*ExpertFF, Embd], biases [Experts, ExpertFF]
	DownExps             Linear // [Experts*Embd, ExpertFF], bias [Experts, Embd]
	GateShared, UpShared Linear // [SharedFF, Embd]
	DownShared           Linear // [Embd, SharedFF]
	SharedGate           Mat    // [1, Embd], how much of the shared expert a token takes; optional
}

// GGUF names outside the blocks.
const (
	NameTokEmbd    = "token_embd.weight"
	nameOutput     = "output.weight"
	nameOutputNorm = "output_norm"
)

// blockName returns the GGUF name of a block's tensor.
func blockName(layer int, name string) string { return "blk." + strconv.Itoa(layer) + "." + name }

// NewModel returns a model without weights; Slots says where they go.
func NewModel(c Config) *Model {
	m := &Model{Config: c, Blocks: make([]Block, c.Layers)}
	for i := range m.Blocks {
		m.Blocks[i].BlockShape = c.Shapes[i]
	}
	m.list()
	return m
}

// Slots lists every tensor the model takes, by GGUF name and shape, with the place it is loaded to. It is the model's
// own: weights.Bind marks there what a file has, and Bound takes that over.
func (m *Model) Slots() []weights.Slot { return m.slots }

// Bound takes over from the slots which optional tensors the file has. It must be called after weights.Bind.
func (m *Model) Bound() {
	for i, s := range m.slots {
		*m.found[i] = s.Found
	}
}

func (m *Model) slot(s weights.Slot, has *bool) {
	m.slots, m.found = append(m.slots, s), append(m.found, has)
}

func (m *Model) matrix(dst *Mat, name string, rows, n, planes int, optional bool) {
	dst.Name = name
	m.slot(weights.Slot{Name: name, Rows: rows, N: n, Planes: planes, Matrix: &dst.W, Optional: optional}, &dst.Has)
}

func (m *Model) vector(dst *Vec, name string, rows, n int, optional bool) {
	dst.Name = name
	m.slot(weights.Slot{Name: name, Rows: rows, N: n, Vector: &dst.T, Optional: optional}, &dst.Has)
}

// divisors lists factors that frequencies are divided by.
func (m *Model) divisors(dst *Vec, name string) {
	dst.Name = name
	m.slot(weights.Slot{Name: name, Rows: 1, N: m.RotDim / 2, Vector: &dst.T, Optional: true, Positive: true}, &dst.Has)
}

// linear lists a matrix and its bias, which is always optional.
func (m *Model) linear(dst *Linear, name string, rows, n int) {
	m.matrix(&dst.Mat, name+".weight", rows, n, 1, false)
	m.vector(&dst.Bias, name+".bias", 1, rows, true)
}

// experts lists a matrix of [rows, n] for each expert and their biases.
func (m *Model) experts(dst *Linear, name string, rows, n int) {
	m.matrix(&dst.Mat, name+".weight", m.Experts*rows, n, m.Experts, false)
	m.vector(&dst.Bias, name+".bias", m.Experts, rows, true)
}

// norm lists a norm of the stream or of what is added to it.
func (m *Model) norm(dst *Norm, name string) {
	m.vector(&dst.W, name+".weight", 1, m.Embd, false)
	if m.Norm == LayerNorm {
		m.vector(&dst.B, name+".bias", 1, m.Embd, true)
	}
}

// list fills the slots.
func (m *Model) list() {
	m.matrix(&m.TokEmbd, NameTokEmbd, m.Vocab, m.Embd, 1, false)
	m.divisors(&m.RopeFreqs, "rope_freqs.weight")
	m.divisors(&m.RopeShort, "rope_factors_short.weight")
	m.divisors(&m.RopeLong, "rope_factors_long.weight")
	for i := range m.Blocks {
		b := &m.Blocks[i]
		name := func(s string) string { return blockName(i, s) }
		if m.Place != PostNorm {
			m.norm(&b.AttnNorm, name("attn_norm"))
		}
		m.listAttention(b, name)
		if m.Place != PreNorm {
			m.norm(&b.AttnPostNorm, name("post_attention_norm"))
		}
		if m.Place != PostNorm {
			ffnNorm := m.FFNNorm
			if ffnNorm == "" {
				ffnNorm = "ffn_norm"
			}
			m.norm(&b.FFNNorm, name(ffnNorm))
		}
		if m.Experts > 0 {
			m.listExperts(b, name)
		} else {
			m.listMLP(b, name)
		}
		if m.Place != PreNorm {
			m.norm(&b.FFNPostNorm, name("post_ffw_norm"))
		}
	}
	m.norm(&m.OutputNorm, nameOutputNorm)
	m.matrix(&m.Output, nameOutput, m.Vocab, m.Embd, 1, true)
}

func (m *Model) listAttention(b *Block, name func(string) string) {
	q, kv := m.HeadDim*b.Heads, m.HeadDim*b.KVHeads
	if m.QKV == FusedQKV {
		m.linear(&b.QKV, name("attn_qkv"), q+2*kv, m.Embd)
	} else {
		m.linear(&b.Q, name("attn_q"), q, m.Embd)
		m.linear(&b.K, name("attn_k"), kv, m.Embd)
		m.linear(&b.V, name("attn_v"), kv, m.Embd)
	}
	switch m.QK {
	case HeadQKNorm:
		m.vector(&b.QNorm.W, name("attn_q_norm.weight"), 1, m.HeadDim, false)
		m.vector(&b.KNorm.W, name("attn_k_norm.weight"), 1, m.HeadDim, false)
	case RowQKNorm:
		m.vector(&b.QNorm.W, name("attn_q_norm.weight"), 1, q, false)
		m.vector(&b.KNorm.W, name("attn_k_norm.weight"), 1, kv, false)
	}
	m.vector(&b.Sinks, name("attn_sinks.weight"), 1, b.Heads, true)
	m.linear(&b.O, name("attn_output"), m.Embd, q)
}

func (m *Model) listMLP(b *Block, name func(string) string) {
	switch m.MLP {
	case FusedMLP:
		m.linear(&b.Up, name("ffn_up"), 2*b.FF, m.Embd)
	case PlainMLP:
		m.linear(&b.Up, name("ffn_up"), b.FF, m.Embd)
	default:
		m.linear(&b.Gate, name("ffn_gate"), b.FF, m.Embd)
		m.linear(&b.Up, name("ffn_up"), b.FF, m.Embd)
	}
	m.linear(&b.Down, name("ffn_down"), m.Embd, b.FF)
}

func (m *Model) listExperts(b *Block, name func(string) string) {
	m.linear(&b.Router, name("ffn_gate_inp"), m.Experts, m.Embd)
	m.experts(&b.GateExps, name("ffn_gate_exps"), m.ExpertFF, m.Embd)
	m.experts(&b.UpExps, name("ffn_up_exps"), m.ExpertFF, m.Embd)
	m.experts(&b.DownExps, name("ffn_down_exps"), m.Embd, m.ExpertFF)
	if m.SharedFF > 0 {
		m.matrix(&b.SharedGate, name("ffn_gate_inp_shexp.weight"), 1, m.Embd, 1, true)
		m.linear(&b.GateShared, name("ffn_gate_shexp"), m.SharedFF, m.Embd)
		m.linear(&b.UpShared, name("ffn_up_shexp"), m.SharedFF, m.Embd)
		m.linear(&b.DownShared, name("ffn_down_shexp"), m.Embd, m.SharedFF)
	}
}

// Join tells the backend which matrices are multiplied with the same input. The model must be loaded.
func (m *Model) Join(be backend.Backend) {
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if m.QKV == SplitQKV {
			be.Join(b.Q.W, b.K.W, b.V.W)
		}
		if m.Experts == 0 && m.MLP == GatedMLP {
			be.Join(b.Gate.W, b.Up.W)
		}
	}
}

// head returns the matrix that makes logits.
func (m *Model) head() *Mat {
	if m.Output.Has {
		return &m.Output
	}
	return &m.TokEmbd
}

// Close releases the model's memory on the device.
func (m *Model) Close(be backend.Backend) {
	for _, s := range m.slots {
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
