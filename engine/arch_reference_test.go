package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"cera/engine"
	"cera/gguf"
	"cera/tinymodel"
	"cera/weights"
)

// reference is a forward pass in float64, written from the architectures' definitions and sharing no code with the one
// that is tested: loops over a file's tensors, all tokens at once.
type reference struct {
	t       *testing.T
	f       *gguf.File
	o       tinymodel.Options
	headDim int
	neox    bool
	post    bool                 // norms of what is added to the stream, not of the stream
	qkNorm  bool                 // of each head
	window  func(block int) int  // positions that a token of the block sees; 0: all
	rotates func(block int) bool //
	sites   map[string][]float64 // by llama.cpp's names, row after row
}

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

// has is load for a tensor that may be missing: nil then.
func (r *reference) has(name string) []float64 {
	if _, ok := r.f.Tensor(name); !ok {
		return nil
	}
	return r.load(name)
}

// project multiplies each row of x, [rows, n], with the matrix name, and adds its bias where the file has one.
func (r *reference) project(name string, x []float64, n int) []float64 {
	w, bias := r.load(name+".weight"), r.has(name+".bias")
	m := len(w) / n
	var out []float64
	for from := 0; from < len(x); from += n {
		for o := range m {
			var sum float64
			for k := range n {
				sum += w[o*n+k] * x[from+k]
			}
			if bias != nil {
				sum += bias[o]
			}
			out = append(out, sum)
		}
	}
	return out
}

// norm norms stretches of as many elements as the weight has.
func (r *reference) norm(name string, x []float64) []float64 {
	w := r.load(name)
	out := make([]float64, len(x))
	for from := 0; from < len(x); from += len(w) {
		var sum float64
		for i := range w {
			sum += x[from+i] * x[from+i]
		}
		inv := 1 / math.Sqrt(sum/float64(len(w))+float64(r.o.Eps))
		for i := range w {
			out[from+i] = x[from+i] * inv * w[i]
		}
	}
	return out
}

// rotate turns every head of x, [tokens, width], by its token's position.
func (r *reference) rotate(x []float64, width int) {
	d := r.headDim
	for from := 0; from < len(x); from += d {
		p := from / width
		for j := range d / 2 {
			a, b := from+2*j, from+2*j+1
			if r.neox {
				a, b = from+j, from+j+d/2
			}
			sin, cos := math.Sincos(float64(p) * math.Pow(float64(r.o.RopeBase), -2*float64(j)/float64(d)))
			x[a], x[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
		}
	}
}

func (r *reference) attend(q, k, v []float64, window int) []float64 {
	d, nq, nkv := r.headDim, r.o.Heads*r.headDim, r.o.KVHeads*r.headDim
	out := make([]float64, len(q))
	for p := range len(q) / nq {
		for h := range r.o.Heads {
			kv := h / (r.o.Heads / r.o.KVHeads) * d
			var sum float64
			acc := make([]float64, d)
			for j := 0; j <= p; j++ {
				if window > 0 && p-j >= window {
					continue
				}
				var s float64
				for i := range d {
					s += q[p*nq+h*d+i] * k[j*nkv+kv+i]
				}
				e := math.Exp(s / math.Sqrt(float64(d)))
				sum += e
				for i := range d {
					acc[i] += e * v[j*nkv+kv+i]
				}
			}
			for i := range d {
				out[p*nq+h*d+i] = acc[i] / sum
			}
		}
	}
	return out
}

// run computes the sites and the logits, [tokens, vocabulary].
func (r *reference) run(tokens []int32) []float64 {
	dim := r.o.Dim
	var x []float64
	embd := r.load("token_embd.weight")
	for _, id := range tokens {
		x = append(x, embd[int(id)*dim:(int(id)+1)*dim]...)
	}
	keep := func(site string, v []float64) []float64 {
		r.sites[site] = append([]float64(nil), v...)
		return v
	}
	add := func(d []float64) {
		for i := range x {
			x[i] += d[i]
		}
	}
	for b := range r.o.Layers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s", b, s) }
		at := func(s string) string { return fmt.Sprintf("%s-%d", s, b) }
		h := x
		if !r.post {
			h = keep(at("attn_norm"), r.norm(name("attn_norm.weight"), x))
		}
		q, k, v := r.project(name("attn_q"), h, dim), r.project(name("attn_k"), h, dim), r.project(name("attn_v"), h, dim)
		if r.qkNorm {
			q = keep(at("Qcur_normed"), r.norm(name("attn_q_norm.weight"), q))
			k = keep(at("Kcur_normed"), r.norm(name("attn_k_norm.weight"), k))
		}
		if r.rotates(b) {
			r.rotate(q, r.o.Heads*r.headDim)
			r.rotate(k, r.o.KVHeads*r.headDim)
		}
		out := r.project(name("attn_output"), keep(at("kqv_out"), r.attend(q, k, v, r.window(b))), r.o.Heads*r.headDim)
		if r.post {
			out = keep(at("attn_post_norm"), r.norm(name("post_attention_norm.weight"), out))
		}
		add(out)
		keep(at("ffn_inp"), x)
		h = x
		if !r.post {
			h = keep(at("ffn_norm"), r.norm(name("ffn_norm.weight"), x))
		}
		gate, up := r.project(name("ffn_gate"), h, dim), r.project(name("ffn_up"), h, dim)
		for i, g := range gate {
			up[i] *= g / (1 + math.Exp(-g))
		}
		out = r.project(name("ffn_down"), up, r.o.FF)
		if r.post {
			out = keep(at("ffn_post_norm"), r.norm(name("post_ffw_norm.weight"), out))
		}
		add(out)
		keep(at("l_out"), x)
	}
	head := "output"
	if r.o.TiedOutput {
		head = "token_embd"
	}
	return r.project(head, keep("result_norm", r.norm("output_norm.weight", x)), dim)
}

