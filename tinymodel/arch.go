package tinymodel

import "math"

// arch is what the files of an architecture have beside those of llama, or in their place.
type arch struct {
	name      string
	layerNorm bool   // norms have a bias, and another key for eps
	noPre     bool   // no norms before attention and MLP
	post      bool   // post_attention_norm and post_ffw_norm
	ffnNorm   string // the norm before the MLP, where it is not ffn_norm
	qk        qkNorm // 0: they are not
	fused     bool   // q, k and v in attn_qkv, gate and up in ffn_up
	plain     bool   // no ffn_gate
	qkvBias   bool   // always, as is what follows
	outBias   bool
	mlpBias   bool // of experts and their router too
	sinks     bool // attn_sinks
	moe       bool // may have experts

	embd  func(o Options) float64 // what the model multiplies its embeddings by; nil: nothing
	gated float64                 // size of what ffn_gate and ffn_up give; 0: 1
	keys  []key
	small func(o *Options) // of For
}

// key is a metadata entry under the architecture's name.
type key struct {
	name  string
	value any
}

// qkNorm says over what q and k are normed before they rotate.
type qkNorm uint8

const (
	_       qkNorm = iota
	ofHeads        // a head at a time: the weight has the elements of one
	ofRows         // all heads together
)

// What granite multiplies by, which its files say in keys.
const (
	graniteEmbd     = 12
	graniteResidual = 0.22
	graniteAttn     = 0.0625
	graniteLogits   = 8
)

func rootDim(o Options) float64 { return math.Sqrt(float64(o.Dim)) }

var archs = []arch{
	{name: "llama", moe: true},
	{name: "qwen2", qkvBias: true},
	{name: "qwen2moe", qkvBias: true, moe: true, small: func(o *Options) {
		o.Experts, o.ExpertsUsed, o.ExpertFF, o.SharedFF = 6, 2, 32, 48
	}},
	{name: "qwen3", qk: ofHeads, small: func(o *Options) { o.HeadDim = 24 }},
	{name: "qwen3moe", qk: ofHeads, moe: true, small: func(o *Options) {
		o.HeadDim, o.Experts, o.ExpertsUsed, o.ExpertFF = 24, 8, 3, 32
	}},
	{name: "gemma", embd: rootDim, small: func(o *Options) { o.HeadDim, o.TiedOutput = 24, true }},
	{name: "gemma2", post: true, embd: rootDim, small: func(o *Options) {
		o.HeadDim, o.TiedOutput, o.Window, o.AttnSoftcap, o.FinalSoftcap = 24, true, 6, 2, 0.25
	}},
	{name: "gemma3", post: true, qk: ofHeads, embd: rootDim, small: func(o *Options) {
		o.Layers, o.HeadDim, o.TiedOutput, o.Window = 7, 24, true, 6
		o.RopeBase, o.RopeScaling, o.RopeFactor = 1e6, "linear", 8
	}},
	{name: "phi3", fused: true},
	{
		name: "granite", embd: func(Options) float64 { return graniteEmbd },
		keys: []key{
			{"embedding_scale", float32(graniteEmbd)}, {"residual_scale", float32(graniteResidual)},
			{"attention.scale", float32(graniteAttn)}, {"logit_scale", float32(graniteLogits)},
		},
	},
	{name: "olmo2", noPre: true, post: true, qk: ofRows},
	{name: "smollm3", small: func(o *Options) { o.Layers = 5 }},
	{
		name: "stablelm", layerNorm: true, qkvBias: true, keys: []key{{"use_parallel_residual", false}},
		small: func(o *Options) { o.RotDim = 4 },
	},
	{name: "starcoder2", layerNorm: true, plain: true, qkvBias: true, outBias: true, mlpBias: true},
	{
		// Gates and ups of this size pass the limits of its activation, ±7.
		name: "gpt-oss", ffnNorm: "post_attention_norm", qkvBias: true, outBias: true, mlpBias: true, sinks: true,
		moe: true, gated: 4,
		small: func(o *Options) {
			o.Experts, o.ExpertsUsed, o.ExpertFF, o.Window = 6, 2, 32, 6
			o.RopeScaling, o.RopeFactor, o.OrigCtx = "yarn", 4, 64
		},
	},
	{name: "exaone4", noPre: true, post: true, qk: ofHeads, small: func(o *Options) { o.Layers, o.Window = 5, 6 }},
}

// Archs returns the names of the architectures that Write knows.
func Archs() []string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.name
	}
	return names
}

// find returns the row of the architecture that o names.
func (o Options) find() (arch, bool) {
	for _, a := range archs {
		if a.name == o.Arch || a.name == "llama" && o.Arch == "" {
			return a, true
		}
	}
	return arch{}, false
}

// For returns the options of a small model of an architecture, in which each part that it may have shows: blocks with
// a window and without, softcaps that bend, experts. For llama they are those of Default. An architecture that is not
// one of Archs gives options that Write refuses.
func For(name string) Options {
	o := Default()
	o.Arch = name
	if a, ok := o.find(); ok && a.small != nil {
		a.small(&o)
	}
	return o
}
