//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
)

// The ops of mixtures of experts refuse what does not fit, and none of it reaches the binding.
func TestMisuseOfExperts(t *testing.T) {
	b := open(t, Options{})
	const rows, n, experts, used = 2, 64, 4, 2
	x, y := b.Alloc("x", rows, n), b.Alloc("y", rows, n)
	logits := b.Alloc("logits", rows, experts)
	ids, weights := b.Alloc("ids", rows, used), b.Alloc("weights", rows, used)
	slotIDs := ids.View(0, 1, rows*used)
	wide := b.Alloc("wide", rows*used, n)
	out := b.Alloc("out", rows*used, 16)
	bias := b.Alloc("bias", experts, 16)
	gate := b.Alloc("gate", rows, 1)
	w := b.LoadWeight("w", backend.F32, experts*16, n, make([]byte, experts*16*n*4))
	gone := b.LoadWeight("gone weight", backend.F32, 1, n, make([]byte, n*4))
	b.FreeWeight(gone)
	freed := b.Alloc("gone", rows, n)
	b.Free(freed)
	router := backend.Router{Used: used}
	none := backend.Tensor{}

	refuse(t, b, []misuse{
		{"route kind", func() { r := router; r.Kind = 9; b.Route(ids, weights, logits, r) }, []string{"Route", "kind 9"}},
		{"route of none", func() { b.Route(ids, weights, logits, backend.Router{}) }, []string{"found 0 used experts", "1 to all"}},
		{"route below none", func() { b.Route(ids, weights, logits, backend.Router{Used: -1}) }, []string{"found -1 used experts"}},
		{"route of more than there are", func() { b.Route(x, y, logits, backend.Router{Used: 5}) }, []string{"found 5 used experts of the 4"}},
		{"route ids", func() { b.Route(logits, weights, x, router) }, []string{"ids", "found rows of 4", "expected 2"}},
		{"route weights", func() { b.Route(ids, weights.Slice(0, 1), logits, router) }, []string{"weights", "found 1 rows", "expected 2"}},
		{"route no logits", func() { b.Route(ids, weights, none, router) }, []string{"logits", "no tensor"}},
		{"route in place", func() { b.Route(logits.View(0, 2, 2), weights, logits, router) }, []string{"ids", "logits", "one buffer"}},
		{"route ids are weights", func() { b.Route(ids, ids, logits, router) }, []string{"ids", "weights", "share elements"}},

		{"experts no weight", func() { b.ExpertMatMul(out, x, nil, slotIDs) }, []string{"ExpertMatMul", "no weight"}},
		{"experts freed weight", func() { b.ExpertMatMul(out, x, gone, slotIDs) }, []string{"gone weight", "freed"}},
		{"experts outer size", func() { b.ExpertMatMul(x.Slice(0, 1).View(0, 4, 15), y, w, slotIDs) }, []string{"w: found 64 rows", "multiple of 15"}},
		{"experts inner size", func() { b.ExpertMatMul(out, bias, w, slotIDs) }, []string{"x:", "found rows of 16", "expected 64"}},
		{"experts shared rows", func() { b.ExpertMatMul(out, wide.Slice(0, 3), w, slotIDs) }, []string{"x: found 3 rows", "divides the 4 rows"}},
		{"experts no rows", func() { b.ExpertMatMul(out, wide.Slice(0, 0), w, slotIDs) }, []string{"x: found 0 rows"}},
		{"experts too many rows", func() { b.ExpertMatMul(out.Slice(0, 2), wide, w, slotIDs.View(0, 1, 2)) }, []string{"x: found 4 rows"}},
		{"experts ids", func() { b.ExpertMatMul(out, x, w, ids) }, []string{"ids", "found 2 rows", "expected 1"}},
		{"experts number of ids", func() { b.ExpertMatMul(out, x, w, slotIDs.View(0, 1, 3)) }, []string{"ids", "found rows of 3", "expected 4"}},
		{"experts in place", func() { b.ExpertMatMul(wide.View(0, 2, 16), wide.View(64, 2, n), w, slotIDs.View(0, 1, 2)) }, []string{"dst", "x", "one buffer"}},
		{"experts over ids", func() { b.ExpertMatMul(ids.View(0, 2, 1), x, w, ids.View(2, 1, 2)) }, []string{"dst", "ids", "one buffer"}},

		{"bias width", func() { b.ExpertBias(wide, bias, slotIDs) }, []string{"ExpertBias", "bias", "found rows of 16", "expected 64"}},
		{"bias ids", func() { b.ExpertBias(out, bias, ids) }, []string{"ids", "expected 1"}},
		{"bias in place", func() { b.ExpertBias(out, out, slotIDs) }, []string{"x", "bias", "one buffer"}},
		{"bias freed", func() { b.ExpertBias(freed, x, slotIDs.View(0, 1, 2)) }, []string{"gone", "freed"}},

		{"combine rows", func() { b.Combine(x, wide.Slice(0, 3), weights) }, []string{"Combine", "x", "found 3 rows", "expected 4"}},
		{"combine width", func() { b.Combine(x, out, weights) }, []string{"x", "found rows of 16", "expected 64"}},
		{"combine weights", func() { b.Combine(x, wide, weights.Slice(0, 1)) }, []string{"weights", "found 1 rows"}},
		{"combine in place", func() { b.Combine(wide.Slice(0, 2), wide, weights) }, []string{"dst", "x", "one buffer"}},

		{"gated sum gate", func() { b.AddGated(x, y, weights) }, []string{"AddGated", "gate", "found rows of 2", "expected 1"}},
		{"gated sum gates", func() { b.AddGated(x, y, gate.Slice(0, 1)) }, []string{"gate", "found 1 rows"}},
		{"gated sum width", func() { b.AddGated(x, out.Slice(0, 2), gate) }, []string{"x:", "found rows of 16"}},
		{"gated sum in place", func() { b.AddGated(x, x, gate) }, []string{"dst", "x", "one buffer"}},
	})
	t.Run("still works", func(t *testing.T) {
		b.Route(ids, weights, logits, router)
		b.ExpertMatMul(out, x, w, slotIDs)
		b.ExpertBias(out, bias, slotIDs)
		b.Combine(x.View(0, 2, 16), out, weights)
		b.AddGated(x, y, gate)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	})
}
