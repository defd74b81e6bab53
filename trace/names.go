package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// otherNames is the one table of other engines' names for our sites, which are llama.cpp's. N is a block's number.
// Hugging Face's are the names of modules whose output the site is.
var otherNames = map[string]string{
	// llama.cpp, names that changed between its versions
	"inp_embd":       "embd",
	"ffn_gate_par-N": "ffn_swiglu-N",
	"kqv_wo-N":       "attn_out-N",
	"sa_out-N":       "ffn_inp-N", // in gemma
	"output":         "result_output",

	// Hugging Face. Its q_proj and k_proj are not there: converting a llama to GGUF reorders their channels.
	"model.embed_tokens":                      "embd",
	"model.layers.N.input_layernorm":          "attn_norm-N",
	"model.layers.N.self_attn.v_proj":         "Vcur-N",
	"model.layers.N.self_attn.o_proj":         "attn_out-N",
	"model.layers.N.self_attn":                "attn_out-N",
	"model.layers.N.post_attention_layernorm": "ffn_norm-N",
	"model.layers.N.mlp.gate_proj":            "ffn_gate-N",
	"model.layers.N.mlp.up_proj":              "ffn_up-N",
	"model.layers.N.mlp.down_proj":            "ffn_out-N",
	"model.layers.N.mlp":                      "ffn_out-N",
	"model.layers.N":                          "l_out-N",
	"model.norm":                              "result_norm",
	"lm_head":                                 "result_output",
}

// siteOrder lists the sites in forward order; between embd and result_norm they are those of each block.
var siteOrder = []string{
	"embd_raw", "embd", "inp_scaled",
	"attn_norm-N", "Qcur-N", "Kcur-N", "Vcur-N", "Qcur_normed-N", "Kcur_normed-N", "Qcur_rope-N", "Kcur_rope-N",
	"cache_k-N", "cache_v-N", "kqv_out-N", "attn_proj-N", "attn_out-N", "attn_post_norm-N", "attn_scaled-N",
	"ffn_inp-N",
	"ffn_norm-N", "ffn_gate-N", "ffn_up-N", "ffn_swiglu-N",
	"ffn_moe_logits-N", "ffn_moe_weights-N", "ffn_moe_gate-N", "ffn_moe_up-N", "ffn_moe_swiglu-N", "ffn_moe_down-N",
	"ffn_moe_out-N",
	"ffn_shexp_gate-N", "ffn_shexp_up-N", "ffn_shexp_swiglu-N", "ffn_shexp-N", "shared_expert_gate-N",
	"ffn_out-N", "ffn_post_norm-N", "ffn_scaled-N", "l_out-N",
	"result_norm", "logits_raw", "logits_scaled", "result_output", "logits",
}

var (
	// What ggml appends to the name of a tensor when it makes another of the same numbers in the same order.
	ggmlSuffix = regexp.MustCompile(`( \((view|reshaped|cont|copy|copy of [^)]*)\))+$`)
	// llama.cpp leaves the block's number off some names, and tells blocks apart by a number of its own.
	unnumbered = regexp.MustCompile(`^(ffn_post_norm)(?:\.([0-9]{1,6}))?$`)
	layerDash  = regexp.MustCompile(`^(.+)-([0-9]{1,6})$`)
	layerDots  = regexp.MustCompile(`^((?:.*\.)?layers)\.([0-9]{1,6})((?:\..+)?)$`)
)

// split takes the block's number out of a name: "ffn_norm-3" is "ffn_norm-N" and 3. Names outside the blocks have -1.
func split(name string) (pattern string, layer int) {
	if m := layerDots.FindStringSubmatch(name); m != nil {
		layer, _ = strconv.Atoi(m[2])
		return m[1] + ".N" + m[3], layer
	}
	if m := unnumbered.FindStringSubmatch(name); m != nil {
		layer, _ = strconv.Atoi(m[2]) // the first has none
		return m[1] + "-N", layer
	}
	if m := layerDash.FindStringSubmatch(name); m != nil {
		layer, _ = strconv.Atoi(m[2])
		return m[1] + "-N", layer
	}
	return name, -1
}

