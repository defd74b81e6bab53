package engine_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/cpu"
	"cera/engine"
	"cera/gguf"
)

var tiny = filepath.Join("../testdata/archs", "llama-mqa-hd24.gguf")

// TestChunks runs the same tokens in one batch, in chunks of 7, and token by token.
func TestChunks(t *testing.T) {
	tokens := engine.DefaultTokens(64, 40)
	eachDevice(t, func(t *testing.T, device string) {
		for _, norms := range []string{"batch", "arena"} {
			n, _ := engine.ParseNorms(norms)
			whole, err := open(t, tiny, engine.Options{Device: device, Norms: n}).Capture(ctx, tokens, everySite)
			if err != nil {
				t.Fatal(err)
			}
			for _, ubatch := range []int{7, 1} {
				e := open(t, tiny, engine.Options{Device: device, Norms: n, UBatch: ubatch})
				got, err := e.Capture(ctx, tokens, everySite)
				if err != nil {
					t.Fatal(err)
				}
				worst := sameTrace(t, got.Trace, whole.Trace, within(1e-12))
				t.Logf("%s norms, chunks of %d: largest NMSE %.2g", norms, ubatch, worst)
				if device == "cpu" && worst != 0 {
					t.Errorf("%s norms, chunks of %d: the cpu's sums do not depend on the batch, yet NMSE is %g", norms,
						ubatch, worst)
				}
			}
		}
	})
}

// TestProbes holds the promise that a probe changes nothing, and that a run can be repeated bit for bit.
func TestProbes(t *testing.T) {
	tokens := engine.DefaultTokens(64, 33)
	eachDevice(t, func(t *testing.T, device string) {
		for _, norms := range []string{"batch", "arena"} {
			n, _ := engine.ParseNorms(norms)
			e := open(t, tiny, engine.Options{Device: device, Norms: n})
			plain, err := e.Logits(ctx, tokens)
			if err != nil {
				t.Fatal(err)
			}
			for run := range 3 {
				got, err := e.Capture(ctx, tokens, everySite)
				if err != nil {
					t.Fatal(err)
				}
				probed, _, _, _ := got.Trace.Data("logits")
				e.Reset()
				again, err := e.Logits(ctx, tokens)
				if err != nil {
					t.Fatal(err)
				}
				for i := range plain {
					if math.Float32bits(plain[i]) != math.Float32bits(probed[i]) ||
						math.Float32bits(plain[i]) != math.Float32bits(again[i]) {
						t.Fatalf("%s norms, run %d, logit %d: %g without probes, %g with, %g again", norms, run, i,
							plain[i], probed[i], again[i])
					}
				}
			}
		}
	})
}

