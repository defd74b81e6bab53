package layers

import (
	"strings"

	"cera/backend"
)

// OpKind says how an op's output follows from its inputs.
type OpKind uint8

const (
	OpNorm         OpKind = iota // one of NormSites, by the same Site
	OpEmbed                      // rows of Weight by token id
	OpMatMul                     // In[0] × rows From, From+1, ... of Weight, plus Bias from element From on
	OpRoPE                       // In[0] rotated by each token's position
	OpStore                      // In[0], stored as it is, or with Half rounded to halves
	OpAttention                  // In: queries, stored keys, stored values; Weight names sinks
	OpAct                        // act(In[0])
	OpGatedAct                   // In: gate, up
	OpAdd                        // In[0] + In[1]
	OpScale                      // In[0] * Factor
	OpSoftcap                    // Factor * tanh(In[0] / Factor)
	OpRoute                      // the weights of the experts that logits In[0] pick
	OpExpertMatMul               // In[0] × the matrices of the experts that logits In[1] pick, plus their biases
	OpCombine                    // sum of the slots In[0], each times its weight in In[1]
	OpAddGated                   // In[0] + In[1] * sigmoid(In[2])
)

// OpSite says where one op's output and inputs stand in a trace, and which tensors of the file it reads.
type OpSite struct {
	Site   string   // the output, [tokens, width]
	Layer  int      // -1 outside the blocks
	Kind   OpKind   //
	Op     string   // the op in words, as "attention" or "matmul attn_q"
	In     []string // sites of the inputs, [tokens, width]
	Weight string   // GGUF name, or empty
	Bias   string   // GGUF name, or empty

	// What the kinds need beside.
	From    int                // OpMatMul
	HeadDim int                // of ops that work a head at a time, else 0
	Rope    backend.RoPE       // OpRoPE; Weight names the factors that divide the frequencies
	Turn    RopeConfig         // OpRoPE
	Attn    backend.Attention  // OpAttention
	Half    bool               // OpStore
	Act     backend.Activation // OpAct, OpGatedAct
	Factor  float32            // OpScale, OpSoftcap
	Router  backend.Router     // OpRoute, OpExpertMatMul
}

// OpSites lists every op of the path this state runs, in forward order; norms stand among them as OpNorm.
func (s *State) OpSites() []OpSite { return s.describe().ops }

// NormSites lists the norms of the path this state runs, in forward order.
func (s *State) NormSites() []NormSite { return s.describe().norms }

// NormSitesOf lists the norms of a model in forward order, as State.NormSites does, without a device: for a trace that
// another program made.
func NormSitesOf(m *Model) []NormSite { return (&State{m: m, form: NormsBatch}).describe().norms }

// describe walks through the model without a device.
func (s *State) describe() *log {
	m := s.m
	dry := &State{
		be: nowhere{}, m: m, ubatch: 1, ctx: 1, form: s.form, half: s.half,
		ropes: make([]backend.Tensor, len(m.Ropes)), kv: make([]backend.KV, m.Layers),
	}
	p := dry.pass(1, 0, nil)
	p.log = &log{}
	p.forward()
	p.head(value{site: SiteResultNorm, layer: -1})
	return p.log
}

// shortName is a tensor's GGUF name without its block and suffix.
func shortName(name string) string {
	name = strings.TrimSuffix(name, ".weight")
	return name[strings.LastIndex(name, ".")+1:]
}
