package engine_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"cera/engine"
	"cera/gpu"
)

// TestGoldenLimits runs models on devices that have no more than WebGPU promises, and less: the numbers are
// llama.cpp's, or the limit is named.
func TestGoldenLimits(t *testing.T) {
	needDevice(t, "gpu")
	for _, c := range []struct {
		limits string
		models []string
		refuse string
	}{
		{"default", []string{"llama", "llama-odd", "mixtral", "gemma3", "gpt-oss", "phi3", "stablelm"}, ""},
		{"default,threads=128,binding=67108864", []string{"llama", "llama-odd", "qwen3moe"}, ""},
		{"default,threads=64,binding=67108864,buffer=67108864", []string{"llama", "mixtral", "stablelm", "gpt-oss"},
			""},
		{"binding=8192,buffer=8192", []string{"llama", "mixtral", "qwen2"}, ""},
		{"default,buffers=4", []string{"llama"}, "maxStorageBuffersPerShaderStage"},
		{"binding=256", []string{"llama"}, "maxStorageBufferBindingSize"},
		{"storage=256", []string{"llama"}, "maxComputeWorkgroupStorageSize"},
	} {
		t.Run(c.limits, func(t *testing.T) {
			t.Setenv("CERA_LIMITS", c.limits)
			for _, model := range c.models {
				want := readTrace(t, filepath.Join("../testdata/golden", model+".npz"))
				var got *engine.Captured
				// A short context, so that no tensor but the embedding and the output is larger than a tiny binding.
				e, err := engine.Open(filepath.Join("../testdata/archs", model+".gguf"),
					engine.Options{Device: "gpu", Ctx: 16, UBatch: 12})
				if err == nil {
					got, err = e.Capture(ctx, want.Tokens, everySite)
					e.Close()
				}
				if c.refuse != "" {
					var device *engine.DeviceError
					var limit *gpu.LimitError
					if !errors.As(err, &device) || !errors.As(err, &limit) || !strings.Contains(err.Error(), c.refuse) {
						t.Errorf("%s: found %v, expected a device's error that names %s", model, err, c.refuse)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", model, err)
					continue
				}
				limit := goldenNMSE
				if model == "gemma3" {
					limit = geluNMSE
				}
				t.Logf("%s: largest NMSE %.2g", model, sameTrace(t, got.Trace, want, within(limit)))
			}
		})
	}
}
