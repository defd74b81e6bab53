package trace

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func tol(int) float64 { return 1e-10 }

func TestSiteName(t *testing.T) {
	for name, want := range map[string]string{
		"ffn_norm-3":                              "ffn_norm-3",
		"ffn_norm-3 (view)":                       "ffn_norm-3",
		"Qcur-11 (reshaped)":                      "Qcur-11",
		"kqv_out-0 (copy of kqv)":                 "kqv_out-0",
		"Vcur-0 (view) (cont)":                    "Vcur-0",
		"q-0 (permuted)":                          "q-0 (permuted)", // other numbers in other places
		"inp_embd":                                "embd",
		"model.embed_tokens":                      "embd",
		"embed_tokens":                            "embd",
		"model.layers.3":                          "l_out-3",
		"layers.3":                                "l_out-3",
		"model.layers.12.mlp":                     "ffn_out-12",
		"model.layers.0.self_attn":                "attn_out-0",
		"model.layers.0.self_attn.o_proj":         "attn_out-0",
		"model.layers.0.input_layernorm":          "attn_norm-0",
		"model.layers.0.post_attention_layernorm": "ffn_norm-0",
		"model.layers.0.mlp.act_fn":               "model.layers.0.mlp.act_fn",
		"model.norm":                              "result_norm",
		"lm_head":                                 "result_output",
		"model.layers.99999999999999":             "model.layers.99999999999999",
		"":                                        "",
	} {
		if got := SiteName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

type rowsOf struct {
	name    string
	rows, n int
	data    []float32
}

func traceOf(t testing.TB, entries ...rowsOf) *Trace {
	t.Helper()
	tr := New()
	for _, e := range entries {
		if err := tr.Append(e.name, e.rows, e.n, e.data); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func TestDiff(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	one := func(name string, data ...float32) *Trace { return traceOf(t, rowsOf{name, 2, 2, data}) }
	good := one("embd", 1, 2, 3, 4)
	dims := one("embd", 1, 2, 3, 4)
	dims.sites["embd"].dims = []int{1, 2, 2}
	for _, c := range []struct {
		name string
		a, b *Trace
		want string // in the reason; empty: the same
	}{
		{"same", good, good, ""},
		{"within", one("embd", 1, 2, 3, 4.00001), good, ""},
		{"over", one("embd", 1, 2, 3, 4.1), good, "NMSE 0.000333, tolerance 1e-10"},
		{"NaN in A", one("embd", 1, nan, 3, 4), good, "not finite: 1 values of the first, 0 of the second"},
		{"NaN in B", good, one("embd", 1, nan, inf, 4), "0 values of the first, 2 of the second"},
		{"NaN in both", one("embd", 1, nan, 3, 4), one("embd", 1, nan, 3, 4), "not finite"},
		{"Inf in both", one("embd", 1, inf, 3, 4), one("embd", 1, inf, 3, 4), "not finite"},
		{"zero in both", one("embd", 0, 0, 0, 0), one("embd", 0, 0, 0, 0), ""},
		{"zero reference", good, one("embd", 0, 0, 0, 0), "NMSE +Inf"},
		{"zero result", one("embd", 0, 0, 0, 0), good, "NMSE 1,"},
		{"swapped axes", traceOf(t, rowsOf{"embd", 1, 4, []float32{1, 2, 3, 4}}),
			traceOf(t, rowsOf{"embd", 4, 1, []float32{1, 2, 3, 4}}),
			"shape [1, 4] against [4, 1]: the axes look swapped"},
		{"swapped square", one("embd", 1, 3, 2, 4), good, "the axes look swapped"},
		{"last row alone", traceOf(t, rowsOf{"embd", 1, 2, []float32{3, 4}}), good,
			"shape [1, 2] against [2, 2]: other numbers of tokens"},
		{"other width", traceOf(t, rowsOf{"embd", 2, 1, []float32{3, 4}}), good, "shape [2, 1] against [2, 2]"},
		{"batch dimension", dims, good, ""},
		{"other engine's name", one("model.embed_tokens", 1, 2, 3, 4), good, ""},
		{"logits by two names", one("logits", 1, 2, 3, 4), one("lm_head", 1, 2, 3, 4), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Diff(c.a, c.b, tol)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Sites) != 1 || d.Same() != (c.want == "") || !strings.Contains(d.Sites[0].Reason, c.want) {
				t.Errorf("same %v, sites %+v; want %q", d.Same(), d.Sites, c.want)
			}
		})
	}
}

func TestDiffNumbers(t *testing.T) {
	a := traceOf(t, rowsOf{"embd", 2, 3, []float32{1, 2, 3, 4, 7, 6}})
	b := traceOf(t, rowsOf{"embd", 2, 3, []float32{1, 2, 3, 4, 5, 6}})
	c, err := Diff(a, b, tol)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Sites[0]
	if d.NMSE != 4.0/91 || d.MaxAbs != 2 || d.MaxRel != 0.4 || d.Token != 1 || d.Channel != 1 || d.A != 7 || d.B != 5 {
		t.Errorf("%+v", d)
	}
	if want := 101 / math.Sqrt(115*91); math.Abs(d.Cosine-want) > 1e-15 {
		t.Errorf("cosine %v, want %v", d.Cosine, want)
	}
}

// TestDiffOrder gives the sites in numpy's alphabet; the first fault is first in the forward pass all the same.
func TestDiffOrder(t *testing.T) {
	row := func(name string, v float32) rowsOf { return rowsOf{name, 1, 1, []float32{v}} }
	a := traceOf(t, row("attn_norm-10", 9), row("attn_norm-2", 1), row("extra-2", 1), row("embd", 1),
		row("ffn_out-2", 9), row("l_out-2", 9), row("logits", 9), row("odd", 1))
	b := traceOf(t, row("attn_norm-10", 1), row("attn_norm-2", 1), row("extra-2", 1), row("embd", 1),
		row("ffn_out-2", 1), row("l_out-2", 1), row("logits", 1), row("odd", 1), row("result_norm", 1))
	a.Tokens, b.Tokens = []int32{1, 2}, []int32{1, 3}
	layers := map[int]bool{}
	c, err := Diff(a, b, func(blocks int) float64 { layers[blocks] = true; return 1e-10 })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.Sites {
		got = append(got, s.Site)
	}
	if want := []string{"embd", "attn_norm-2", "ffn_out-2", "l_out-2", "extra-2", "attn_norm-10", "logits",
		"odd"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	if c.First == nil || c.First.Site != "ffn_out-2" || c.Last == nil || c.Last.Site != "attn_norm-2" {
		t.Errorf("first %+v, last %+v", c.First, c.Last)
	}
	if !slices.Equal(c.OnlyB, []string{"result_norm"}) || len(c.OnlyA) != 0 {
		t.Errorf("only in A %v, in B %v", c.OnlyA, c.OnlyB)
	}
	if c.Tokens != "position 1 is token 2 in one and 3 in the other" {
		t.Errorf("tokens: %q", c.Tokens)
	}
	if !layers[0] || !layers[3] || !layers[11] || len(layers) != 3 {
		t.Errorf("tolerances were asked behind %v blocks", layers)
	}
	// A manifest knows better.
	b.Manifest = &Manifest{Sites: []string{"l_out-2", "embd"}}
	if c, err = Diff(a, b, tol); err != nil || c.First.Site != "l_out-2" || c.Last != nil {
		t.Errorf("by B's manifest: first %+v, last %+v, %v", c.First, c.Last, err)
	}
}

// TestDiffTwice compares traces in which a module and the last module in it are both there.
func TestDiffTwice(t *testing.T) {
	row := func(name string, v float32) rowsOf { return rowsOf{name, 1, 1, []float32{v}} }
	hf := traceOf(t, row("model.layers.0.mlp.down_proj", 1), row("model.layers.0.mlp", 1),
		row("model.layers.0.post_attention_layernorm", 2))
	c, err := Diff(hf, hf, tol)
	if err != nil || len(c.Sites) != 3 || len(c.OnlyA)+len(c.OnlyB) != 0 {
		t.Errorf("with itself: %+v, %v", c, err)
	}
	c, err = Diff(hf, traceOf(t, row("ffn_out-0", 1), row("ffn_norm-0", 2)), tol)
	if err != nil || len(c.Sites) != 2 || !slices.Equal(c.OnlyA, []string{"model.layers.0.mlp"}) || !c.Same() {
		t.Errorf("with ours: %+v, %v", c, err)
	}
	// Norms around both halves of the block: the second is attention's.
	hf = traceOf(t, row("model.layers.0.post_attention_layernorm", 2),
		row("model.layers.0.post_feedforward_layernorm", 2))
	if c, err = Diff(hf, traceOf(t, row("attn_post_norm-0", 2), row("ffn_norm-0", 5)), tol); err != nil ||
		len(c.Sites) != 1 || !c.Same() {
		t.Errorf("norms around: %+v, %v", c, err)
	}
}

func TestDiffNothing(t *testing.T) {
	_, err := Diff(traceOf(t, rowsOf{"a", 1, 1, []float32{1}}), traceOf(t, rowsOf{"b", 1, 1, []float32{1}}), tol)
	if err == nil || !strings.Contains(err.Error(), "no site is in both: one has a, the other b") {
		t.Errorf("error %v", err)
	}
}
