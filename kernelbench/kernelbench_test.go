package kernelbench

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cera/backend"
	"cera/cpu"
	"cera/gpu"
)

// tiny keeps a run short: what is tested is that every case runs, and that its numbers fit together.
func tiny() Options {
	return Options{
		Shapes:  []Shape{{Name: "tiny", Dim: 256, FF: 512, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 320}},
		MinTime: time.Millisecond, Samples: 3, NormRows: []int{1, 3}, Prompts: []int{16}, Depths: []int{5, 70},
	}
}

// devices are the cpu and, where there is one, the best adapter.
func devices(t *testing.T) []backend.Backend {
	t.Helper()
	list := []backend.Backend{cpu.New()}
	be, err := gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true})
	switch {
	case err == nil:
		list = append(list, be)
	case !errors.Is(err, gpu.ErrNoDevice) || os.Getenv("CERA_REQUIRE_GPU") != "":
		t.Fatal(err)
	default:
		t.Logf("SKIPPED, nothing was tested on the GPU: %v", err)
	}
	t.Cleanup(func() {
		for _, be := range list {
			be.Close()
		}
	})
	return list
}

func TestRun(t *testing.T) {
	for _, be := range devices(t) {
		t.Run(be.Info().Backend, func(t *testing.T) {
			o := tiny()
			o.Only = "tiny/*"
			if be.Info().Backend == "cpu" { // its passes are slow, and the cases the same
				o.Only = "tiny/[amr]*"
			}
			var names []string
			o.Progress = func(name string, i, n int) { names = append(names, name) }
			r, err := Run(context.Background(), be, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Kernels) != len(names)-1 {
				t.Errorf("%d results of %d cases", len(r.Kernels), len(names)-1)
			}
			seen := map[string]bool{}
			for _, k := range r.Kernels {
				key := k.Kernel + " " + k.Shape
				if seen[key] {
					t.Errorf("%s is there twice", key)
				}
				seen[key] = true
				checkResult(t, k)
			}
			for _, want := range []string{"add_rmsnorm_batch 3x256", "rmsnorm_batch 1x256", "matvec Q4_K 512x256", "matvec MXFP4 256x512", "matmul F16 16x512x256",
				"attention f16 1 at 70", "attention f32 16 at 16", "rope 16x256", "argmax 1x320"} {
				if !seen[want] {
					t.Errorf("%s is missing", want)
				}
			}
			if be.Info().Backend == "gpu" {
				for _, want := range []string{"elementwise pass 3x256", "fused_residual_rms_norm 3x256", "qkv Q8_0 512x256", "gate_up Q4_0 1024x256",
					"store_kv f16 16x128", "rope_store f16 16x512", "rope_store f32 1x512", "gated_act 1x512", "embed Q4_K 16x256", "layer_norm 3x256", "topk 40x320", "draw 1x40"} {
					if !seen[want] {
						t.Errorf("%s is missing", want)
					}
				}
			}
			c := r.Ceilings
			if len(c.Passes) < 4 || c.GBps <= 0 || len(c.Checks) == 0 || c.Steady != (c.Drift <= MaxDrift) {
				t.Errorf("ceilings %+v", c)
			}
			if (c.TFLOPs > 0) != (be.Info().Backend == "gpu") {
				t.Errorf("%g TFLOP/s", c.TFLOPs)
			}
		})
	}
}

// TestRunExperts: of a mixture every product runs, and none of a plain MLP.
func TestRunExperts(t *testing.T) {
	for _, be := range devices(t) {
		t.Run(be.Info().Backend, func(t *testing.T) {
			o := tiny()
			o.Shapes = []Shape{{Name: "mix", Dim: 256, FF: 512, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 320, Experts: 5, ExpertsUsed: 2}}
			o.Formats = []backend.Format{backend.Q8_0, backend.MXFP4}
			o.Only = "mix/[cegmr]*"
			r, err := Run(context.Background(), be, o)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, k := range r.Kernels {
				seen[k.Kernel+" "+k.Shape] = true
				checkResult(t, k)
				if strings.HasSuffix(k.Shape, "512x256") && !strings.HasPrefix(k.Kernel, "experts_up") || strings.HasPrefix(k.Kernel, "gate_up") {
					t.Errorf("%s %s: a mixture has no such product", k.Kernel, k.Shape)
				}
			}
			for _, want := range []string{
				"experts_up Q8_0 1x2of5x512x256", "experts_down Q8_0 1x2of5x256x512", "experts_up Q8_0 16x2of5x512x256",
				"experts_down Q8_0 16x2of5x256x512", "experts_up MXFP4 1x2of5x512x256", "route 16x2of5", "combine 1x2x256", "gated_act 32x512",
				"matmul Q8_0 16x256x256", "matvec Q8_0 320x256",
			} {
				if !seen[want] {
					t.Errorf("%s is missing", want)
				}
			}
		})
	}
}

