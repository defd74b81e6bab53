package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/layers"
	"cera/trace"
)

// TestCauses makes mistakes and expects them to be named.
func TestCauses(t *testing.T) {
	const nRows, heads, kv, dim = 9, 4, 2, 8
	const n, nkv, ff = heads * dim, kv * dim, 24
	rng := rand.New(rand.NewPCG(11, 12))
	random := func(size int) []float32 {
		v := make([]float32, size)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	file := map[string][]float32{
		"blk.1.attn_q.weight": random(n * n), "blk.0.attn_q.weight": random(n * n),
		"blk.1.attn_output.weight": random(n * n),
		"blk.1.attn_q.bias":        random(n), "token_embd.weight": random(20 * n),
	}
	matmul := layers.OpSite{Kind: layers.OpMatMul, Op: "matmul attn_q", In: []string{"x"},
		Weight: "blk.1.attn_q.weight", Layer: 1}
	biased := matmul
	biased.Bias = "blk.1.attn_q.bias"
	rope := layers.OpSite{
		Kind: layers.OpRoPE, Op: "rope of q", In: []string{"x"}, HeadDim: dim,
		Rope: backend.RoPE{HeadDim: dim, RotDim: dim},
		Turn: layers.RopeConfig{Base: 10000, Gain: 1, Factor: 1},
	}
	attention := layers.OpSite{
		Kind: layers.OpAttention, Op: "attention", In: []string{"x", "k", "v"}, HeadDim: dim,
		Attn: backend.Attention{NHead: heads, NKV: kv, HeadDim: dim, Scale: 0.35, Window: 4},
	}
	gated := layers.OpSite{Kind: layers.OpGatedAct, Op: "gated activation", In: []string{"gate", "up"}}
	embed := layers.OpSite{Kind: layers.OpEmbed, Op: "embedding", Weight: "token_embd.weight", Layer: -1}

	wide := attention
	wide.Attn.Window = 5
	all := attention
	all.Attn.Window = 0
	unscaled := attention
	unscaled.Attn.Scale = 1
	halves := rope
	halves.Rope.Style = backend.RopeNeoX
	fast := rope
	fast.Turn.Base = 500000
	other := matmul
	other.Weight = "blk.0.attn_q.weight"
	sibling := matmul
	sibling.Weight = "blk.1.attn_output.weight"
	gelu := gated
	gelu.Act = backend.GELUTanh

	shift := func(by int) func(out []float32, width int) {
		return func(out []float32, width int) {
			old := slices.Clone(out)
			for r := range nRows {
				copy(out[r*width:(r+1)*width], old[((r+by+nRows)%nRows)*width:])
			}
		}
	}
	for _, c := range []struct {
		name       string
		right, did layers.OpSite
		width      int
		then       func(out []float32, width int)
		words      string
	}{
		{"bias", biased, matmul, n, nil, "without the bias blk.1.attn_q.bias; "},
		{"weight of another block", matmul, other, n, nil, "by blk.0.attn_q.weight in place of blk.1.attn_q.weight; "},
		{"weight of a sibling", matmul, sibling, n, nil, "by blk.1.attn_output.weight in place of"},
		{"zeros", matmul, matmul, n, func(out []float32, _ int) { clear(out) }, "nothing was written"},
		{"some zeros", matmul, matmul, n, func(out []float32, width int) { clear(out[6*width:]) },
			"nothing was written: every element is zero (tokens 6 to 8); "},
		{"rows one late", matmul, matmul, n, shift(-1),
			"every token has the row of the one before it (in 8 of 9 wrong tokens); "},
		{"rows one early", matmul, matmul, n, shift(1),
			"every token has the row of the one after it (in 8 of 9 wrong tokens); "},
		{"pairs", rope, halves, n, nil, "pairs are one of each half, not neighbours (tokens 1 to 8); "},
		{"base", rope, fast, n, nil, "the base is 500000, not 10000 (tokens 1 to 8); "},
		{"window off", attention, all, n, nil, "the window is ignored (tokens 4 to 8); "},
		{"window wide", attention, wide, n, nil, "the window is one too wide (tokens 4 to 8); "},
		{"scale", attention, unscaled, n, nil, "scores are not scaled (tokens 1 to 8); "},
		{"activation", gated, gelu, ff, nil, "gelu_tanh in place of silu; "},
		{"unknown", matmul, matmul, n, func(out []float32, _ int) { out[17] += 1 }, "1 of 288 elements are wrong; "},
		{"next id", embed, embed, n, func(out []float32, width int) {
			for r := range nRows {
				copy(out[r*width:(r+1)*width], file["token_embd.weight"][(r+2)*width:])
			}
		}, "the rows of the table's next token each; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := trace.New()
			in := &Input{Trace: tr, FileWeights: func(name string) ([]float32, error) {
				if w, ok := file[name]; ok {
					return w, nil
				}
				return nil, fmt.Errorf("no tensor %s", name)
			}}
			for r := range nRows {
				in.Tokens = append(in.Tokens, int32(r+1))
			}
			tr.Tokens = in.Tokens
			for site, width := range map[string]int{"x": n, "k": nkv, "v": nkv, "gate": ff, "up": ff, "out": c.width} {
				if err := tr.Append(site, nRows, width, random(nRows*width)); err != nil {
					t.Fatal(err)
				}
			}
			c.right.Site, c.did.Site = "out", "out"
			// The op as it was done, in float64 and rounded.
			out, err := in.anyRows("out")
			if err != nil {
				t.Fatal(err)
			}
			var given []rows
			for _, site := range c.did.In {
				m, err := in.anyRows(site)
				if err != nil {
					t.Fatal(err)
				}
				given = append(given, m)
			}
			f, err := in.expect(c.did, given, out)
			if err != nil {
				t.Fatal(err)
			}
			for r := range out.rows {
				for i := range out.n {
					v, _ := f(r, i)
					out.data[r*out.n+i] = float32(v)
				}
			}
			if got := in.CheckOp(c.did); got.Local.Verdict != Pass {
				t.Fatalf("right: %s", got.Local.Reason)
			}
			if c.then != nil {
				c.then(out.data, out.n)
			}
			got := in.CheckOp(c.right)
			if got.Local.Verdict != Fail || !strings.HasPrefix(got.Local.Reason, c.words) {
				t.Errorf("%s: %q, expected it to begin with %q", got.Local.Verdict, got.Local.Reason, c.words)
			}
		})
	}
}
