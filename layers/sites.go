package layers

import (
	"strconv"

	"cera/backend"
)

// Site names of a trace, llama.cpp's own where it has one. Names ending in a dash take the layer's number.
const (
	SiteEmbd         = "embd"
	SiteEmbdRaw      = "embd_raw"   // the embedding, where embd is what a factor of the file made of it
	SiteInpScaled    = "inp_scaled" // the embedding times Config.EmbdFactor
	SiteAttnNorm     = "attn_norm-"
	SiteQ            = "Qcur-" // projection and bias, before it is normed and rotated
	SiteK            = "Kcur-"
	SiteV            = "Vcur-"
	SiteQNormed      = "Qcur_normed-"
	SiteKNormed      = "Kcur_normed-"
	SiteQRope        = "Qcur_rope-" // after RoPE
	SiteKRope        = "Kcur_rope-"
	SiteCacheK       = "cache_k-" // the cache's rows of these tokens, once stored
	SiteCacheV       = "cache_v-"
	SiteKQVOut       = "kqv_out-"
	SiteAttnProj     = "attn_proj-" // the output projection before a bias that the next norm adds
	SiteAttnOut      = "attn_out-"
	SiteAttnPostNorm = "attn_post_norm-" // attn_out normed; in gpt-oss the norm before the MLP
	SiteAttnScaled   = "attn_scaled-"    // what is added to the stream, times Config.DeltaFactor
	SiteFFNInp       = "ffn_inp-"
	SiteFFNNorm      = "ffn_norm-"
	SiteFFNGate      = "ffn_gate-"
	SiteFFNUp        = "ffn_up-"
	SiteFFNAct       = "ffn_swiglu-" // act(gate) * up, or act(up)
	SiteMoELogits    = "ffn_moe_logits-"
	SiteMoEWeights   = "ffn_moe_weights-" // [tokens, ExpertsUsed]
	SiteMoEGate      = "ffn_moe_gate-"    // this and the next three: the slots of a token side by side
	SiteMoEUp        = "ffn_moe_up-"
	SiteMoEAct       = "ffn_moe_swiglu-"
	SiteMoEDown      = "ffn_moe_down-"
	SiteMoEOut       = "ffn_moe_out-"
	SiteSharedGate   = "ffn_shexp_gate-"
	SiteSharedUp     = "ffn_shexp_up-"
	SiteSharedAct    = "ffn_shexp_swiglu-"
	SiteSharedOut    = "ffn_shexp-"
	SiteSharedLogit  = "shared_expert_gate-" // [tokens, 1]
	SiteFFNOut       = "ffn_out-"
	SiteFFNPostNorm  = "ffn_post_norm-"
	SiteFFNScaled    = "ffn_scaled-"
	SiteLOut         = "l_out-"
	SiteResultNorm   = "result_norm"
	SiteLogitsRaw    = "logits_raw" // before a scale or a softcap
	SiteLogitsScaled = "logits_scaled"
	SiteResultOutput = "result_output"
)

// HeadSites lists the sites that State.Logits makes.
var HeadSites = []string{SiteLogitsRaw, SiteLogitsScaled, SiteResultOutput}

// ffnNormSite is the site of the norm before the MLP: llama.cpp names it for the tensor.
func (c *Config) ffnNormSite() string {
	if c.FFNNorm == "post_attention_norm" {
		return SiteAttnPostNorm
	}
	return SiteFFNNorm
}

// At returns the name of a per-layer site.
func At(site string, layer int) string { return site + strconv.Itoa(layer) }

// Probe sees tensors while the pass is recorded, each between the op that wrote it and the next that overwrites
// it. A probe may copy the tensor on the device; it must not change it.
type Probe interface {
	// Site offers the tensor t, [rows, n]. A valid bias [1, n] is part of the site's value but not of t: it
	// is added later by a fused kernel.
	Site(site string, t, bias backend.Tensor)
	// Norm offers the weight [1, n] that is bound to a norm.
	Norm(site string, weight backend.Tensor)
}

// NormSite says where the parts of one norm stand in a trace, and what the file says about it. Tensors are
// [tokens, Groups*n], weights [n]: a group of n elements is normed by itself.
type NormSite struct {
	Site   string   `json:"site"`   // the norm's output, as "ffn_norm-3"
	Layer  int      `json:"layer"`  // -1 outside the blocks
	Op     string   `json:"op"`     // the kernel entry point that makes it
	Kind   NormKind `json:"-"`      //
	In     string   `json:"in"`     // site of the stream before, or of what is normed where nothing is added
	Delta  string   `json:"delta"`  // site of the pending delta; empty where nothing is added
	Bias   string   `json:"bias"`   // GGUF name of the bias the norm adds, or empty
	Stream string   `json:"stream"` // site of the stream after; empty where nothing is added
	Weight string   `json:"weight"` // GGUF name of the norm weight
	Shift  string   `json:"-"`      // GGUF name of what is added after the weight, or empty
	Groups int      `json:"-"`      // groups of a token's row, 1 but for norms of heads
	Eps    float32  `json:"eps"`    // from the file
}
