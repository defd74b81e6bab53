//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/shaders"
)

func TestConformance(t *testing.T) {
	b := open(t, Options{})
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return b })
}

// TestConformanceMatMul runs what reads weights with every way of storing and multiplying them. What is missing in a
// short list runs in TestConformanceGuardVariants, or is the same with another row.
func TestConformanceMatMul(t *testing.T) {
	parts := []string{"Embed", "MatMul", "MatMuls", "GatedMatMul", "ExpertMatMul"}
	for _, c := range []struct {
		name    string
		options Options
		tune    tuning
		exact   bool
		short   []string
	}{
		{"as in the file", Options{Pack: PackNever}, tuning{}, false, []string{"Embed", "MatMul", "ExpertMatMul"}},
		{"in panels", Options{Pack: PackAlways, MatVecRows: -1}, tuning{}, false, []string{"MatMul"}},
		{"in panels, as in the file, guarded", Options{Pack: PackNever, MatVecRows: -1, Guard: true},
			tuning{tile: shaders.Tile{Rows: 64, Cols: 32, Depth: 16}}, false, nil},
		{"in panels, in parts", Options{Pack: PackAlways, MatVecRows: -1}, tuning{room: 200 * 1088, parts: 3}, false, nil},
		{"other shapes", Options{Pack: PackAlways},
			tuning{threads: 128, rows: 1, tile: shaders.Tile{Rows: 128, Cols: 32, Depth: 8}}, false, []string{"MatMul"}},
		{"in panels, rows in stretches", Options{Pack: PackAlways, MatVecRows: -1}, tuning{room: 200 * 24}, false, []string{"MatMul"}},
		{"in panels, in stretches of groups", Options{Pack: PackAlways, MatVecRows: -1}, tuning{room: 192 * 520}, false, nil},
		{"more rows", Options{Pack: PackAlways}, tuning{threads: 64, rows: 4}, false,
			[]string{"MatMul", "ExpertMatMul"}},
		{"halves by integers", Options{Pack: PackAlways}, tuning{}, true, []string{"Embed", "MatMul"}},
		{"packed, split", Options{Pack: PackAlways, MaxBinding: 1 << 17}, tuning{}, false,
			[]string{"MatMuls", "GatedMatMul"}},
	} {
		parts := parts
		if !full() {
			if parts = c.short; parts == nil {
				continue
			}
		}
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.options)
			b.tune = c.tune
			if c.exact {
				b.halves = halvesFlushed
			}
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, parts...)
		})
	}
}

// TestConformanceExperts runs the products of experts in both forms, whatever the shape, in tiles of several shapes, and on
// weights that are split.
func TestConformanceExperts(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		tune    tuning
	}{
		{"by slot", Options{Pack: PackAlways}, tuning{experts: expertsBySlot}},
		{"in panels", Options{Pack: PackAlways}, tuning{experts: expertsInPanels}},
		{"in panels, as in the file, guarded", Options{Pack: PackNever, Guard: true}, tuning{experts: expertsInPanels}},
		{"in panels, split", Options{Pack: PackAlways, MaxBinding: 1 << 16}, tuning{experts: expertsInPanels}},
		{"in panels, rows in stretches", Options{}, tuning{experts: expertsInPanels, room: 24 << 10}},
		{"in panels of few rows", Options{}, tuning{experts: expertsInPanels, tile: shaders.Tile{Rows: 32, Cols: 64, Depth: 8}}},
		{"in panels on few threads", Options{Limits: Limits{Invocations: 64}}, tuning{experts: expertsInPanels}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.options)
			b.tune = c.tune
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, "ExpertMatMul")
		})
	}
}

// TestConformanceAttention runs attention on every kernel that it may be forced to, with the workgroup memory of the
// device and with as little as WebGPU promises. What is missing in a short list runs in TestConformanceGuardVariants,
// or with another row of the same kernel.
func TestConformanceAttention(t *testing.T) {
	parts := []string{"Attention", "AttentionSplits", "AttentionBatch", "RepeatAttention"}
	for _, c := range []struct {
		variant string
		storage int // 0: the device's
		exact   bool
		short   []string
	}{
		{"general", 0, false, []string{"AttentionSplits", "RepeatAttention"}},
		{"split", 16 << 10, false, parts},
		{"split-1", 0, false, []string{"Attention"}},
		{"split-65536", 0, true, []string{"AttentionSplits"}},
		{"tile", 16 << 10, false, parts},
		{"tile-64-16", 0, false, []string{"AttentionBatch"}},
		{"tile-128-32", 0, true, []string{"AttentionSplits"}},
	} {
		parts := parts
		if !full() {
			parts = c.short
		}
		t.Run(c.variant, func(t *testing.T) {
			b := open(t, Options{AttentionVariant: c.variant})
			if c.storage > 0 {
				b.limits.WorkgroupStorage = min(b.limits.WorkgroupStorage, c.storage)
			}
			if c.exact {
				b.halves = halvesFlushed
			}
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, parts...)
		})
	}
}