// TestArchReference compares models of the project's own generator, of which there is no oracle in testdata, with a pass
// in float64.
func TestArchReference(t *testing.T) {
	every := func(int) bool { return true }
	all := func(int) int { return 0 }
	for _, c := range []struct {
		name    string
		change  func(o *tinymodel.Options)
		window  func(block int) int
		rotates func(block int) bool
	}{
		{"qwen3", func(o *tinymodel.Options) { o.Arch = "qwen3" }, all, every},
		{"qwen3 with biases", func(o *tinymodel.Options) { o.Arch, o.QKVBias, o.OutputBias = "qwen3", true, true }, all, every},
		{"qwen2 with biases", func(o *tinymodel.Options) { o.Arch, o.QKVBias = "qwen2", true }, all, every},
		{"exaone4", func(o *tinymodel.Options) { o.Arch = "exaone4" }, all, every},
		{"exaone4 tied", func(o *tinymodel.Options) { o.Arch, o.TiedOutput = "exaone4", true }, all, every},
		{"exaone4 with a window", func(o *tinymodel.Options) { o.Arch, o.Window, o.Layers = "exaone4", 5, 5 }, func(b int) int {
			if b%4 == 3 {
				return 0
			}
			return 5
		}, func(b int) bool { return b%4 != 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := tinymodel.Default()
			o.Layers, o.Vocab, o.HeadDim, o.Format = 3, 96, 24, gguf.F32
			c.change(&o)
			var buf bytes.Buffer
			if _, err := tinymodel.Write(&buf, o); err != nil {
				t.Fatal(err)
			}
			file := func() *gguf.File {
				f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			ref := &reference{
				t: t, f: file(), o: o, headDim: 24, neox: o.Arch != "llama", post: o.Arch == "exaone4",
				qkNorm: o.Arch == "qwen3" || o.Arch == "exaone4", window: c.window, rotates: c.rotates, sites: map[string][]float64{},
			}
			tokens := engine.DefaultTokens(o.Vocab, 13)
			ref.sites["logits"] = ref.run(tokens)
			eachDevice(t, func(t *testing.T, device string) {
				for _, ubatch := range []int{13, 4, 1} {
					e, err := engine.Load(file(), engine.Options{Device: device, UBatch: ubatch})
					if err != nil {
						t.Fatal(err)
					}
					got, err := e.Capture(ctx, tokens, everySite)
					if err != nil {
						t.Fatal(err)
					}
					for site, want := range ref.sites {
						data, _, _, ok := got.Trace.Data(site)
						if !ok || len(data) != len(want) {
							t.Errorf("batches of %d: %s: %d values, want %d", ubatch, site, len(data), len(want))
							continue
						}
						var diff, size float64
						for i, w := range want {
							diff += (float64(data[i]) - w) * (float64(data[i]) - w)
							size += w * w
						}
						if !(diff/size <= goldenNMSE) {
							t.Errorf("batches of %d: %s: NMSE %.3g, limit %g", ubatch, site, diff/size, goldenNMSE)
						}
					}
					r, err := e.CheckOps(ctx, tokens, engine.DriftOn, engine.OpFilter{})
					if err != nil || r.ExitCode() != 0 || r.Missed != 0 {
						t.Errorf("batches of %d: check: %v, %d unmeasured, first fault %+v", ubatch, err, r.Missed, r.First)
					}
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
