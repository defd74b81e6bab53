package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/engine"
	"cera/gguf"
	"cera/layers"
	"cera/tinymodel"
	"cera/trace"
)

// tinyCase is a model of the project's own generator.
type tinyCase struct {
	name   string
	arch   string
	change func(o *tinymodel.Options)
	set    map[string]any // metadata beside the generator's
	ctx    int            // positions of the cache; 0: those of the tokens
}

const tinyTokens = 19 // more than any window here

var tinyCases = []tinyCase{
	{"linear", "llama", func(o *tinymodel.Options) { o.RopeScaling, o.RopeFactor = "linear", 4 }, nil, 0},
	{"yarn", "llama", func(o *tinymodel.Options) { o.RopeScaling, o.RopeFactor, o.OrigCtx = "yarn", 4, 128 }, nil, 0},
	{"yarn between other turns", "llama",
		func(o *tinymodel.Options) { o.RopeScaling, o.RopeFactor, o.OrigCtx = "yarn", 8, 64 },
		map[string]any{"llama.rope.scaling.yarn_beta_fast": float32(8),
			"llama.rope.scaling.yarn_beta_slow": float32(0.5)}, 0},
	{"yarn with factors", "llama", func(o *tinymodel.Options) {
		o.RopeScaling, o.RopeFactor, o.OrigCtx, o.RopeFreqs = "yarn", 4, 128, true
	}, nil, 0},
	{"rope factors, part of a head", "llama",
		func(o *tinymodel.Options) { o.RopeFreqs, o.RotDim, o.HeadDim = true, 12, 20 }, nil, 0},
	{"every bias", "llama", func(o *tinymodel.Options) { o.QKVBias, o.OutputBias, o.MLPBias = true, true, true }, nil,
		0},
	{"experts", "llama", func(o *tinymodel.Options) { o.Experts, o.ExpertsUsed = 5, 2 }, nil, 0},
	{"experts that are not normalized", "llama",
		func(o *tinymodel.Options) { o.Experts, o.ExpertsUsed, o.ExpertFF = 5, 3, 32 },
		map[string]any{"llama.expert_weights_norm": false}, 0},
	{"heads of each block", "llama", func(o *tinymodel.Options) {
		o.BlockHeads, o.BlockKVHeads, o.Layers = []int{4, 6, 2}, []int{2, 3, 2}, 3
	}, nil, 0},
	{"KV heads of each block", "llama", func(o *tinymodel.Options) { o.BlockKVHeads, o.HeadDim = []int{1, 4}, 24 }, nil,
		0},
	{"a window that it does not know", "llama", func(o *tinymodel.Options) { o.Window = 6 }, nil, 0},
	{"blocks of 8 bits", "qwen3", func(o *tinymodel.Options) { o.Format = gguf.Q8_0 }, nil, 0},
	{"blocks of 4 bits", "qwen3moe", func(o *tinymodel.Options) { o.Format = gguf.Q4_0 }, nil, 0},
	{"q, k and v with biases", "qwen3", func(o *tinymodel.Options) { o.QKVBias = true }, nil, 0},
	{"yarn", "qwen3", func(o *tinymodel.Options) { o.RopeScaling, o.RopeFactor, o.OrigCtx = "yarn", 4, 128 }, nil, 0},
	{"heads of each block", "qwen3", func(o *tinymodel.Options) { o.BlockHeads = []int{2, 6} }, nil, 0},
	{"caps that no key gives", "gemma2", func(o *tinymodel.Options) { o.AttnSoftcap, o.FinalSoftcap = 0, 0 }, nil, 0},
	{"no caps", "gemma2", func(o *tinymodel.Options) { o.AttnSoftcap, o.FinalSoftcap = 0, 0 },
		map[string]any{"gemma2.attn_logit_softcapping": float32(0), "gemma2.final_logit_softcapping": float32(0)}, 0},
	{"no scaling", "gemma3", func(o *tinymodel.Options) {
		o.RopeScaling, o.RopeFactor, o.Layers, o.Windowed = "", 0, 2, []bool{false, true}
	}, nil, 0},
	{"no window", "gemma3", func(o *tinymodel.Options) { o.Window, o.Layers = 0, 2 }, nil, 0},
	{"short factors", "phi3", longPhi, phiGain, 64},
	{"long factors", "phi3", longPhi, phiGain, 65},
	{"window", "phi3", func(o *tinymodel.Options) { o.Window = 7 }, nil, 0},
	{"biases", "phi3", func(o *tinymodel.Options) { o.QKVBias, o.MLPBias = true, true }, nil, 0},
	{"without rope", "granite", func(o *tinymodel.Options) { o.NoRope = true }, nil, 0},
	{"biases", "granite", func(o *tinymodel.Options) { o.OutputBias, o.MLPBias = true, true }, nil, 0},
	{"window", "olmo2", func(o *tinymodel.Options) { o.Window = 5 }, nil, 0},
	{"window and yarn", "olmo2", func(o *tinymodel.Options) {
		o.Window, o.RopeScaling, o.RopeFactor, o.OrigCtx = 5, "yarn", 8, 64
	}, nil, 0},
	{"no window", "gpt-oss", func(o *tinymodel.Options) { o.Window, o.RopeScaling, o.RopeFactor = 0, "", 0 }, nil, 0},
	{"no window", "exaone4", func(o *tinymodel.Options) { o.Window, o.Layers = 0, 4 }, nil, 0},
	{"tied, with factors", "exaone4", func(o *tinymodel.Options) {
		o.TiedOutput, o.RopeFreqs, o.Layers = true, true, 4
	}, nil, 0},
	{"a pattern of the file", "exaone4",
		func(o *tinymodel.Options) { o.Windowed = []bool{true, false, true, true, false} }, nil, 0},
	{"halves", "starcoder2", func(o *tinymodel.Options) { o.Vectors, o.Format = gguf.F16, gguf.BF16 }, nil, 0},
	{"bfloats", "gpt-oss", func(o *tinymodel.Options) { o.Vectors, o.Format = gguf.BF16, gguf.Q4_0 }, nil, 0},
	{"bfloats", "gemma3", func(o *tinymodel.Options) {
		o.Vectors, o.Layers, o.Windowed = gguf.BF16, 2, []bool{true, false}
	}, nil, 0},
}

