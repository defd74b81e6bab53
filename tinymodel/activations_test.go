package tinymodel

import (
	"fmt"
	"math"
	"testing"

	"cera/weights"
)

// The forward pass of the first token alone, in float64: it attends to itself only, so rope and softmax drop out. The
// stream must stay of a size at which a norm with a tenth of its eps is wrong by several times the bound that a check
// grants f32 arithmetic, (n/256 + 16) · 2^-24.
func TestActivations(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		o := Default()
		o.Seed = seed
		f, _ := model(t, o)
		load := func(name string) []float32 {
			v, err := weights.DecodeTensor(f, name)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		mul := func(name string, x []float64) []float64 {
			w := load(name)
			y := make([]float64, len(w)/len(x))
			for i := range y {
				for k, v := range x {
					y[i] += float64(w[i*len(x)+k]) * v
				}
			}
			return y
		}
		add := func(x, d []float64) {
			for i := range x {
				x[i] += d[i]
			}
		}
		norm := func(name string, x []float64) []float64 {
			w := load(name)
			ms := meanSquare(x)
			if ms > 1 {
				t.Errorf("seed %d: %s has an input of mean square %.3f, expected at most 1", seed, name, ms)
			}
			bound := (float64(len(x))/256 + 16) * 0x1p-24
			if e := math.Sqrt((ms+1e-5)/(ms+1e-6)) - 1; e < 3*bound {
				t.Errorf("seed %d: %s: a wrong eps changes it by %.2g, expected at least %.2g", seed, name, e, 3*bound)
			}
			y := make([]float64, len(x))
			for i := range y {
				y[i] = x[i] / math.Sqrt(ms+float64(o.Eps)) * float64(w[i])
			}
			return y
		}

		x := make([]float64, o.Dim)
		for i, v := range load("token_embd.weight")[:o.Dim] {
			x[i] = float64(v)
		}
		for i := range o.Layers {
			blk := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
			h := norm(blk("attn_norm"), x)
			v := mul(blk("attn_v"), h)
			var a []float64 // every query head reads its group's values
			for head := range o.Heads {
				kv := head / (o.Heads / o.KVHeads)
				a = append(a, v[kv*o.headDim():][:o.headDim()]...)
			}
			add(x, mul(blk("attn_output"), a))
			h = norm(blk("ffn_norm"), x)
			gate, up := mul(blk("ffn_gate"), h), mul(blk("ffn_up"), h)
			for j, g := range gate {
				up[j] *= g / (1 + math.Exp(-g))
			}
			add(x, mul(blk("ffn_down"), up))
		}
		logits := mul("output.weight", norm("output_norm.weight", x))
		if ms := meanSquare(logits); ms < 0.3 || ms > 3 {
			t.Errorf("seed %d: logits have mean square %.3f, expected about 1", seed, ms)
		}
	}
}

func meanSquare(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return s / float64(len(x))
}
