package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cera/backend"
	"cera/layers"
	"cera/trace"
)

const (
	synthTokens = 12
	synthWidth  = 64
	synthLayers = 2
	synthEps    = 1e-5
)

// call is one norm as a kernel sees it; a fault changes it before it runs, or what it left behind after.
type call struct {
	in, delta, bias []float32 // rows; delta is nil at the first norm, bias nil but at the ffn norms
	weight          []float32
	eps             float32
	stream, out     []float32 // written by run
	outBefore       []float32 // what the output buffer held
}

// run adds and norms in float32 as the kernels do: 256 partial sums and a tree.
func (c *call) run() {
	n := synthWidth
	c.stream, c.out = make([]float32, len(c.in)), make([]float32, len(c.in))
	for r := 0; r < len(c.in); r += n {
		x := c.stream[r : r+n]
		var partial [groupSize]float32
		for i := range x {
			x[i] = c.in[r+i]
			if c.delta != nil {
				x[i] += c.delta[r+i]
			}
			if c.bias != nil {
				x[i] += c.bias[i]
			}
			partial[i%groupSize] += float32(x[i] * x[i]) // rounded on every processor
		}
		for half := groupSize / 2; half > 0; half /= 2 {
			for i := range half {
				partial[i] += partial[i+half]
			}
		}
		inv := 1 / float32(math.Sqrt(float64(partial[0]/float32(n)+c.eps)))
		for i, v := range x {
			c.out[r+i] = v * inv * c.weight[i]
		}
	}
}

// exact is the output that run should give, in float64 from the float32 sum.
func (c *call) exact() []float32 {
	right := *c
	right.run()
	for r := 0; r < len(right.out); r += synthWidth {
		x := right.stream[r : r+synthWidth]
		var sum float64
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		for i, v := range x {
			right.out[r+i] = float32(float64(v) / math.Sqrt(sum/synthWidth+float64(c.eps)) * float64(c.weight[i]))
		}
	}
	return right.out
}

// synth is a made-up run of a model, with what its file holds.
type synth struct {
	Input
	file map[string][]float32
}

// newSynth makes a run in which the norm at a site goes through fault in place of run.
func newSynth(t testing.TB, site string, fault func(c *call)) *synth {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int, scale, mean float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64()*scale + mean)
		}
		return v
	}
	s := &synth{file: map[string][]float32{}}
	s.Model, s.Info = "synth.gguf", backend.Info{Backend: "cpu", Adapter: "made up"}
	s.Trace, s.Reference, s.DeviceWeights = trace.New(), trace.New(), map[string][]float32{}
	s.FileWeights = func(name string) ([]float32, error) {
		w, ok := s.file[name]
		if !ok {
			return nil, fmt.Errorf("tensor %s is not in the file", name)
		}
		return w, nil
	}
	for i := range synthTokens {
		s.Tokens = append(s.Tokens, int32(i))
	}
	put := func(tr *trace.Trace, site string, data []float32) {
		if err := tr.Append(site, synthTokens, synthWidth, data); err != nil {
			t.Fatal(err)
		}
	}
	stream, streamSite, buffer := random(synthTokens*synthWidth, 0.7, 0), layers.SiteEmbd,
		make([]float32, synthTokens*synthWidth)
	put(s.Trace, streamSite, stream)
	norm := func(n layers.NormSite, delta []float32) {
		n.Op, n.In, n.Eps = "add_rmsnorm_batch", streamSite, synthEps
		s.file[n.Weight] = random(synthWidth, 0.2, 1)
		c := &call{in: stream, delta: delta, weight: s.file[n.Weight], eps: n.Eps, outBefore: buffer}
		if n.Delta == "" {
			n.Op = "rmsnorm_batch"
		} else {
			put(s.Trace, n.Delta, delta)
		}
		if n.Bias != "" {
			s.file[n.Bias] = random(synthWidth, 0.1, 0)
			c.bias = s.file[n.Bias]
		}
		put(s.Reference, n.Site, c.exact())
		if n.Site == site {
			fault(c)
		} else {
			c.run()
		}
		if n.Stream != "" {
			put(s.Trace, n.Stream, c.stream)
			stream, streamSite = c.stream, n.Stream
		}
		put(s.Trace, n.Site, c.out)
		buffer = c.out
		s.DeviceWeights[n.Site] = s.file[n.Weight]
		s.Sites = append(s.Sites, n)
	}
	branch := func() []float32 { return random(synthTokens*synthWidth, 0.3, 0) }
	for i := range synthLayers {
		at := func(site string) string { return layers.At(site, i) }
		attn := layers.NormSite{Site: at(layers.SiteAttnNorm), Layer: i,
			Weight: fmt.Sprintf("blk.%d.attn_norm.weight", i)}
		var delta []float32
		if i > 0 {
			attn.Delta, attn.Stream, delta = layers.At(layers.SiteFFNOut, i-1), layers.At(layers.SiteLOut, i-1),
				branch()
		}
		norm(attn, delta)
		norm(layers.NormSite{
			Site: at(layers.SiteFFNNorm), Layer: i, Weight: fmt.Sprintf("blk.%d.ffn_norm.weight", i),
			Delta: at(layers.SiteAttnProj), Stream: at(layers.SiteFFNInp),
			Bias: fmt.Sprintf("blk.%d.attn_output.bias", i),
		}, branch())
	}
	norm(layers.NormSite{Site: layers.SiteResultNorm, Layer: -1, Weight: "output_norm.weight",
		Delta: layers.At(layers.SiteFFNOut, synthLayers-1), Stream: layers.At(layers.SiteLOut, synthLayers-1)},
		branch())
	return s
}

func goodSynth(t testing.TB) *synth { return newSynth(t, "", nil) }

// replace puts other rows in the place of a site of a trace.
func replace(t testing.TB, tr *trace.Trace, site string, rows, n int, data []float32) *trace.Trace {
	t.Helper()
	out := trace.New()
	for _, s := range tr.Sites() {
		d, r, w, _ := tr.Data(s)
		if s == site {
			d, r, w = data, rows, n
		}
		if r == 0 {
			continue // left out
		}
		if err := out.Append(s, r, w, d); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
