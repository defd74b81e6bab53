package layers

import (
	"strconv"

	"cera/backend"
)

// Site names of a trace, llama.cpp's own where it has one. Names ending in a dash take the layer's number.
const (
	SiteEmbd         = "embd"
	SiteAttnNorm     = "attn_norm-"
	SiteQ            = "Qcur-" // projection and bias, before it is rotated
	SiteK            = "Kcur-"
	SiteV            = "Vcur-"
	SiteQRope        = "Qcur_rope-" // after RoPE
	SiteKRope        = "Kcur_rope-"
	SiteCacheK       = "cache_k-" // the cache's rows of these tokens, once stored
	SiteCacheV       = "cache_v-"
	SiteKQVOut       = "kqv_out-"
	SiteAttnProj     = "attn_proj-" // the output projection before a bias that the next norm adds
	SiteAttnOut      = "attn_out-"
	SiteFFNInp       = "ffn_inp-"
	SiteFFNNorm      = "ffn_norm-"
	SiteFFNGate      = "ffn_gate-"
	SiteFFNUp        = "ffn_up-"
	SiteFFNAct       = "ffn_swiglu-" // act(gate) * up
	SiteFFNOut       = "ffn_out-"
	SiteLOut         = "l_out-"
	SiteResultNorm   = "result_norm"
	SiteResultOutput = "result_output"
)

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
// [tokens, n], weights [n].
type NormSite struct {
	Site   string  `json:"site"`   // the norm's output, as "ffn_norm-3"
	Layer  int     `json:"layer"`  // -1 outside the blocks
	Op     string  `json:"op"`     // the kernel entry point that makes it
	In     string  `json:"in"`     // site of the stream before
	Delta  string  `json:"delta"`  // site of the pending delta; empty where nothing is added
	Bias   string  `json:"bias"`   // GGUF name of the bias the norm adds, or empty
	Stream string  `json:"stream"` // site of the stream after; empty where nothing is added
	Weight string  `json:"weight"` // GGUF name of the norm weight
	Eps    float32 `json:"eps"`    // from the file
}
