package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cera/gguf"
	"cera/weights"
)

// definition is what an architecture computes where it differs from llama, as its authors published it. It is written
// down a second time, apart from the table in package layers, which it is to be held against.
type definition struct {
	neox      bool   // the two halves of a head rotate together, and not neighbours
	layerNorm bool   // of the stream
	noPre     bool   // the stream is not normed
	post      bool   // what attention and MLP give is
	ffnNorm   string // tensor of the norm before the MLP, and its site; empty: ffn_norm
	headNorm  bool   // q and k are normed a head at a time
	rowNorm   bool   // q and k are normed all heads together
	act       func(gate, up float64) float64
	plain     bool // the MLP has no gate: act(up, 1)
	rootEmbd  bool // embeddings are multiplied by the root of the width
	granite   bool // four factors, in keys

	period     int     // where there is a window, every so many blocks the last sees all; -1: none does
	localBase  float64 // base of blocks with a window; 0: that of the others
	localPlain bool    // they rotate without the scaling for long contexts

	skipsRope func(block int, window, windows bool) bool // whether the block has a window, and whether any has

	attnCap, finalCap float64 // where the file has no key
	topFirst          bool    // the router's softmax is over the experts that are picked
	renormed          bool    // the weights of those are divided by their sum
}

func silu(g, up float64) float64 { return g / (1 + math.Exp(-g)) * up }

func gelu(g, up float64) float64 {
	return 0.5 * g * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g))) * up
}

// clampedSwiGLU is the activation of gpt-oss.
func clampedSwiGLU(g, up float64) float64 {
	g, up = math.Min(g, 7), math.Max(-7, math.Min(up, 7))
	return g / (1 + math.Exp(-1.702*g)) * (up + 1)
}

var definitions = map[string]definition{
	"llama":    {renormed: true},
	"qwen2":    {neox: true},
	"qwen2moe": {neox: true},
	"qwen3":    {neox: true, headNorm: true},
	"qwen3moe": {neox: true, headNorm: true, renormed: true},
	"gemma":    {neox: true, act: gelu, rootEmbd: true},
	"gemma2":   {neox: true, act: gelu, rootEmbd: true, post: true, period: 2, attnCap: 50, finalCap: 30},
	"gemma3": {
		neox: true, act: gelu, rootEmbd: true, post: true, headNorm: true, period: 6, localBase: 10000,
		localPlain: true,
	},
	"phi3":       {neox: true, period: -1},
	"granite":    {granite: true},
	"olmo2":      {neox: true, noPre: true, post: true, rowNorm: true, period: 4, localPlain: true},
	"smollm3":    {skipsRope: func(block int, _, _ bool) bool { return (block+1)%4 == 0 }},
	"stablelm":   {neox: true, layerNorm: true},
	"starcoder2": {neox: true, layerNorm: true, act: gelu, plain: true},
	"gpt-oss":    {neox: true, act: clampedSwiGLU, ffnNorm: "post_attention_norm", period: 2, topFirst: true},
	"exaone4": {
		neox: true, noPre: true, post: true, headNorm: true, period: 4,
		skipsRope: func(_ int, window, windows bool) bool { return windows && !window },
	},
}

// reference is a forward pass in float64 that shares no code with the one that is tested: loops over a file's tensors,
// all tokens at once, no cache. Matrices are flat, row after row.
type reference struct {
	t     *testing.T
	f     *gguf.File
	arch  string
	def   definition
	ctx   int                  // positions of the cache, by which phi3 chooses its factors
	sites map[string][]float64 // by llama.cpp's names, and "logits"

	dim, headDim, rotDim int
	eps                  float64
}

func newReference(t *testing.T, f *gguf.File, ctx int) *reference {
	t.Helper()
	name, err := f.String("general.architecture")
	if err != nil {
		t.Fatal(err)
	}
	def, ok := definitions[name]
	if !ok {
		t.Fatalf("%s has no definition", name)
	}
	if def.act == nil {
		def.act = silu
	}
	r := &reference{t: t, f: f, arch: name, def: def, ctx: ctx, sites: map[string][]float64{}}
	r.dim = r.int("embedding_length", 0)
	r.headDim = r.int("attention.key_length", r.dim/r.each("attention.head_count", 0))
	r.rotDim = r.int("rope.dimension_count", r.headDim)
	r.eps = r.float("attention.layer_norm_rms_epsilon", 0)
	if def.layerNorm {
		r.eps = r.float("attention.layer_norm_epsilon", 0)
	}
	return r
}

