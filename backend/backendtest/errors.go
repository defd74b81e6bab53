package backendtest

import (
	"math"
	"testing"

	"cera/backend"
)

// testErrors misuses every op: each must leave an error, write nothing, and leave the backend usable.
func testErrors(t *testing.T, be backend.Backend) {
	x, y, small := be.Alloc("x", 4, 8), be.Alloc("y", 4, 8), be.Alloc("small", 1, 3)
	w8, kv := be.Alloc("w", 1, 8), be.Alloc("kv", 4, 4)
	weight := be.LoadWeight("weight", backend.F32, 8, 8, make([]byte, 8*8*4))
	pos := ids(be, []uint32{0, 1, 2, 3})
	freed := be.Alloc("freed", 4, 8)
	be.Free(freed)
	outside := x
	outside.Rows = 5
	narrow := x
	narrow.Stride = 7
	var none backend.Tensor
	logits, picks := be.Alloc("logits", 4, 8), be.Alloc("picks", 4, 2)
	attend := func(p backend.Attention) {
		p.NHead, p.NKV, p.HeadDim = 4, 2, 2
		half := kv.View(0, 4, 4)
		be.Attention(x, y, backend.KV{K: half, V: half}, pos, p)
	}
	rope := backend.RoPE{HeadDim: 8, RotDim: 8}
	// What some of the cases below get wrong in one operand is right without it.
	attend(backend.Attention{})
	be.Route(picks, y.View(0, 4, 2), logits, backend.Router{Used: 2})
	be.ExpertMatMul(x.View(0, 4, 4), y, weight, pos)
	be.AddGated(x, y, w8.View(0, 4, 1))
	if err := be.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"alloc of no rows", func() { be.Alloc("none", 0, 8) }},
		{"alloc of negative width", func() { be.Alloc("negative", 1, -1) }},
		{"alloc larger than any device", func() { be.Alloc("huge", math.MaxInt32, math.MaxInt32) }},
		{"upload of too few values", func() { be.Upload(x, make([]float32, 31)) }},
		{"upload of too many values", func() { be.UploadU32(pos, make([]uint32, 5)) }},
		{"upload to nothing", func() { be.Upload(none, nil) }},
		{"copy of another shape", func() { be.Copy(x, small) }},
		{"copy from freed memory", func() { be.Copy(x, freed) }},
		{"copy past the end", func() { be.Copy(outside, outside) }},
		{"copy with a stride below the width", func() { be.Copy(y, narrow) }},
		{"weight of half a block", func() { be.LoadWeight("odd", backend.Q4_0, 1, 33, make([]byte, 18)) }},
		{"weight with missing bytes", func() { be.LoadWeight("short", backend.F16, 2, 8, make([]byte, 31)) }},
		{"norm of another width", func() { be.RMSNorm(x, small, w8, 0) }},
		{"norm with a short weight", func() { be.RMSNorm(x, y, small, 0) }},
		{"norm without a weight", func() { be.RMSNorm(x, y, none, 0) }},
		{"norm with a short residual", func() { be.AddRMSNorm(x, y, small, w8, 0) }},
		{"arena norm over two buffers", func() {
			be.FusedResidualRMSNorm(backend.FusedNorm{Out: x, In: y, Residual: x, Gamma: w8, Beta: w8})
		}},
		{"embed of another width", func() { be.Embed(small, weight, pos) }},
		{"embed without ids", func() { be.Embed(x, weight, none) }},
		{"matmul of another width", func() { be.MatMul(x, small, weight) }},
		{"matmul without a weight", func() { be.MatMul(x, y, nil) }},
		{"bias of another width", func() { be.AddBias(x, small) }},
		{"rope with an odd part", func() { be.RoPE(x, pos, y, backend.RoPE{HeadDim: 8, RotDim: 7}) }},
		{"rope with heads that do not divide", func() { be.RoPE(x, pos, y, backend.RoPE{HeadDim: 3, RotDim: 2}) }},
		{"rope with a short table", func() { be.RoPE(x, pos, small, rope) }},
		{"store of another width", func() { be.StoreKV(backend.KV{K: small, V: small}, x, y, pos) }},
		{"store of halves in rows of too many words",
			func() { be.StoreKV(backend.KV{K: x, V: y, Half: true}, w8, w8, pos.View(0, 1, 1)) }},
		{"unpacked halves of another width", func() { be.UnpackHalf(x, y) }},
		{"unpacked halves of fewer rows", func() { be.UnpackHalf(x, kv.Slice(0, 3)) }},
		{"attention on halves in rows of too many words", func() {
			be.Attention(x, y, backend.KV{K: w8.View(0, 2, 4), V: w8.View(0, 2, 4), Half: true}, pos,
				backend.Attention{NHead: 4, NKV: 2, HeadDim: 2})
		}},
		{"attention with heads that do not group", func() {
			be.Attention(x, y, backend.KV{K: x, V: y}, pos, backend.Attention{NHead: 4, NKV: 3, HeadDim: 2})
		}},
		{"attention of another width", func() {
			be.Attention(x, y, backend.KV{K: x, V: y}, pos, backend.Attention{NHead: 4, NKV: 4, HeadDim: 4})
		}},
		{"attention with a negative window", func() { attend(backend.Attention{Window: -1}) }},
		{"attention with a negative softcap", func() { attend(backend.Attention{Softcap: -1}) }},
		{"attention with a sink too few", func() { attend(backend.Attention{Sinks: small}) }},
		{"attention with freed sinks", func() { attend(backend.Attention{Sinks: freed.View(0, 1, 4)}) }},
		{"rope of an unknown style", func() { be.RoPE(x, pos, y, backend.RoPE{Style: 2, HeadDim: 8, RotDim: 8}) }},
		{"layer norm of another width", func() { be.LayerNorm(x, small, w8, none, 0) }},
		{"layer norm without a weight", func() { be.LayerNorm(x, y, none, w8, 0) }},
		{"layer norm with a short weight", func() { be.LayerNorm(x, y, small, w8, 0) }},
		{"layer norm with a short bias", func() { be.LayerNorm(x, y, w8, small, 0) }},
		{"gate of another width", func() { be.GatedAct(x, y, small, backend.SiLU) }},
		{"gate of an unknown activation", func() { be.GatedAct(x, y, y, 3) }},
		{"activation of another width", func() { be.Act(x, small, backend.SiLU) }},
		{"activation that needs two operands", func() { be.Act(x, y, backend.ClampedSwiGLU) }},
		{"unknown activation", func() { be.Act(x, y, 3) }},
		{"add of another width", func() { be.Add(x, small) }},
		{"add of fewer rows", func() { be.Add(x, y.Slice(0, 3)) }},
		{"scale of nothing", func() { be.Scale(none, 2) }},
		{"softcap past the end", func() { be.Softcap(outside, 2) }},
		{"softcap of limit 0", func() { be.Softcap(x, 0) }},
		{"softcap of a negative limit", func() { be.Softcap(x, -30) }},
		{"softcap of no number", func() { be.Softcap(x, float32(math.NaN())) }},
		{"route to no expert", func() { be.Route(x, y, logits, backend.Router{}) }},
		{"route to more experts than there are", func() { be.Route(x, y, logits, backend.Router{Used: 9}) }},
		{"route with ids of another width", func() { be.Route(x, picks, logits, backend.Router{Used: 2}) }},
		{"route with weights of another width", func() { be.Route(picks, x, logits, backend.Router{Used: 2}) }},
		{"route of fewer rows", func() { be.Route(picks, y.View(0, 3, 2), logits, backend.Router{Used: 2}) }},
		{"route of an unknown kind", func() {
			be.Route(picks, y.View(0, 4, 2), logits, backend.Router{Kind: 2, Used: 2})
		}},
		{"expert matmul of another width", func() { be.ExpertMatMul(x.View(0, 4, 4), small, weight, pos) }},
		{"expert matmul of half an expert", func() { be.ExpertMatMul(x.View(0, 4, 3), y, weight, pos) }},
		{"expert matmul with an id too few", func() { be.ExpertMatMul(x.View(0, 4, 4), y, weight, pos.View(0, 1, 3)) }},
		{"expert matmul with rows that do not divide the slots", func() {
			be.ExpertMatMul(x.View(0, 4, 4), y.Slice(0, 3), weight, pos)
		}},
		{"expert matmul with more rows than slots", func() {
			be.ExpertMatMul(x.View(0, 2, 4), y, weight, pos.View(0, 1, 2))
		}},
		{"expert matmul without a weight", func() { be.ExpertMatMul(x, y, nil, pos) }},
		{"expert matmul without ids", func() { be.ExpertMatMul(x, y, weight, none) }},
		{"expert bias of another width", func() { be.ExpertBias(x, small, pos) }},
		{"expert bias with an id too few", func() { be.ExpertBias(x, y, pos.View(0, 1, 3)) }},
		{"expert bias without ids", func() { be.ExpertBias(x, y, none) }},
		{"combine of another width", func() { be.Combine(small, x, w8) }},
		{"combine of rows that are too few", func() { be.Combine(x.Slice(0, 1), y.Slice(0, 3), w8.View(0, 1, 4)) }},
		{"combine without weights", func() { be.Combine(x, y, none) }},
		{"gated add of another width", func() { be.AddGated(x, small, w8.View(0, 4, 1)) }},
		{"gated add with two gates", func() { be.AddGated(x, y, w8.View(0, 4, 2)) }},
		{"gated add with a gate too few", func() { be.AddGated(x, y, w8.View(0, 3, 1)) }},
	} {
		c.run()
		be.Copy(y, x) // does nothing after an error, and must not hide it
		if err := be.Flush(); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if err := be.Flush(); err != nil {
			t.Errorf("%s: the error came twice: %v", c.name, err)
		}
	}
	if err := be.Read(make([]float32, 3), x); err == nil {
		t.Error("read into too short a slice: no error")
	}
	be.Copy(y, x)
	if err := be.Flush(); err != nil {
		t.Errorf("the backend is not usable after errors: %v", err)
	}
	be.FreeWeight(weight)
	for _, b := range []backend.Tensor{x, y, small, w8, kv, logits, picks, pos} {
		be.Free(b)
	}
}