// TestExpertLists: a token takes different experts, and in turn all of them.
func TestExpertLists(t *testing.T) {
	for _, s := range []ExpertShape{{Rows: 1, Used: 8, Experts: 128}, {Rows: 1, Used: 3, Experts: 5}, {Rows: 200, Used: 2, Experts: 8}, {Rows: 1, Used: 1, Experts: 1}} {
		had := map[uint32]bool{}
		for _, list := range s.lists() {
			if len(list) != s.slots() {
				t.Fatalf("%+v: %d slots, expected %d", s, len(list), s.slots())
			}
			for token := range slices.Chunk(list, s.Used) {
				one := map[uint32]bool{}
				for _, e := range token {
					had[e], one[e] = true, true
				}
				if len(one) != s.Used {
					t.Errorf("%+v: a token takes %v", s, token)
				}
			}
		}
		if len(had) != s.Experts || slices.Max(slices.Collect(maps.Keys(had))) != uint32(s.Experts-1) {
			t.Errorf("%+v: %d experts are used", s, len(had))
		}
	}
}

func checkResult(t *testing.T, k Result) {
	t.Helper()
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s %s: %s is %g, expected %g", k.Kernel, k.Shape, what, got, want)
		}
	}
	if k.Skipped != "" || len(k.Samples) != 3 || k.Least <= 0 || k.Least > k.Median || k.Median > k.Most || k.Bytes <= 0 {
		t.Errorf("%+v", k)
	}
	near("rate", k.GBps, k.Bytes/k.Median/1e3)
	near("rate", k.TFLOPs, k.Flops/k.Median/1e6)
	switch k.Bound {
	case "memory":
		near("share", k.Share*k.Ceiling, k.GBps)
	case "arithmetic":
		if k.Ceiling > 0 {
			near("share", k.Share*k.Ceiling, k.TFLOPs)
		}
	default:
		t.Errorf("%s %s: bound by %q", k.Kernel, k.Shape, k.Bound)
	}
}

// slow is a backend whose ops take a known time each.
type slow struct {
	backend.Backend
	op   time.Duration
	ops  int
	todo time.Duration
}

func (s *slow) run()         { s.ops++; s.todo += s.op }
func (s *slow) Flush() error { time.Sleep(s.todo); s.todo = 0; return nil }
func (s *slow) Record(f func()) func() {
	f()
	return f
}

func TestMeasure(t *testing.T) {
	s := &slow{op: 2 * time.Millisecond}
	m := &Meter{Backend: s, MinTime: 20 * time.Millisecond, Samples: 4}
	samples, err := m.Measure([]func(){s.run, s.run, s.run})
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 4 || slices.Min(samples) < 2000 || slices.Min(samples) > 4000 {
		t.Errorf("found %v us, expected 4 of about 2000", samples)
	}
	if s.ops < 4*9 { // a sample lasts long enough
		t.Errorf("%d ops ran", s.ops)
	}
}

func TestSkipped(t *testing.T) {
	be := devices(t)[0]
	m := &Meter{Backend: be, MinTime: time.Millisecond, Samples: 1}
	c := RMSNormCase(1<<21, 1<<20)
	c.Largest = be.Info().MaxBytes + 1
	r, err := m.result(c)
	if err != nil || r.Skipped == "" || r.Median != 0 {
		t.Errorf("found %+v, %v", r, err)
	}
	r.compare(&Ceilings{Passes: []Pass{{1, 1}}})
	if r.Share != 0 {
		t.Errorf("a case that did not run has a share of %g", r.Share)
	}
}

func TestPassTime(t *testing.T) {
	c := &Ceilings{Passes: []Pass{{100, 2}, {200, 3}, {400, 7}}}
	for bytes, want := range map[float64]float64{50: 2, 100: 2, 150: 2.5, 200: 3, 300: 5, 400: 7, 800: 14} {
		if got := c.passTime(bytes); got != want {
			t.Errorf("%g bytes: found %g us, expected %g", bytes, got, want)
		}
	}
	if got := new(Ceilings).passTime(1); got != 0 {
		t.Errorf("without passes: found %g us", got)
	}
}