func (r *reference) int(key string, missing int) int {
	if v, err := r.f.Uint(r.arch + "." + key); err == nil {
		return int(v)
	}
	return missing
}

func (r *reference) float(key string, missing float64) float64 {
	if v, err := r.f.Float(r.arch + "." + key); err == nil {
		return v
	}
	return missing
}

// each reads a key that is one number or an array of one a block.
func (r *reference) each(key string, block int) int {
	if v, err := r.f.Uints(r.arch + "." + key); err == nil {
		return int(v[block])
	}
	return r.int(key, 0)
}

func (r *reference) has(name string) bool { _, ok := r.f.Tensor(name); return ok }

func (r *reference) load(name string) []float64 {
	r.t.Helper()
	v, err := weights.DecodeTensor(r.f, name)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// keep notes what a site holds.
func (r *reference) keep(site string, v []float64) []float64 {
	r.sites[site] = slices.Clone(v)
	return v
}

// multiply is the product of each row of x, [rows, n], with the m rows of w.
func multiply(x, w []float64, n int) []float64 {
	m := len(w) / n
	out := make([]float64, 0, len(x)/n*m)
	for from := 0; from < len(x); from += n {
		for o := range m {
			var sum float64
			for k := range n {
				sum += w[o*n+k] * x[from+k]
			}
			out = append(out, sum)
		}
	}
	return out
}

// plus adds b to each row of x.
func plus(x, b []float64) []float64 {
	for i := range x {
		x[i] += b[i%len(b)]
	}
	return x
}

// project multiplies each row of x, [rows, n], with the matrix name, and adds its bias where the file has one.
func (r *reference) project(name string, x []float64, n int) []float64 {
	out := multiply(x, r.load(name+".weight"), n)
	if r.has(name + ".bias") {
		plus(out, r.load(name+".bias"))
	}
	return out
}

// rms norms stretches of as many elements as the weight has.
func (r *reference) rms(name string, x []float64) []float64 {
	w := r.load(name + ".weight")
	out := make([]float64, len(x))
	for from := 0; from < len(x); from += len(w) {
		var sum float64
		for i := range w {
			sum += x[from+i] * x[from+i]
		}
		for i := range w {
			out[from+i] = x[from+i] / math.Sqrt(sum/float64(len(w))+r.eps) * w[i]
		}
	}
	return out
}

// norm norms the stream.
func (r *reference) norm(name string, x []float64) []float64 {
	if !r.def.layerNorm {
		return r.rms(name, x)
	}
	w, bias := r.load(name+".weight"), r.load(name+".bias")
	n := len(w)
	out := make([]float64, len(x))
	for from := 0; from < len(x); from += n {
		var mean, variance float64
		for i := range n {
			mean += x[from+i] / float64(n)
		}
		for i := range n {
			variance += (x[from+i] - mean) * (x[from+i] - mean) / float64(n)
		}
		for i := range n {
			out[from+i] = (x[from+i]-mean)/math.Sqrt(variance+r.eps)*w[i] + bias[i]
		}
	}
	return out
}

// run computes the sites and the logits, [tokens, vocabulary].
func (r *reference) run(tokens []int32) {
	var x []float64
	embd := r.load("token_embd.weight")
	for _, id := range tokens {
		x = append(x, embd[int(id)*r.dim:(int(id)+1)*r.dim]...)
	}
	scale, residual, divisor := 1.0, 1.0, 1.0
	if r.def.rootEmbd {
		scale = math.Sqrt(float64(r.dim))
	}
	if r.def.granite {
		scale, residual, divisor = r.float("embedding_scale", 1), r.float("residual_scale", 1),
			r.float("logit_scale", 1)
	}
	for i := range x {
		x[i] *= scale
	}
	add := func(d []float64) {
		for i := range x {
			x[i] += residual * d[i]
		}
	}
	for b := range r.int("block_count", 0) {
		at := func(s string) string { return fmt.Sprintf("%s-%d", s, b) }
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s", b, s) }
		h := x
		if !r.def.noPre {
			h = r.keep(at("attn_norm"), r.norm(name("attn_norm"), x))
		}
		out := r.attention(b, h, name, at)
		if r.def.post {
			out = r.keep(at("attn_post_norm"), r.rms(name("post_attention_norm"), out))
		}
		add(out)
		r.keep(at("ffn_inp"), x)
		h = x
		switch {
		case r.def.noPre:
		case r.def.ffnNorm != "":
			h = r.keep(at("attn_post_norm"), r.norm(name(r.def.ffnNorm), x))
		default:
			h = r.keep(at("ffn_norm"), r.norm(name("ffn_norm"), x))
		}
		out = r.mlp(h, name)
		if r.def.post {
			out = r.keep(at("ffn_post_norm"), r.rms(name("post_ffw_norm"), out))
		}
		add(out)
		r.keep(at("l_out"), x)
	}
	head := "output.weight"
	if !r.has(head) {
		head = "token_embd.weight"
	}
	logits := multiply(r.keep("result_norm", r.norm("output_norm", x)), r.load(head), r.dim)
	limit := r.float("final_logit_softcapping", r.def.finalCap)
	for i := range logits {
		logits[i] /= divisor
		if limit > 0 {
			logits[i] = limit * math.Tanh(logits[i]/limit)
		}
	}
	r.keep("logits", logits)
}

// mlp is the MLP of a block, or its mixture of experts.
func (r *reference) mlp(h []float64, name func(string) string) []float64 {
	if !r.has(name("ffn_gate_inp.weight")) {
		up := r.project(name("ffn_up"), h, r.dim)
		var gate []float64
		switch ff := r.int("feed_forward_length", 0); {
		case r.def.plain:
			return r.project(name("ffn_down"), r.plainAct(up), ff)
		case r.has(name("ffn_gate.weight")):
			gate = r.project(name("ffn_gate"), h, r.dim)
		default: // ffn_up has the rows of both
			gate, up = stretch(up, 2*ff, 0, ff), stretch(up, 2*ff, ff, 2*ff)
		}
		return r.project(name("ffn_down"), r.gatedAct(gate, up), r.int("feed_forward_length", 0))
	}
	logits := r.project(name("ffn_gate_inp"), h, r.dim)
	experts := r.int("expert_count", 0)
	var out []float64
	for from := 0; from < len(logits); from += experts {
		row := from / experts
		out = append(out, r.mixture(h[row*r.dim:(row+1)*r.dim], logits[from:from+experts], name)...)
	}
	if !r.has(name("ffn_up_shexp.weight")) {
		return out
	}
	act := r.gatedAct(r.project(name("ffn_gate_shexp"), h, r.dim), r.project(name("ffn_up_shexp"), h, r.dim))
	shared := r.project(name("ffn_down_shexp"), act, r.int("expert_shared_feed_forward_length", 0))
	gate := multiply(h, r.load(name("ffn_gate_inp_shexp.weight")), r.dim)
	for i := range out {
		out[i] += shared[i] / (1 + math.Exp(-gate[i/r.dim]))
	}
	return out
}

// mixture is what the experts that a token's logits pick make of it.
func (r *reference) mixture(h, logits []float64, name func(string) string) []float64 {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if logits[a] > logits[b] {
			return -1
		}
		return 1
	})
	used := order[:r.int("expert_used_count", 0)]
	var all, picked float64 // sums of exponentials
	for _, v := range logits {
		all += math.Exp(v)
	}
	for _, e := range used {
		picked += math.Exp(logits[e])
	}
	renormed := r.def.renormed
	if v, err := r.f.Bool(r.arch + ".expert_weights_norm"); err == nil {
		renormed = v
	}
	if r.def.topFirst || renormed { // which comes to the same
		all = picked
	}
	ff := r.int("expert_feed_forward_length", r.int("feed_forward_length", 0))
	out := make([]float64, r.dim)
	for _, e := range used {
		expert := func(what string, x []float64, rows, n int) []float64 {
			y := multiply(x, r.load(name(what + ".weight"))[e*rows*n:(e+1)*rows*n], n)
			if r.has(name(what + ".bias")) {
				plus(y, r.load(name(what + ".bias"))[e*rows:(e+1)*rows])
			}
			return y
		}
		act := r.gatedAct(expert("ffn_gate_exps", h, ff, r.dim), expert("ffn_up_exps", h, ff, r.dim))
		for i, v := range expert("ffn_down_exps", act, r.dim, ff) {
			out[i] += math.Exp(logits[e]) / all * v
		}
	}
	return out
}

func (r *reference) plainAct(up []float64) []float64 {
	out := make([]float64, len(up))
	for i, v := range up {
		out[i] = r.def.act(v, 1)
	}
	return out
}

func (r *reference) gatedAct(gate, up []float64) []float64 {
	out := make([]float64, len(up))
	for i, v := range up {
		out[i] = r.def.act(gate[i], v)
	}
	return out
}

// stretch returns columns lo to hi-1 of x, [rows, n].
func stretch(x []float64, n, lo, hi int) []float64 {
	var out []float64
	for from := 0; from < len(x); from += n {
		out = append(out, x[from+lo:from+hi]...)
	}
	return out
}
