package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
	"cera/layers"
	"cera/trace"
)

const (
	testTokens = 5
	testWidth  = 40
	testEps    = 1e-5
)

// run is a made-up run through three norms, computed by the test's own code, that tests take and spoil. The first norm
// adds nothing, the second a residual, the third a residual and a bias.
type run struct {
	sites   []layers.NormSite
	tokens  []int32
	data    map[string][]float32 // by site, [tokens, width]
	ref     map[string][]float32 // the same of the reference run; nil: there is none
	file    map[string][]float32 // by tensor name
	device  map[string][]float32 // by norm site; nil: not read back
	width   map[string]int       // of sites that are not testWidth wide
	missing []string             // sites that were not captured
}

func numbers(seed uint64, n int, scale float64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * scale)
	}
	return v
}

// rmsNorm is the plain formula in float64, for each row of x.
func rmsNorm(x, w []float32, eps float64) []float32 {
	n := len(w)
	out := make([]float32, len(x))
	for at := 0; at < len(x); at += n {
		var mean float64
		for _, v := range x[at : at+n] {
			mean += float64(v) * float64(v) / float64(n)
		}
		for i, v := range x[at : at+n] {
			out[at+i] = float32(float64(v) / math.Sqrt(mean+eps) * float64(w[i]))
		}
	}
	return out
}

// plus is a + b in float32, b repeated for every row.
func plus(a, b []float32) []float32 {
	out := slices.Clone(a)
	for i := range out {
		out[i] += b[i%len(b)]
	}
	return out
}

func newRun() *run {
	const all = testTokens * testWidth
	r := &run{
		sites: []layers.NormSite{
			{Site: "attn_norm-0", Layer: 0, Op: "rmsnorm_batch", In: "embd", Weight: "blk.0.attn_norm.weight",
				Eps: testEps},
			{Site: "ffn_norm-0", Layer: 0, Op: "add_rmsnorm_batch", In: "embd", Delta: "attn_out-0",
				Stream: "ffn_inp-0",
				Weight: "blk.0.ffn_norm.weight", Eps: testEps},
			{Site: "result_norm", Layer: -1, Op: "fused_residual_rms_norm", In: "ffn_inp-0", Delta: "ffn_out-0",
				Stream: "l_out-0",
				Bias:   "blk.0.ffn_down.bias", Weight: "output_norm.weight", Eps: testEps},
		},
		tokens: []int32{1, 7, 7, 300, 2},
		file: map[string][]float32{
			"blk.0.attn_norm.weight": numbers(1, testWidth, 1),
			"blk.0.ffn_norm.weight":  numbers(2, testWidth, 1),
			"output_norm.weight":     numbers(3, testWidth, 1),
			"blk.0.ffn_down.bias":    numbers(4, testWidth, 0.5),
		},
		data: map[string][]float32{
			"embd":       numbers(5, all, 0.1),
			"attn_out-0": numbers(6, all, 0.1),
			"ffn_out-0":  numbers(7, all, 0.1),
		},
	}
	r.compute()
	return r
}

// compute fills in what follows from the inputs.
func (r *run) compute() {
	d := r.data
	d["ffn_inp-0"] = plus(d["embd"], d["attn_out-0"])
	d["l_out-0"] = plus(plus(d["ffn_inp-0"], d["ffn_out-0"]), r.file["blk.0.ffn_down.bias"])
	d["attn_norm-0"] = rmsNorm(d["embd"], r.file["blk.0.attn_norm.weight"], testEps)
	d["ffn_norm-0"] = rmsNorm(d["ffn_inp-0"], r.file["blk.0.ffn_norm.weight"], testEps)
	d["result_norm"] = rmsNorm(d["l_out-0"], r.file["output_norm.weight"], testEps)
	r.ref, r.device = map[string][]float32{}, map[string][]float32{}
	for _, s := range r.sites {
		r.ref[s.Site] = slices.Clone(d[s.Site])
		r.device[s.Site] = slices.Clone(r.file[s.Weight])
	}
}

// input makes the run a check's input.
func (r *run) input(t testing.TB) Input {
	t.Helper()
	fill := func(data map[string][]float32) *trace.Trace {
		tr := trace.New()
		tr.Tokens = r.tokens
		for site, d := range data {
			n := testWidth
			if r.width[site] != 0 {
				n = r.width[site]
			}
			if slices.Contains(r.missing, site) {
				continue
			}
			if err := tr.Append(site, len(d)/n, n, d); err != nil {
				t.Fatal(err)
			}
		}
		return tr
	}
	in := Input{
		Model:  "synthetic.gguf",
		Info:   backend.Info{Backend: "gpu", Adapter: "Imaginary 1", Driver: "driver 2.3"},
		Sites:  r.sites,
		Trace:  fill(r.data),
		Tokens: r.tokens,
		FileWeights: func(name string) ([]float32, error) {
			if w, ok := r.file[name]; ok {
				return slices.Clone(w), nil
			}
			return nil, fmt.Errorf("the file has no tensor %s", name)
		},
		DeviceWeights: r.device,
	}
	if r.ref != nil {
		in.Reference = fill(r.ref)
	}
	return in
}
