//go:build cgo

package gpu

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

// No kernel touches a word outside its tensors, in the whole suite: every guard is as it was, and no NaN of theirs got
// into a result.
func TestConformanceGuard(t *testing.T) {
	b := open(t, Options{Guard: true})
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return b })
	if b.guards.places < 1000 {
		t.Errorf("%d guards were looked at", b.guards.places)
	}
	t.Logf("%d guards looked at", b.guards.places)
}

// The same with every way to store weights and the kernels of attention that a shape does not choose.
func TestConformanceGuardVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		parts []string
	}{
		{"packed, tiled", Options{Pack: PackAlways, MatVecRows: -1},
			[]string{"Embed", "MatMul", "ExpertMatMul", "MatMuls", "GatedMatMul"}},
		{"packed", Options{Pack: PackAlways}, []string{"MatMul", "ExpertMatMul", "MatMuls", "GatedMatMul"}},
		{"split", Options{Pack: PackAlways, MaxBinding: 1 << 17}, []string{"Embed", "MatMul", "ExpertMatMul"}},
		{"general attention", Options{AttentionVariant: "general"}, []string{"Attention", "AttentionBatch"}},
		{"tiled attention", Options{AttentionVariant: "tile-128-32"}, []string{"Attention", "AttentionBatch"}},
		{"split attention", Options{AttentionVariant: "split-65536"}, []string{"Attention", "AttentionSplits"}},
		{"few threads", Options{Limits: Limits{Invocations: 64}},
			[]string{"Act", "GatedAct", "Add", "AddBias", "Scale", "Combine", "StoreKV", "UnpackHalf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "packed" && !full() {
				c.parts = c.parts[:2] // what is joined runs tiled above, and packed in TestConformanceMatMul
			}
			c.o.Guard = true
			b := open(t, c.o)
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, c.parts...)
		})
	}
}

// patched opens a guarded device whose kernel of the given name has one text in place of another.
func patched(t *testing.T, file, from, to string) *Backend {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../shaders", file))
	if err != nil {
		t.Fatal(err)
	}
	src := string(data)
	if strings.Count(src, from) != 1 {
		t.Fatalf("%s has %q %d times", file, from, strings.Count(src, from))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(src, from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, Options{Guard: true, Kernels: dir})
}

// A kernel that writes before or after its tensor is found out, by Flush, Read and Free, which name op, tensor and
// place.
func TestGuardCatchesWrites(t *testing.T) {
	const from = "x[to] = x[to] * bitcast<f32>(params.factor_bits);"
	for _, c := range []struct{ name, to, want string }{
		{"after", "x[to + 3u] = x[to] * bitcast<f32>(params.factor_bits);", "words after the end of prey"},
		{"before", "x[to - 5u] = x[to] * bitcast<f32>(params.factor_bits);", "words before prey"},
	} {
		for _, how := range []string{"Flush", "Read", "Free"} {
			t.Run(c.name+" by "+how, func(t *testing.T) {
				b := patched(t, "scale.wgsl", from, c.to)
				x := filled(t, b, "prey", 2, 33, func(int, int) float32 { return 1 })
				b.Scale(x, 2)
				var err error
				switch how {
				case "Flush":
					err = b.Flush()
				case "Read":
					err = b.Read(make([]float32, 66), x)
				default:
					b.Free(x)
					err = b.Flush()
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Scale") {
					t.Errorf("found %v, expected it to name Scale and say %q", err, c.want)
				}
			})
		}
	}
}

// A kernel that reads past its tensor gets NaNs.
func TestGuardCatchesReads(t *testing.T) {
	b := patched(t, "scale.wgsl", "x[to] = x[to] *", "x[to] = x[to + 1u] *")
	x := filled(t, b, "x", 1, 33, func(int, int) float32 { return 1 })
	b.Scale(x, 2)
	if got := read(t, b, x); !math.IsNaN(float64(got[32])) {
		t.Errorf("found %g after the last element, expected NaN", got[32])
	}
}