// SiteName returns our name of what another engine calls name; a name that the table does not have is returned as it
// is.
func SiteName(name string) string {
	plain := ggmlSuffix.ReplaceAllString(name, "")
	pattern, layer := split(plain)
	for _, p := range []string{pattern, "model." + pattern} {
		if ours, ok := otherNames[p]; ok {
			if layer < 0 {
				return ours
			}
			return numbered(ours, layer)
		}
	}
	if layer >= 0 && unnumbered.MatchString(plain) {
		return numbered(pattern, layer)
	}
	return plain
}

func numbered(pattern string, layer int) string {
	return strings.Replace(pattern, "-N", "-"+strconv.Itoa(layer), 1)
}

// layerOf returns the number of the block that a site of ours is in, -1 outside the blocks.
func layerOf(site string) int {
	_, layer := split(site)
	return layer
}

// firstOfBlock is where the sites of a block begin in siteOrder.
var firstOfBlock = slices.Index(siteOrder, "attn_norm-N")

// forwardOrder sorts sites of ours: the embedding, the blocks, the last norm, and then what is unknown. An unknown site
// of a block comes at the block's end.
func forwardOrder(sites []string) {
	rank := func(site string) (part, layer, place int) {
		pattern, layer := split(site)
		place = slices.Index(siteOrder, pattern)
		switch {
		case layer >= 0 && place < 0:
			return 1, layer, len(siteOrder)
		case layer >= 0:
			return 1, layer, place
		case place >= 0 && place < firstOfBlock:
			return 0, 0, place
		case place >= 0:
			return 2, 0, place
		}
		return 3, 0, 0
	}
	slices.SortStableFunc(sites, func(a, b string) int {
		ap, al, ai := rank(a)
		bp, bl, bi := rank(b)
		return cmp.Or(cmp.Compare(ap, bp), cmp.Compare(al, bl), cmp.Compare(ai, bi))
	})
}

// named is a trace's sites by our names.
type named struct {
	t     *Trace
	names map[string]string // ours -> the trace's
}

// rename finds our names of a trace's sites. Where two are the same site, our own name wins, then the one that comes
// first, and the other keeps the name it has: a module's output and that of the last module in it are the same numbers.
func rename(t *Trace) *named {
	n := &named{t: t, names: map[string]string{}}
	for _, name := range t.order {
		if SiteName(name) == name {
			n.names[name] = name
		}
	}
	// In a block that normalises what attention gives, too, Hugging Face's second norm is that one and not the MLP's.
	sandwich := slices.ContainsFunc(t.order,
		func(name string) bool { return strings.HasSuffix(name, ".post_feedforward_layernorm") })
	for _, name := range t.order {
		ours := SiteName(name)
		if ours == name {
			continue
		}
		if sandwich && strings.HasSuffix(name, ".post_attention_layernorm") {
			ours = "attn_post_norm-" + strconv.Itoa(layerOf(name))
		}
		if n.names[ours] != "" {
			ours = name
		}
		n.names[ours] = name
	}
	return n
}

// pairLogits gives what the last projection made one name where two traces call it by its two names.
func pairLogits(a, b *named) {
	const x, y = "result_output", "logits"
	for _, p := range [][2]*named{{a, b}, {b, a}} {
		if p[0].names[x] != "" && p[0].names[y] == "" && p[1].names[x] == "" && p[1].names[y] != "" {
			p[1].names[x] = p[1].names[y]
			delete(p[1].names, y)
		}
	}
}

// order returns the sites in forward order: the manifest's where there is one, else the natural one.
func (n *named) order() []string {
	var list []string
	for ours := range n.names {
		list = append(list, ours)
	}
	slices.Sort(list)
	forwardOrder(list)
	if n.t.Manifest == nil {
		return list
	}
	at := map[string]int{}
	for i, name := range n.t.Manifest.Sites {
		if ours := SiteName(name); n.names[ours] != "" {
			at[ours] = i
		}
	}
	place := func(site string) int {
		if i, ok := at[site]; ok {
			return i
		}
		return len(n.t.Manifest.Sites)
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return list
}
