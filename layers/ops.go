package layers

// OpKind says how an op's output follows from its inputs.
type OpKind uint8

const (
	OpNorm      OpKind = iota // one of NormSites, by the same Site
	OpEmbed                   // rows of Weight by token id
	OpMatMul                  // In[0] × Weightᵀ, plus Bias
	OpRoPE                    // In[0] rotated by each token's position
	OpStore                   // In[0], stored as it is
	OpAttention               // In: queries, stored keys, stored values
	OpGatedAct                // In: gate, up
)

// OpSite says where one op's output and inputs stand in a trace, and which tensors of the file it reads.
type OpSite struct {
	Site   string   // the output, [tokens, width]
	Layer  int      // -1 outside the blocks
	Kind   OpKind   //
	Op     string   // the op in words, as "attention" or "matmul"
	In     []string // sites of the inputs, [tokens, width]
	Weight string   // GGUF name, or empty
	Bias   string   // GGUF name, or empty
}

// OpSites lists every op of the path this state runs, in forward order; norms stand among them as OpNorm.
func (s *State) OpSites() []OpSite {
	m := s.m
	var list []OpSite
	add := func(layer int, kind OpKind, op, site, weight, bias string, in ...string) {
		list = append(list, OpSite{Site: site, Layer: layer, Kind: kind, Op: op, In: in, Weight: weight, Bias: bias})
	}
	norm := func(i int) {
		n := s.norms[i]
		add(n.Layer, OpNorm, n.Op, n.Site, n.Weight, n.Bias, n.In, n.Delta)
	}
	add(-1, OpEmbed, "embedding", SiteEmbd, NameTokEmbd, "")
	for i := range m.Blocks {
		b := &m.Blocks[i]
		at := func(site string) string { return At(site, i) }
		project := func(site, name string, biased bool, in string) {
			bias := ""
			if biased {
				bias = blockName(i, name+".bias")
			}
			add(i, OpMatMul, "matmul "+name, site, blockName(i, name+".weight"), bias, in)
		}
		norm(2 * i)
		project(at(SiteQ), "attn_q", b.QBias.Valid(), at(SiteAttnNorm))
		project(at(SiteK), "attn_k", b.KBias.Valid(), at(SiteAttnNorm))
		project(at(SiteV), "attn_v", b.VBias.Valid(), at(SiteAttnNorm))
		add(i, OpRoPE, "rope of q", at(SiteQRope), "", "", at(SiteQ))
		add(i, OpRoPE, "rope of k", at(SiteKRope), "", "", at(SiteK))
		add(i, OpStore, "KV store of k", at(SiteCacheK), "", "", at(SiteKRope))
		add(i, OpStore, "KV store of v", at(SiteCacheV), "", "", at(SiteV))
		add(i, OpAttention, "attention", at(SiteKQVOut), "", "", at(SiteQRope), at(SiteCacheK), at(SiteCacheV))
		if s.norms[2*i+1].bias.Valid() {
			project(at(SiteAttnProj), "attn_output", false, at(SiteKQVOut))
		} else {
			project(at(SiteAttnOut), "attn_output", b.OBias.Valid(), at(SiteKQVOut))
		}
		norm(2*i + 1)
		project(at(SiteFFNGate), "ffn_gate", false, at(SiteFFNNorm))
		project(at(SiteFFNUp), "ffn_up", false, at(SiteFFNNorm))
		add(i, OpGatedAct, "gated activation", at(SiteFFNAct), "", "", at(SiteFFNGate), at(SiteFFNUp))
		project(at(SiteFFNOut), "ffn_down", false, at(SiteFFNAct))
	}
	norm(2 * m.Layers)
	head := nameOutput
	if m.Output == nil {
		head = NameTokEmbd
	}
	add(-1, OpMatMul, "matmul of the head", SiteResultOutput, head, "", SiteResultNorm)
	return list
}

// RopeFreqsName is the GGUF name of the factors that divide the frequencies of RoPE, where the file has them.
func (s *State) RopeFreqsName() string {
	if s.m.RopeFreqs.Valid() {
		return nameRopeFreqs
	}
	return ""
}