func TestRejects(t *testing.T) {
	be := devices(t)[0]
	for glob, want := range map[string]string{"[": "no glob", "9B/*": "no kernel's name"} {
		o := tiny()
		o.Only = glob
		if _, err := Run(context.Background(), be, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: found %v, expected an error with %q", glob, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, be, tiny()); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that the run is cancelled", err)
	}
}

func TestMatches(t *testing.T) {
	c := MatMulCase(backend.Q4_0, 1, 512, 256)
	c.Model = "8B"
	for glob, want := range map[string]bool{
		"": true, "8B/matvec/Q4_0/512x256": true, "8B/*": true, "*matvec*": true, "*/Q4_?/*": true, "1B/*": false, "matvec": false,
	} {
		if c.matches(glob) != want {
			t.Errorf("%q takes %s: %v", glob, c.Name(), !want)
		}
	}
}

// TestCases: what a case must move and compute, by hand.
func TestCases(t *testing.T) {
	a := AttentionShape{Rows: 2, Positions: 7, Ctx: 16, Heads: 4, KV: 2, HeadDim: 8, Half: true}
	b := a
	b.Window = 3
	for _, tt := range []struct {
		c            *Case
		bytes, flops float64
	}{
		{PassCase(2, 8), 4 * 4 * 16, 0},
		{AddRMSNormCase(2, 8), 4*4*16 + 4*8, 0},
		{FusedNormCase(2, 8), 4*4*16 + 4*16, 0},
		{RMSNormCase(2, 8), 2*4*16 + 4*8, 0},
		{MatMulCase(backend.Q8_0, 1, 64, 32), 64*34 + 4*96, 2 * 64 * 32},
		{MatMulCase(backend.Q4_0, 3, 64, 32), 64*18 + 4*3*96, 2 * 3 * 64 * 32},
		{joinedCase(backend.F16, 32, 64, 16), 96*64 + 4*(96+32), 2 * 96 * 32},
		{gatedCase(backend.F16, 64, 32, backend.SiLU), 2*64*64 + 4*96, 4 * 64 * 32},
		{a.Case(), 7*2*16*2 + 2*4*2*32, 4 * 32 * (6 + 7)},
		{b.Case(), 4*2*16*2 + 2*4*2*32, 4 * 32 * (3 + 3)}, // positions 3, 4, 5 and 4, 5, 6
		{ropeStoreCase(3, Shape{Heads: 4, KVHeads: 2, HeadDim: 8}, true), 4 * (2*3*32 + 2*3*16 + 2*3*8 + 3*8), 0},
		{embedCase(backend.Q8_0, 3, 100, 64), 3 * (68 + 256), 0},
		{LayerNormCase(2, 8), 2*4*16 + 2*4*8, 0},
		{topKCase(Shape{Vocab: 1000}, 40), 4 * (1000 + 1 + 2*40), 0},
		{topKCase(Shape{Vocab: 30}, 40), 4 * (30 + 1 + 2*30), 0},
		{drawCase(40), 4 * (2*40 + 4 + 3), 0},
		{ExpertShape{Rows: 1, Used: 2, Experts: 4, M: 64, K: 32}.Case(backend.Q8_0), 2*64*34 + 4*(2*64+32+2), 2 * 2 * 64 * 32},
		{ExpertShape{Rows: 1, Used: 2, Experts: 4, M: 32, K: 64, Down: true}.Case(backend.Q4_0), 2*32*36 + 4*(2*32+2*64+2), 2 * 2 * 32 * 64},
		{ExpertShape{Rows: 50, Used: 3, Experts: 4, M: 8, K: 32}.Case(backend.F16), 4*8*64 + 4*(150*8+50*32+150), 2 * 150 * 8 * 32},
		{routeCase(3, Shape{Experts: 16, ExpertsUsed: 2}), 4 * 3 * (16 + 2*2), 0},
		{combineCase(3, Shape{Dim: 8, ExpertsUsed: 2}), 4 * (6*8 + 6 + 3*8), 0},
		{actCase(3, Shape{FF: 8, ExpertsUsed: 2}), 3 * 4 * 6 * 8, 0},
	} {
		if tt.c.Bytes != tt.bytes || tt.c.Flops != tt.flops {
			t.Errorf("%s: %g bytes and %g operations, expected %g and %g", tt.c.Name(), tt.c.Bytes, tt.c.Flops, tt.bytes, tt.flops)
		}
	}
}