// patterned are the architectures whose blocks differ by more than the parity of their number.
var patterned = map[string]bool{"gemma3": true, "olmo2": true, "smollm3": true, "exaone4": true}

func longPhi(o *tinymodel.Options) { o.LongFactors, o.OrigCtx, o.RopeScaling = true, 64, "longrope" }

var phiGain = map[string]any{"phi3.rope.scaling.attn_factor": float32(1.19)}

// write writes the model and returns its path.
func (c tinyCase) write(t *testing.T) string {
	t.Helper()
	o := tinymodel.For(c.arch)
	// A software adapter takes its time for every dispatch, and for weights in blocks.
	o.Format, o.Vocab = gguf.F16, 96
	if !patterned[c.arch] {
		o.Layers = 2
	}
	if c.change != nil {
		c.change(&o)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tinymodel.Write(f, o); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if c.set != nil {
		path = changed(t, path, c.set, nil, nil)
	}
	return path
}

// TestTinyModels compares a model of every architecture, and of what varies within one, with a pass in float64: every
// norm, the streams and the logits, in one batch and in chunks. Then it checks every op.
func TestTinyModels(t *testing.T) {
	if got, want := tinymodel.Archs(), layers.Archs(); !slices.Equal(got, want) {
		t.Errorf("the generator knows %v, the engine %v", got, want)
	}
	cases := slices.Clone(tinyCases)
	for _, arch := range layers.Archs() {
		cases = append(cases, tinyCase{name: "plain", arch: arch})
	}
	models := make([]tinyModel, len(cases))
	for i, c := range cases {
		models[i] = c.make(t)
	}
	eachDevice(t, func(t *testing.T, device string) {
		be, err := engine.OpenDevice(engine.Options{Device: device})
		if err != nil {
			t.Fatal(err)
		}
		defer be.Close()
		for i, m := range models {
			t.Run(m.name, func(t *testing.T) {
				for _, ubatch := range []int{7, tinyTokens} {
					if device == "gpu" && !full() && ubatch == 7 && i%2 != 0 {
						continue
					}
					e := m.engine(t, be, ubatch)
					got, err := e.Capture(ctx, m.tokens, everySite)
					if err != nil {
						t.Fatal(err)
					}
					m.compare(t, got.Trace, e.NormSites())
					if ubatch == tinyTokens {
						checkEveryOp(t, e, got.Trace, m.tokens)
					}
				}
			})
		}
	})
}

// lent is a backend that outlives the engines which run on it, so that kernels are compiled once.
type lent struct{ backend.Backend }

func (lent) Close() {}

// tinyModel is a model that was made, with what is expected of it.
type tinyModel struct {
	*reference
	name   string
	path   string
	tokens []int32
}

func (c tinyCase) make(t *testing.T) tinyModel {
	t.Helper()
	m := tinyModel{name: c.arch + "/" + c.name, path: c.write(t)}
	m.reference = newReference(t, openFile(t, m.path), max(c.ctx, tinyTokens))
	m.tokens = engine.DefaultTokens(m.int("vocab_size", 0), tinyTokens)
	m.run(m.tokens)
	return m
}

func (m tinyModel) engine(t *testing.T, be backend.Backend, ubatch int) *engine.Engine {
	t.Helper()
	f, err := gguf.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(f, lent{be}, engine.Options{UBatch: ubatch, Ctx: m.ctx})
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// compare compares every site that the reference knows, among them all norms.
func (r *reference) compare(t *testing.T, got *trace.Trace, norms []layers.NormSite) {
	t.Helper()
	for _, n := range norms {
		if r.sites[n.Site] == nil {
			t.Errorf("the reference has no norm %s", n.Site)
		}
	}
	worst := 0.0
	for site, want := range r.sites {
		data, _, _, ok := got.Data(site)
		if !ok || len(data) != len(want) {
			t.Errorf("%s: %d values, want %d", site, len(data), len(want))
			continue
		}
		var diff, size float64
		for i, w := range want {
			diff += (float64(data[i]) - w) * (float64(data[i]) - w)
			size += w * w
		}
		if !(diff/size <= goldenNMSE) {
			t.Errorf("%s: NMSE %.3g, limit %g", site, diff/size, goldenNMSE)
		}
		worst = max(worst, diff/size)
	}
	t.Logf("%d sites, largest NMSE %.2g", len(r.sites), worst)
}

// checkEveryOp checks every op, and that there is none beside: each site that a run offers is the output of a norm or
// op that was checked, or the stream of a norm.
func checkEveryOp(t *testing.T, e *engine.Engine, offered *trace.Trace, tokens []int32) {
	t.Helper()
	r, err := e.CheckOps(ctx, tokens, engine.DriftOn, engine.OpFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != check.Pass || r.Missed != 0 || r.Drift != "" {
		t.Errorf("%v, %d unmeasured %s, first fault %+v", r.Verdict, r.Missed, r.Drift, r.First)
	}
	checked := map[string]bool{"logits": true} // of which result_output is the last part
	for _, s := range r.Sites {
		checked[s.Site] = true
		if s.Norm.Verdict != check.Pass || s.Weights.Verdict != check.Pass || s.Drift.Verdict != check.Pass {
			t.Errorf("%s: norm %v, weights %v, drift %v", s.Site, s.Norm.Verdict, s.Weights.Verdict, s.Drift.Verdict)
		}
	}
	for _, op := range r.Ops {
		checked[op.Site] = true
		if op.Local.Verdict != check.Pass || op.Drift.Verdict != check.Pass {
			t.Errorf("%s: local %v, drift %v", op.Site, op.Local.Verdict, op.Drift.Verdict)
		}
	}
	for _, n := range e.NormSites() {
		checked[n.Stream] = true
		if n.Bias != "" {
			checked[n.Delta] = true
			checked[strings.Replace(n.Delta, "attn_proj", "attn_out", 1)] = true // with the bias that the norm adds
		}
	}
	for _, site := range offered.Sites() {
		if !checked[site] {
			t.Errorf("%s was not checked", site)
		}
	}
}
