package storymodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/engine"
	"cera/gguf"
	"cera/internal/storymodel"
	"cera/trace"
	"cera/weights"
)

// golden is a model of train.py with random weights, and what PyTorch makes of some tokens. See testdata/golden.py.
type golden struct {
	Config storymodel.Config `json:"config"`
	Tokens []int32           `json:"tokens"`
	Logits [][]float64       `json:"logits"` // a row for each token
}

func readGolden(t *testing.T) (golden, *trace.Trace) {
	t.Helper()
	var g golden
	b, err := os.ReadFile("testdata/golden.json")
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Open("testdata/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return g, tr
}

// vocabulary returns one of n tokens, trained on stories.
func vocabulary(t *testing.T, n int) *storymodel.Vocabulary {
	t.Helper()
	var texts []string
	for seed := range uint64(100) {
		texts = append(texts, storymodel.Story(seed))
	}
	v, err := storymodel.TrainVocabulary(texts, 400)
	if err != nil {
		t.Fatal(err)
	}
	return &storymodel.Vocabulary{Tokens: v.Tokens[:n], Scores: v.Scores[:n], Types: v.Types[:n]}
}

// convert returns a converted model, opened.
func convert(t *testing.T, tr *trace.Trace, c storymodel.Config, format gguf.Type) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	if err := storymodel.Convert(&b, tr, c, vocabulary(t, c.Vocab), format); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What Cera computes from the converted file is what PyTorch computed from the weights: names, shapes, the order of the
// pairs that rotate, the heads that share keys, the tied output.
func TestConvertLogits(t *testing.T) {
	g, tr := readGolden(t)
	e, err := engine.Load(convert(t, tr, g.Config, gguf.F32), engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got, err := e.Logits(context.Background(), g.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(g.Logits)*g.Config.Vocab {
		t.Fatalf("%d logits, expected %d rows of %d", len(got), len(g.Logits), g.Config.Vocab)
	}
	largest := 0.0
	for i, row := range g.Logits {
		for j, want := range row {
			v := float64(got[i*len(row)+j])
			if !(math.Abs(v-want) <= 1e-4*math.Max(1, math.Abs(want))) {
				t.Fatalf("token %d, logit %d: %v, PyTorch has %v", i, j, v, want)
			}
			largest = math.Max(largest, math.Abs(want))
		}
	}
	if largest < 1 {
		t.Errorf("the largest logit is %v: the comparison says nothing", largest)
	}
}

func randomTrace(t *testing.T, c storymodel.Config, g *trace.Trace) *trace.Trace {
	t.Helper()
	tr := trace.New()
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for _, name := range g.Sites() {
		_, rows, n, _ := g.Data(name)
		data := make([]float32, rows*n)
		for i := range data {
			data[i] = float32(r.NormFloat64())
		}
		if err := tr.Append(name, rows, n, data); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// Every tensor comes back from the file, within half a step of its format.
func TestConvertRoundTrip(t *testing.T) {
	g, like := readGolden(t)
	tr := randomTrace(t, g.Config, like)
	f := convert(t, tr, g.Config, gguf.Q8_0)
	if len(f.Tensors) != len(tr.Sites()) {
		t.Errorf("%d tensors, expected %d", len(f.Tensors), len(tr.Sites()))
	}
	for _, name := range tr.Sites() {
		want, rows, n, _ := tr.Data(name)
		info, ok := f.Tensor(name)
		if !ok {
			t.Fatalf("no tensor %s", name)
		}
		typ := gguf.Q8_0
		switch {
		case rows == 1:
			typ = gguf.F32
		case n%32 != 0: // ffn_down of 48 columns
			typ = gguf.F16
		}
		if info.Type != typ || info.N() != n || info.Rows() != rows {
			t.Errorf("%s: %s %v, expected %s of %d × %d", name, info.Type, info.Dims, typ, rows, n)
		}
		got, err := weights.DecodeTensor(f, name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			step := 0.0
			switch typ {
			case gguf.F16:
				step = math.Abs(float64(want[i])) * 0x1p-10
			case gguf.Q8_0: // the block's scale, itself rounded to a half
				for _, v := range want[i/32*32 : i/32*32+32] {
					step = math.Max(step, math.Abs(float64(v))/127*(1+0x1p-10))
				}
				step *= 1 + 127*0x1p-10
			}
			if d := math.Abs(float64(got[i] - want[i])); !(d <= step/2) {
				t.Fatalf("%s[%d] is %v, was %v: off by %v, expected at most %v", name, i, got[i], want[i], d, step/2)
			}
		}
	}
	for key, want := range map[string]string{"general.architecture": "llama", "general.name": "Cera Stories",
		"general.license": "apache-2.0", "tokenizer.ggml.model": "llama"} {
		if got, err := f.String(key); err != nil || got != want {
			t.Errorf("%s is %q (%v), expected %q", key, got, err, want)
		}
	}
}

func TestConvertRejects(t *testing.T) {
	g, like := readGolden(t)
	// with returns the weights with one tensor changed.
	with := func(change string, rows, n int) *trace.Trace {
		tr := trace.New()
		for _, name := range like.Sites() {
			data, r, c, _ := like.Data(name)
			if name == change {
				if rows == 0 {
					continue
				}
				data, r, c = make([]float32, rows*n), rows, n
			}
			if err := tr.Append(name, r, c, data); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, _, ok := like.Data(change); !ok {
			if err := tr.Append(change, rows, n, make([]float32, rows*n)); err != nil {
				t.Fatal(err)
			}
		}
		return tr
	}
	edit := func(f func(*storymodel.Config)) storymodel.Config {
		c := g.Config
		f(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		trace  *trace.Trace
		config storymodel.Config
		format gguf.Type
		want   string
	}{
		{"missing tensor", with("blk.1.attn_k.weight", 0, 0), g.Config, gguf.F32, "blk.1.attn_k.weight is missing"},
		{"shape", with("blk.0.ffn_up.weight", 48, 31), g.Config, gguf.F32,
			"blk.0.ffn_up.weight is 48 × 31, expected 48 × 32"},
		{"unknown tensor", with("blk.2.attn_norm.weight", 1, 32), g.Config, gguf.F32,
			"blk.2.attn_norm.weight is not part"},
		{"vocabulary", like, edit(func(c *storymodel.Config) { c.Vocab = 289 }), gguf.F32,
			"vocabulary has 288 tokens, the model 289"},
		{"heads", like, edit(func(c *storymodel.Config) { c.Heads = 5 }), gguf.F32, "dim is 32"},
		{"kv heads", like, edit(func(c *storymodel.Config) { c.KVHeads = 3 }), gguf.F32, "kv_heads is 3"},
		{"layers", like, edit(func(c *storymodel.Config) { c.Layers = 0 }), gguf.F32, "layers is 0"},
		{"eps", like, edit(func(c *storymodel.Config) { c.Eps = float32(math.NaN()) }), gguf.F32, "eps is NaN"},
		{"format without encoder", like, g.Config, gguf.IQ4_NL, "can be read but not written"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := vocabulary(t, 288)
			err := storymodel.Convert(&bytes.Buffer{}, tc.trace, tc.config, v, tc.format)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, expected one with %q", err, tc.want)
			}
		})
	}
}

func TestReadConfigRejects(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "x", "invalid character"},
		{"unknown key", `{"vocab": 300, "width": 3}`, `unknown field "width"`},
		{"no layers", `{"vocab": 300, "ctx": 8, "dim": 32, "heads": 4, "kv_heads": 2, "ff": 8, "eps": 1e-5, "rope_base": 10000}`, "layers is 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := storymodel.ReadConfig(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, expected one with %q and %q", err, path, tc.want)
			}
		})
	}
}
