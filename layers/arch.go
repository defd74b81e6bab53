package layers

import "cera/backend"

// Arch is one row of the architecture table: everything in which llama-like models differ, as small enums. What a row
// does not say comes from the metadata and from which tensors a file has: biases, grouped heads, experts, rope factors.
type Arch struct {
	Name  string             // general.architecture
	Rope  backend.RopeStyle  // which elements of a head rotate together
	Norm  NormKind           // of the stream
	Place NormPlace          // where the stream or what is added to it is normed
	QK    QKNorm             // norm of queries and keys before they rotate
	Act   backend.Activation // of the MLP
	MLP   MLPKind            // how the MLP's first matrices are stored
	QKV   QKVKind            // how the projections of attention are stored

	// FFNNorm is the GGUF name of the norm before the MLP, where it is not "ffn_norm".
	FFNNorm string

	// Windows is the period of the layer pattern where the file has a sliding window: the last block of every
	// Windows sees all positions, the others a window. AllWindowed: no block sees all.
	Windows int

	LocalRope  LocalRope // how blocks with a window rotate
	NoRope     NoRope    // which blocks do not rotate
	EmbdScale  EmbdScale // what the embedding is multiplied by
	GraniteKey bool      // the file scales embedding, residual, attention and logits by keys of its own

	// WideScaleLayers is the number of blocks of the one size of model whose attention is scaled by the width of the
	// stream, 1/sqrt(Embd/Heads), and not by that of a head; 0: none.
	WideScaleLayers int

	AttnSoftcap  float32 // of scores, where the file has no key for it; 0: none
	FinalSoftcap float32 // of logits, likewise

	MoE       bool               // a file may have experts in place of MLPs
	Router    backend.RouterKind // of their mixture
	Normalize bool               // the weights of the experts that are picked are divided by their sum
}

// NormKind is the kind of the norms of the stream.
type NormKind uint8

const (
	RMSNorm   NormKind = iota // x / sqrt(mean(x²) + eps) * weight
	LayerNorm                 // (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias
)

// NormPlace says where a block norms.
type NormPlace uint8

const (
	PreNorm  NormPlace = iota // the stream, before attention and before the MLP
	PostNorm                  // what attention and MLP give, before it is added to the stream
	BothNorms
)

// QKNorm says over what queries and keys are normed.
type QKNorm uint8

const (
	NoQKNorm   QKNorm = iota
	HeadQKNorm        // a head at a time
	RowQKNorm         // all heads of a token together
)

// MLPKind says which matrices an MLP has.
type MLPKind uint8

const (
	GatedMLP MLPKind = iota // ffn_gate, ffn_up and ffn_down
	FusedMLP                // ffn_up holds the rows of the gate and then those of up
	PlainMLP                // ffn_up and ffn_down: act(up)
)

// QKVKind says which matrices project to queries, keys and values.
type QKVKind uint8

const (
	SplitQKV QKVKind = iota // attn_q, attn_k and attn_v
	FusedQKV                // attn_qkv holds the rows of all three
)

// AllWindowed is the value of Arch.Windows of models in which every block has the window.
const AllWindowed = -1

// LocalRope says how blocks with a window rotate.
type LocalRope uint8

const (
	SameRope     LocalRope = iota
	UnscaledRope           // with the same base, without the scaling for long contexts
	ShortRope              // unscaled, with a base of their own: rope.freq_base_swa, or 10000
)

// NoRope says which blocks do not rotate.
type NoRope uint8

const (
	AllRotate    NoRope = iota
	FourthNoRope        // every fourth
	GlobalNoRope        // those that see all positions, in a model in which others have a window
	SwitchNoRope        // all, where rope.scaling.finetuned is false
)

// EmbdScale says what embeddings are multiplied by.
type EmbdScale uint8

const (
	NoEmbdScale   EmbdScale = iota
	RootEmbdScale           // the square root of the width
)

// archs is the architecture table.
var archs = []Arch{
	{Name: "llama", Rope: backend.RopeNorm, MoE: true, Normalize: true},
	{Name: "qwen2", Rope: backend.RopeNeoX},
	{Name: "qwen2moe", Rope: backend.RopeNeoX, MoE: true},
	{Name: "qwen3", Rope: backend.RopeNeoX, QK: HeadQKNorm},
	{Name: "qwen3moe", Rope: backend.RopeNeoX, QK: HeadQKNorm, MoE: true, Normalize: true},
	{Name: "gemma", Rope: backend.RopeNeoX, Act: backend.GELUTanh, EmbdScale: RootEmbdScale},
	{
		Name: "gemma2", Rope: backend.RopeNeoX, Act: backend.GELUTanh, EmbdScale: RootEmbdScale, Place: BothNorms,
		Windows: 2, AttnSoftcap: 50, FinalSoftcap: 30, WideScaleLayers: 46,
	},
	{
		Name: "gemma3", Rope: backend.RopeNeoX, Act: backend.GELUTanh, EmbdScale: RootEmbdScale, Place: BothNorms,
		QK: HeadQKNorm, Windows: 6, LocalRope: ShortRope, WideScaleLayers: 62,
	},
	{Name: "phi3", Rope: backend.RopeNeoX, MLP: FusedMLP, QKV: FusedQKV, Windows: AllWindowed},
	{Name: "granite", Rope: backend.RopeNorm, GraniteKey: true, NoRope: SwitchNoRope},
	{
		Name: "olmo2", Rope: backend.RopeNeoX, Place: PostNorm, QK: RowQKNorm, Windows: 4, LocalRope: UnscaledRope,
	},
	{Name: "smollm3", Rope: backend.RopeNorm, NoRope: FourthNoRope},
	{Name: "stablelm", Rope: backend.RopeNeoX, Norm: LayerNorm},
	{Name: "starcoder2", Rope: backend.RopeNeoX, Norm: LayerNorm, Act: backend.GELUTanh, MLP: PlainMLP},
	{
		Name: "gpt-oss", Rope: backend.RopeNeoX, Act: backend.ClampedSwiGLU, FFNNorm: "post_attention_norm",
		Windows: 2, MoE: true, Router: backend.TopKSoftmax,
	},
	{Name: "exaone4", Rope: backend.RopeNeoX, Place: PostNorm, QK: HeadQKNorm, Windows: 4, NoRope: GlobalNoRope},
}

// Table returns a copy of the architecture table.
func Table() []Arch { return append([]Arch(nil), archs...) }

// Archs returns the names of the architectures that ReadConfig accepts.
func Archs() []string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.Name
	}
	return names
}