// TestSequence continues a sequence with Eval and finds the limits of the context.
func TestSequence(t *testing.T) {
	tokens := engine.DefaultTokens(64, 12)
	e := open(t, tiny, engine.Options{Device: "cpu", Ctx: 12})
	all, err := e.Logits(ctx, tokens)
	if err != nil {
		t.Fatal(err)
	}
	e.Reset()
	if _, err := e.Eval(ctx, tokens[:5]); err != nil {
		t.Fatal(err)
	}
	last, err := e.Eval(ctx, tokens[5:])
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range last {
		if v != all[11*len(last)+i] {
			t.Fatalf("logit %d after a continued sequence is %g, want %g", i, v, all[11*len(last)+i])
		}
	}
	for _, c := range []struct {
		name   string
		tokens []int32
		reset  bool
		want   string
	}{
		{"full", []int32{1}, false, "context of 12"},
		{"too long", make([]int32, 13), true, "context of 12"},
		{"no tokens", nil, true, "no tokens"},
		{"id too large", []int32{64}, true, "vocabulary of 64"},
		{"negative id", []int32{-1}, true, "vocabulary of 64"},
	} {
		if c.reset {
			e.Reset()
		}
		if _, err := e.Eval(ctx, c.tokens); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Eval(cancelled, tokens); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

// TestCheckPaths: the paths of every llama variant agree, with both norm kernels, and the engine's own sequence stays.
func TestCheckPaths(t *testing.T) {
	tokens := engine.DefaultTokens(64, 16)
	eachDevice(t, func(t *testing.T, device string) {
		for _, v := range []string{"llama", "llama-obias", "llama-odd", "llama-mqa-hd24", "llama3-ropefreqs"} {
			for _, norms := range []string{"batch", "arena"} {
				n, _ := engine.ParseNorms(norms)
				e := open(t, "../testdata/archs/"+v+".gguf", engine.Options{Device: device, Norms: n})
				before, err := e.Eval(ctx, tokens[:5])
				if err != nil {
					t.Fatal(err)
				}
				r, err := e.CheckPaths(ctx, tokens, engine.DriftOn, 0)
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != check.Pass || len(r.Paths) != 3 || r.Paths[1].UBatch != 7 {
					t.Errorf("%s, %s norms: %s, first %+v, paths %+v", v, norms, r.Verdict, r.First, r.Paths)
				}
				if want := 2 + 6*e.Config().Layers; len(r.Sites) != want {
					t.Errorf("%s, %s norms: %d sites were compared, want %d", v, norms, len(r.Sites), want)
				}
				if e.Pos() != 5 {
					t.Errorf("the sequence has %d tokens after the check, want 5", e.Pos())
				}
				after, err := e.Eval(ctx, tokens[5:6])
				if err != nil {
					t.Fatal(err)
				}
				e.Reset()
				want, err := e.Logits(ctx, tokens[:6])
				if err != nil {
					t.Fatal(err)
				}
				// The one was decoded, the other came in a batch: not bit for bit.
				if d := nmse(after, want[5*len(before):]); !(d < 1e-10) {
					t.Errorf("%s: the sequence went on with NMSE %g: its cache was overwritten", v, d)
				}
			}
		}
	})
}

// decodeFault is a backend whose decode path, batches of one token, goes wrong in one way.
type decodeFault struct {
	backend.Backend
	how string
}

func (d *decodeFault) StoreKV(c backend.KV, k, v, pos backend.Tensor) {
	if d.how == "stale cache slot" && k.Rows == 1 {
		at := make([]float32, 1)
		if err := d.Read(at, pos); err != nil {
			panic(err)
		}
		if math.Float32bits(at[0]) == 2 {
			return
		}
	}
	d.Backend.StoreKV(c, k, v, pos)
}

func (d *decodeFault) Attention(dst, q backend.Tensor, c backend.KV, pos backend.Tensor, p backend.Attention) {
	if d.how == "attention scale" && dst.Rows == 1 {
		p.Scale *= 1.02
	}
	d.Backend.Attention(dst, q, c, pos, p)
}

func (d *decodeFault) RoPE(x, pos, table backend.Tensor, p backend.RoPE) {
	if d.how == "position 0" && x.Rows == 1 {
		zero := d.Alloc("position 0", 1, 1)
		d.UploadU32(zero, []uint32{0})
		pos = zero
	}
	d.Backend.RoPE(x, pos, table, p)
}

func (d *decodeFault) MatMul(dst, x backend.Tensor, w backend.Weight) {
	d.Backend.MatMul(dst, x, w)
	if d.how == "small chunks" && x.Rows == 5 {
		row := dst.Slice(4, 5)
		d.Backend.Copy(row, dst.Slice(0, 1)) // the last row of a batch of 5
	}
}

// MatMuls, RopeStoreKV and GatedMatMul are their parts, so that the fault reaches each.
func (d *decodeFault) MatMuls(dst []backend.Tensor, x backend.Tensor, w []backend.Weight) {
	backend.MatMulEach(d, dst, x, w)
}

func (d *decodeFault) RopeStoreKV(c backend.KV, q, k, v, pos, table backend.Tensor, p backend.RoPE) {
	backend.RopeThenStore(d, c, q, k, v, pos, table, p)
}

func (d *decodeFault) GatedMatMul(dst, gate, up, x backend.Tensor, wGate, wUp backend.Weight, act backend.Activation) {
	backend.MatMulThenAct(d, dst, gate, up, x, wGate, wUp, act)
}

// TestCheckPathsFaults: a fault of one path alone is found even without a reference run, and the path, the token and
// the op are named. Each norm is right in itself.
func TestCheckPathsFaults(t *testing.T) {
	for _, c := range []struct {
		how         string
		path, site  string
		token       int
		op          string // named on that path by the check of every op
		opSiteStart string
	}{
		{"attention scale", "token by token", "attn_out-0", 1, "attention", "kqv_out-0"},
		{"position 0", "token by token", "attn_out-0", 1, "rope of q", "Qcur_rope-0"},
		{"stale cache slot", "token by token", "attn_out-0", 2, "KV store of k", "cache_k-0"},
		{"small chunks", "chunks of 5", "attn_out-0", 4, "matmul attn_q", "Qcur-0"},
	} {
		t.Run(c.how, func(t *testing.T) {
			f, err := gguf.Open(tiny)
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(f, &decodeFault{Backend: cpu.New(), how: c.how}, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r, err := e.CheckPaths(ctx, engine.DefaultTokens(64, 12), engine.DriftOff, 5)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != check.Fail || r.First == nil || r.First.Path != c.path || r.First.Site != c.site ||
				r.First.Token != c.token {
				t.Fatalf("%s, first difference %+v, want %s of %q at token %d", r.Verdict, r.First, c.site, c.path,
					c.token)
			}
			for _, p := range r.Paths {
				switch first := p.Report.First; {
				case p.Name != c.path && first != nil:
					t.Errorf("%s: a fault on a path that is right: %+v", p.Name, first)
				case p.Name == c.path && (first == nil || first.Op != c.op || first.Site != c.opSiteStart):
					t.Errorf("%s: the op named is %+v, want %s at %s", p.Name, first, c.op, c.opSiteStart)
				}
				for _, s := range p.Report.Sites {
					if s.Verdict != check.Pass {
						t.Errorf("%s: the norm %s is %s", p.Name, s.Site, s.Verdict)
					}
				}
			}
		})
	}
}

// TestCheckPathsSizes: what is no path of its own is refused, and few tokens have fewer paths.
func TestCheckPathsSizes(t *testing.T) {
	e := open(t, tiny, engine.Options{Device: "cpu", Ctx: 20})
	for _, c := range []struct {
		tokens, chunk int
		paths         []int
		want          string
	}{
		{2, 0, []int{2, 1}, ""},
		{3, 0, []int{3, 2, 1}, ""},
		{7, 0, []int{7, 4, 1}, ""},
		{20, 0, []int{20, 7, 1}, ""},
		{20, 19, []int{20, 19, 1}, ""},
		{0, 0, nil, "0 tokens"},
		{1, 0, nil, "at least 2"},
		{12, 12, nil, "expected 2 to 11"},
		{12, 1, nil, "expected 2 to 11"},
		{12, -1, nil, "expected 2 to 11"},
		{21, 0, nil, "context of 20"},
	} {
		r, err := e.CheckPaths(ctx, engine.DefaultTokens(64, c.tokens), engine.DriftOff, c.chunk)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d tokens in chunks of %d: error %v, want one with %q", c.tokens, c.chunk, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range r.Paths {
			got = append(got, p.UBatch)
		}
		if !slices.Equal(got, c.paths) || r.Verdict != check.Pass {
			t.Errorf("%d tokens in chunks of %d: paths %v, want %v; %s", c.tokens, c.chunk, got, c.paths, r.Verdict)
		}
	}
	if _, err := e.CheckPaths(ctx, []int32{1, 99}, engine.DriftOff, 0); err == nil ||
		!strings.Contains(err.Error(), "vocabulary of 64") {
		t.Errorf("an id that is not in the vocabulary: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.CheckPaths(cancelled, engine.DefaultTokens(64, 4), engine.DriftOff, 0); !errors.Is(err,
		context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}
