package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cera/engine"
	"cera/gguf"
	"cera/gpu"
)

// TestOpenCancel ends a load in the middle: the error is the context's and no device's, and nothing stays on the device.
func TestOpenCancel(t *testing.T) {
	const path = "../testdata/archs/llama.gguf"
	canceled := func(t *testing.T, open func(ctx context.Context, o engine.Options) (*engine.Engine, error)) {
		t.Helper()
		all := 0
		o := engine.Options{Ctx: 32, Progress: func(string, int64, int64) { all++ }}
		e, err := open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		e.Close()
		for _, after := range []int{0, 1, all / 2, all} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := 0
			o.Progress = func(string, int64, int64) {
				if seen++; seen == after {
					cancel()
				}
			}
			if after == 0 {
				cancel()
			}
			e, err := open(ctx, o)
			if after == all { // there is nothing left to stop
				if err != nil {
					t.Fatalf("canceled after all tensors: %v", err)
				}
				e.Close()
				continue
			}
			var device *engine.DeviceError
			if !errors.Is(err, context.Canceled) || errors.As(err, &device) || !strings.Contains(err.Error(), path) {
				t.Fatalf("canceled after %d of %d tensors: found %v", after, all, err)
			}
			if seen != after {
				t.Errorf("%d tensors were loaded, expected %d", seen, after)
			}
		}
	}
	eachDevice(t, func(t *testing.T, device string) {
		canceled(t, func(ctx context.Context, o engine.Options) (*engine.Engine, error) {
			o.Device = device
			return engine.OpenContext(ctx, path, o)
		})
	})
	t.Run("what stays", func(t *testing.T) {
		needDevice(t, "gpu")
		canceled(t, func(ctx context.Context, o engine.Options) (*engine.Engine, error) {
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			be, err := gpu.Open(gpu.Options{Adapter: -1, AllowSoftware: true})
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.NewContext(ctx, f, be, o)
			if err == nil {
				return e, nil
			}
			if m := be.Memory(); m.Total() != 0 {
				t.Errorf("still on the device: %+v", m)
			}
			be.Close()
			f.Close()
			return nil, err
		})
	})
}
