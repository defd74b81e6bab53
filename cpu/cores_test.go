package cpu_test

import (
	"math/rand/v2"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/cpu"
)

// TestCores runs ops on one core and on several: every bit of their results is the same.
func TestCores(t *testing.T) {
	backendtest.SameOnCores(t, func() []float32 {
		be := cpu.New()
		rng := rand.New(rand.NewPCG(1, 2))
		random := func(rows, n int) backend.Tensor { return backendtest.NormalTensor(be, rng, rows, n) }
		const rows, n, experts, used, heads = 37, 320, 12, 4, 5
		x, h, w := random(rows, n), random(rows, n), random(1, n)
		logits, ids, weights := random(rows, experts), be.Alloc("ids", rows, used), be.Alloc("weights", rows, used)
		data := make([]byte, experts*n*n*4)
		for i := 0; i < len(data); i += 4 { // finite floats of any bits: an exponent of 120 to 127
			data[i], data[i+1], data[i+2], data[i+3] = byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()),
				0x3c|byte(rng.Uint32()&0x83)
		}
		matrices := be.LoadWeight("experts", backend.F32, experts*n, n, data)
		slots, at := be.Alloc("slots", rows*used, n), be.Alloc("positions", 1, rows)
		positions := make([]uint32, rows)
		for r := range positions {
			positions[r] = uint32(r)
		}
		be.UploadU32(at, positions)

		be.LayerNorm(h, x, w, w, 1e-5)
		be.Route(ids, weights, logits, backend.Router{Used: used, Normalize: true})
		be.ExpertMatMul(slots, h, matrices, ids.View(0, 1, rows*used))
		be.ExpertBias(slots, random(experts, n), ids.View(0, 1, rows*used))
		be.Combine(h, slots, weights)
		be.Act(x, h, backend.GELUTanh)
		be.Softcap(x, 30)
		be.Scale(x, 0.3)
		be.AddGated(x, h, logits.View(0, rows, 1))
		be.Attention(h, x, backend.KV{K: x, V: x}, at, backend.Attention{
			NHead: heads, NKV: heads, HeadDim: n / heads, Scale: 0.1, Window: 9, Softcap: 20,
			Sinks: w.View(0, 1, heads),
		})
		be.Add(h, x)
		out := make([]float32, rows*n)
		if err := be.Read(out, h); err != nil {
			t.Fatal(err)
		}
		return out
	})
}

// TestExpertBiasUnknownExpert: where no device is in the way, an expert that there is not is an error.
func TestExpertBiasUnknownExpert(t *testing.T) {
	be := cpu.New()
	x, bias, ids := be.Alloc("x", 2, 3), be.Alloc("bias", 4, 3), be.Alloc("ids", 1, 2)
	be.UploadU32(ids, []uint32{3, 4})
	be.ExpertBias(x, bias, ids)
	const want = "expert_bias: expert 4 of row 1 is past the 4 there are"
	if err := be.Flush(); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %q", err, want)
	}
}
