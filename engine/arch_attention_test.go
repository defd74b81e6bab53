package engine_test

import "math"

// attention is the reference's: projections, norms, rotation, softmax and the projection back.
func (r *reference) attention(b int, h []float64, name, at func(string) string) []float64 {
	heads, kvHeads := r.each("attention.head_count", b), r.each("attention.head_count_kv", b)
	nq, nkv := heads*r.headDim, kvHeads*r.headDim
	var q, k, v []float64
	if r.has(name("attn_qkv.weight")) {
		all := r.project(name("attn_qkv"), h, r.dim)
		n := nq + 2*nkv
		q, k, v = stretch(all, n, 0, nq), stretch(all, n, nq, nq+nkv), stretch(all, n, nq+nkv, n)
	} else {
		q, k, v = r.project(name("attn_q"), h, r.dim), r.project(name("attn_k"), h, r.dim),
			r.project(name("attn_v"), h, r.dim)
	}
	if r.def.headNorm || r.def.rowNorm { // the weight's width says which
		q = r.keep(at("Qcur_normed"), r.rms(name("attn_q_norm"), q))
		k = r.keep(at("Kcur_normed"), r.rms(name("attn_k_norm"), k))
	}
	window := r.window(b)
	if r.rotates(b, window) {
		theta, gain := r.frequencies(window > 0)
		r.rotate(q, nq, theta, gain)
		r.rotate(k, nkv, theta, gain)
	}
	var sinks []float64
	if r.has(name("attn_sinks.weight")) {
		sinks = r.load(name("attn_sinks.weight"))
	}
	out := r.attend(q, k, v, heads, kvHeads, window, sinks)
	return r.project(name("attn_output"), r.keep(at("kqv_out"), out), nq)
}

// window returns how many positions a token of a block sees, itself included; 0: all.
func (r *reference) window(b int) int {
	size := r.int("attention.sliding_window", 0)
	local := r.def.period < 0 || r.def.period > 0 && (b+1)%r.def.period != 0
	if pattern, err := r.f.Bools(r.arch + ".attention.sliding_window_pattern"); err == nil && r.def.period != 0 {
		local = pattern[b]
	}
	if !local {
		return 0
	}
	return size
}

func (r *reference) rotates(b, window int) bool {
	if v, err := r.f.Bool(r.arch + ".rope.scaling.finetuned"); err == nil && !v && r.def.granite {
		return false
	}
	return r.def.skipsRope == nil || !r.def.skipsRope(b, window > 0, r.int("attention.sliding_window", 0) > 0)
}

// frequencies returns the angle of each pair a position, and what multiplies cosine and sine. The scalings are those of
// Hugging Face's rope utilities; YaRN is Peng et al., arXiv:2309.00071.
func (r *reference) frequencies(local bool) (theta []float64, gain float64) {
	base, d := r.float("rope.freq_base", 10000), float64(r.rotDim)
	if local && r.def.localBase != 0 {
		base = r.def.localBase
	}
	for j := range r.rotDim / 2 {
		theta = append(theta, 1/math.Pow(base, 2*float64(j)/d))
	}
	if local && r.def.localPlain {
		return theta, 1
	}
	original := r.int("rope.scaling.original_context_length", r.int("context_length", 0))
	divide := "rope_freqs.weight"
	switch {
	case !r.has("rope_factors_long.weight"):
	case r.ctx > original:
		divide = "rope_factors_long.weight"
	default:
		divide = "rope_factors_short.weight"
	}
	if r.has(divide) {
		for j, f := range r.load(divide) {
			theta[j] /= f
		}
	}
	gain = r.float("rope.scaling.attn_factor", 1)
	factor := r.float("rope.scaling.factor", 1)
	kind, _ := r.f.String(r.arch + ".rope.scaling.type")
	switch kind {
	case "linear":
		for j := range theta {
			theta[j] /= factor
		}
	case "yarn":
		// The dimension that turns so many times within the original context.
		dimension := func(turns float64) float64 {
			return d * math.Log(float64(original)/(turns*2*math.Pi)) / (2 * math.Log(base))
		}
		low := math.Max(math.Floor(dimension(r.float("rope.scaling.yarn_beta_fast", 32))), 0)
		high := math.Min(math.Ceil(dimension(r.float("rope.scaling.yarn_beta_slow", 1))), d-1)
		for j := range theta {
			ramp := math.Max(0, math.Min(1, (float64(j)-low)/(high-low)))
			theta[j] = theta[j]/factor*ramp + theta[j]*(1-ramp)
		}
		gain *= 0.1*math.Log(factor) + 1
	}
	return theta, gain
}

// rotate turns every head of x, [tokens, width], by its token's position.
func (r *reference) rotate(x []float64, width int, theta []float64, gain float64) {
	for from := 0; from < len(x); from += r.headDim {
		p := from / width
		for j, t := range theta {
			a, b := from+2*j, from+2*j+1
			if r.def.neox {
				a, b = from+j, from+j+r.rotDim/2
			}
			sin, cos := gain*math.Sin(float64(p)*t), gain*math.Cos(float64(p)*t)
			x[a], x[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
		}
	}
}

// attend is softmax(scores) times values, of each head and position.
func (r *reference) attend(q, k, v []float64, heads, kvHeads, window int, sinks []float64) []float64 {
	d, nq, nkv := r.headDim, heads*r.headDim, kvHeads*r.headDim
	scale := 1 / math.Sqrt(float64(d))
	if r.def.granite {
		scale = r.float("attention.scale", scale)
	}
	limit := r.float("attn_logit_softcapping", r.def.attnCap)
	out := make([]float64, len(q))
	for p := range len(q) / nq {
		for h := range heads {
			kv := h / (heads / kvHeads) * d
			var sum float64
			if sinks != nil {
				sum = math.Exp(sinks[h])
			}
			for j := 0; j <= p; j++ {
				if window > 0 && j <= p-window {
					continue
				}
				var s float64
				for i := range d {
					s += q[p*nq+h*d+i] * k[j*nkv+kv+i]
				}
				s *= scale
				if limit > 0 {
					s = limit * math.Tanh(s/limit)
				}
				// Scores of these models are small: no maximum need be taken off.
				e := math.Exp(s)
				sum += e
				for i := range d {
					out[p*nq+h*d+i] += e * v[j*nkv+kv+i]
				}
			}
			for i := range d {
				out[p*nq+h*d+i] /= sum
			}
		}
	}
	return out
}
