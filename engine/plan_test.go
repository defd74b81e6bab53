package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/engine"
	"cera/gguf"
	"cera/gpu"
	"cera/layers"
)

// TestPlan compares plans with what the device then holds, byte by byte: matrices, norms, caches and activations are
// exact, and the device's own working memory is within its bound after prefill and decoding.
func TestPlan(t *testing.T) {
	needDevice(t, "gpu")
	type run struct {
		model string
		o     engine.Options
	}
	var runs []run
	for _, model := range []string{"llama", "llama-odd", "mixtral", "qwen3moe", "gemma3", "gpt-oss", "phi3", "stablelm",
		"llama3-ropefreqs"} {
		runs = append(runs,
			run{model, engine.Options{}},
			run{model, engine.Options{UBatch: 7, Ctx: 50, KV: backend.F16}},
			run{model, engine.Options{UBatch: 512, Ctx: 13}})
	}
	runs = append(runs, run{"llama", engine.Options{Norms: layers.NormsArena, UBatch: 9}})
	for _, r := range runs {
		t.Run(fmt.Sprintf("%s, %d of %d, %v", r.model, r.o.UBatch, r.o.Ctx, r.o.KV), func(t *testing.T) {
			planned(t, filepath.Join("../testdata/archs", r.model+".gguf"), r.o)
		})
	}
	for _, model := range []string{"Q4_0", "Q8_0", "Q4_K"} {
		t.Run(model, func(t *testing.T) {
			files, err := filepath.Glob(shared(t, "models/quantized") + "/*" + model + "*.gguf")
			if err != nil || len(files) == 0 {
				t.Skipf("SKIPPED: no model in %s", model)
			}
			planned(t, files[0], engine.Options{UBatch: 64, Ctx: 300})
			planned(t, files[0], engine.Options{Ctx: 1000, KV: backend.F16})
		})
	}
}

func planned(t *testing.T, path string, o engine.Options) {
	t.Helper()
	o.Device = "gpu"
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.NewPlan(f, o)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	be, err := gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		t.Fatal(err)
	}
	if f, err = gguf.Open(path); err != nil {
		t.Fatal(err)
	}
	var most int64 // while it is loaded
	o.Progress = func(string, int64, int64) { most = max(most, be.Memory().Total()) }
	e, err := engine.New(f, be, o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if most == 0 || most > p.Loading {
		t.Errorf("the device held %d bytes while the model was loaded, the plan's bound is %d", most, p.Loading)
	}
	tokens := engine.DefaultTokens(e.Config().Vocab, 9)
	if _, err := e.Greedy(ctx, tokens, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Logits(ctx, tokens[:1]); err != nil && !strings.Contains(err.Error(), "context") {
		t.Fatal(err)
	}
	m := be.Memory()
	if m.Weights+m.Tensors != p.Weights+p.KV+p.Activations {
		t.Errorf("the device holds %d bytes of weights and %d of tensors, %d in all; planned were %d + %d + %d = %d",
			m.Weights, m.Tensors, m.Weights+m.Tensors, p.Weights, p.KV, p.Activations, p.Weights+p.KV+p.Activations)
	}
	if m.Working > p.Working || m.Working == 0 {
		t.Errorf("%d bytes of working memory, the plan's bound is %d", m.Working, p.Working)
	}
	if p.Total != p.Weights+p.KV+p.Activations+p.Working || !p.Fits || p.Need() < m.Total() {
		t.Errorf("plan %+v, the device has %d", p, m.Total())
	}
}

// TestPlanOnCPU plans without a GPU: weights are as in the file, and there is no working memory.
func TestPlanOnCPU(t *testing.T) {
	f, err := gguf.Open("../testdata/archs/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := engine.NewPlan(f, engine.Options{Device: "cpu", Ctx: 100, GPUMemory: 1})
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, ts := range f.Tensors {
		size += int64(ts.Size) // all F32
	}
	if p.Weights != size || p.Working != 0 || p.Loading != size || !p.Fits || p.Budget != 0 {
		t.Errorf("found %+v, expected %d bytes of weights and no budget", p, size)
	}
}

// TestBudget refuses what does not fit before anything is uploaded, and what it says would fit does.
func TestBudget(t *testing.T) {
	needDevice(t, "gpu")
	const path = "../testdata/archs/llama.gguf"
	o := engine.Options{Device: "gpu", Ctx: 4096, UBatch: 16}
	all := planOf(t, path, o)
	o.GPUMemory = all.Need()
	open(t, path, o)

	o.GPUMemory--
	o.Progress = func(string, int64, int64) { t.Error("something was uploaded") }
	_, err := engine.Open(path, o)
	var device *engine.DeviceError
	var memory *engine.MemoryError
	if !errors.As(err, &device) || !errors.As(err, &memory) {
		t.Fatalf("found %v, expected a device's MemoryError", err)
	}
	o.Progress = nil
	text := err.Error()
	for _, want := range []string{path, "needs", "the budget is", "--ctx ", "--kv f16", "--device cpu"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	// The context that is named fits, and one more does not.
	_, after, _ := strings.Cut(text, "--ctx ")
	var longest int
	if _, err := fmt.Sscan(strings.TrimRight(strings.Fields(after)[0], ","), &longest); err != nil || longest < 1 ||
		longest >= o.Ctx {
		t.Fatalf("%q: context %d, %v", text, longest, err)
	}
	o.Ctx = longest
	open(t, path, o)
	o.Ctx++
	if p := planOf(t, path, o); p.Fits {
		t.Errorf("a context of %d fits too", o.Ctx)
	}
	o.Ctx, o.KV = 4096, backend.F16
	if p := planOf(t, path, o); !p.Fits {
		t.Errorf("a cache of halves does not fit: %+v", p)
	}
	// Where not even the weights fit, smaller ones are named.
	o = engine.Options{Device: "gpu", Ctx: 8, UBatch: 8}
	small := planOf(t, path, o)
	o.GPUMemory = small.Total - small.Weights*2/5
	p := planOf(t, path, o)
	if text := strings.Join(p.Advice, "; "); p.Fits || !strings.Contains(text, "weights in F16") ||
		strings.Contains(text, "--ctx") {
		t.Errorf("advice %q", text)
	}
	if data, err := json.Marshal(p); err != nil || !strings.Contains(string(data), `"schema":"cera-plan-1"`) {
		t.Errorf("found %s, %v", data, err)
	}
}

// TestPlanNamesTheLimit refuses a cache larger than a binding before anything is uploaded.
func TestPlanNamesTheLimit(t *testing.T) {
	needDevice(t, "gpu")
	t.Setenv("CERA_LIMITS", "binding=65536")
	_, err := engine.Open("../testdata/archs/llama.gguf",
		engine.Options{Device: "gpu", Ctx: 4096, UBatch: 16, Progress: func(string, int64, int64) {
			t.Error("something was uploaded")
		}})
	var limit *gpu.LimitError
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "cache") || limit.Have != 65536 {
		t.Errorf("found %v, expected that the cache is larger than a binding", err)
	}
}

func planOf(t *testing.T, path string, o engine.Options) *engine.Plan {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := engine.NewPlan(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1536: "1.50 KiB", 15 << 10: "15.0 KiB", 150 << 20: "150 MiB",
		7 << 30: "7.00 GiB",
		10238:   "10.0 KiB", 10234: "9.99 KiB", 102390: "100 KiB", 102340: "99.9 KiB", math.MaxInt64: "8388608 TiB",
	} {
		if got := engine.Size(bytes); got != want {
			t.Errorf("%d: found %q, expected %q", bytes, got, want)
		}
	}
}
