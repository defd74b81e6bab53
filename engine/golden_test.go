package engine_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/engine"
	"cera/trace"
)

// goldenNMSE is the project's target against llama.cpp, which computes in float32 in another order.
const goldenNMSE = 1e-10

// TestGolden compares every site of the llama variants with what llama.cpp computed.
func TestGolden(t *testing.T) {
	variants := []string{"llama", "llama3-ropefreqs", "llama-obias", "llama-mqa-hd24", "llama-odd"}
	for _, v := range variants {
		t.Run("committed/"+v, func(t *testing.T) {
			golden(t, filepath.Join("../testdata/archs", v+".gguf"), filepath.Join("../testdata/golden", v+".npz"))
		})
		t.Run("shared/"+v, func(t *testing.T) {
			golden(t, shared(t, "models/archs/"+v+".gguf"), shared(t, "golden/llamacpp/"+v+".npz"))
		})
	}
	t.Run("stories260K", func(t *testing.T) {
		golden(t, shared(t, "models/trained/stories260K.gguf"), shared(t, "golden/llamacpp/stories260K.npz"))
	})
}

func golden(t *testing.T, model, npz string) {
	want := readTrace(t, npz)
	eachDevice(t, func(t *testing.T, device string) {
		for _, norms := range []string{"auto", "batch", "arena"} {
			n, err := engine.ParseNorms(norms)
			if err != nil {
				t.Fatal(err)
			}
			e := open(t, model, engine.Options{Device: device, Norms: n})
			got, err := e.Capture(ctx, want.Tokens, everySite)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s norms: largest NMSE %.2g", norms, sameTrace(t, got.Trace, want, goldenNMSE))
		}
	})
}

// float64Reference is a forward pass in float64 on the original checkpoint.
type float64Reference struct {
	Prompt   []int32   `json:"prompt_ids"`
	Logits   []float64 `json:"logits_after_prompt"`
	Greedy   []int32   `json:"greedy_ids"`
	LogitsAt []struct {
		Pos    int       `json:"pos"`
		Logits []float64 `json:"logits"`
	} `json:"logits_at"`
}

// TestFloat64 compares logits, and 200 greedy tokens, with a float64 pass of the original checkpoint.
func TestFloat64(t *testing.T) {
	model := shared(t, "models/trained/stories260K.gguf")
	raw, err := os.ReadFile(shared(t, "golden/reference/stories260K-f64.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ref float64Reference
	if err := json.Unmarshal(raw, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Greedy) != 200 || len(ref.LogitsAt) == 0 {
		t.Fatalf("the reference has %d greedy ids and logits at %d positions", len(ref.Greedy), len(ref.LogitsAt))
	}
	near := func(t *testing.T, pos int, got []float32, want []float64) {
		t.Helper()
		var worst float64
		for i, w := range want {
			worst = math.Max(worst, math.Abs(float64(got[i])-w))
		}
		if !(worst <= 2e-5) || len(got) != len(want) {
			t.Errorf("logits at %d: off by %.3g, limit 2e-5", pos, worst)
		}
	}
	eachDevice(t, func(t *testing.T, device string) {
		e := open(t, model, engine.Options{Device: device})
		greedy, err := e.Greedy(ctx, ref.Prompt, len(ref.Greedy))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(greedy, ref.Greedy) {
			t.Errorf("greedy ids\n got %v\nwant %v", greedy, ref.Greedy)
		}
		tokens := append(slices.Clone(ref.Prompt), ref.Greedy...)
		e.Reset()
		logits, err := e.Logits(ctx, tokens)
		if err != nil {
			t.Fatal(err)
		}
		vocab := len(ref.Logits)
		row := func(pos int) []float32 { return logits[pos*vocab : (pos+1)*vocab] }
		near(t, len(ref.Prompt)-1, row(len(ref.Prompt)-1), ref.Logits)
		for _, at := range ref.LogitsAt {
			near(t, at.Pos, row(at.Pos), at.Logits)
		}
	})
}

// TestQuantized runs every quantized file on both backends: they decode the same values.
func TestQuantized(t *testing.T) {
	needDevice(t, "gpu")
	dir := shared(t, "models/quantized")
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in %s: %v", dir, err)
	}
	tokens := readTrace(t, shared(t, "golden/llamacpp/stories260K.npz")).Tokens
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if strings.Contains(file, "IQ4_NL") {
				// The one format there that is not among those of this version: refused by name.
				_, err := engine.Open(file, engine.Options{Device: "cpu"})
				if err == nil || !strings.Contains(err.Error(), "IQ4_NL") {
					t.Errorf("want an error that names the format, got %v", err)
				}
				return
			}
			traces := map[string]*trace.Trace{}
			for _, device := range []string{"cpu", "gpu"} {
				got, err := open(t, file, engine.Options{Device: device}).Capture(ctx, tokens, everySite)
				if err != nil {
					t.Fatal(err)
				}
				traces[device] = got.Trace
			}
			t.Logf("largest NMSE %.2g", sameTrace(t, traces["gpu"], traces["cpu"], goldenNMSE))
		})
	}
}
