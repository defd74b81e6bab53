package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/gguf"
	"cera/internal/storymodel"
	"cera/trace"
)

func TestRejects(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no command", nil, "usage: make COMMAND"},
		{"unknown command", []string{"train"}, "usage: make COMMAND"},
		{"argument", []string{"text", "5"}, `"5" is no flag`},
		{"data without folder", []string{"data"}, "-out is missing"},
		{"data without stories", []string{"data", "-out", dir, "-stories", "0"}, "expected a seed"},
		{"format", []string{"convert", "-run", dir, "-data", dir, "-out", dir, "-format", "q3"}, "one of the formats"},
		{"no run", []string{"convert", "-run", dir, "-data", dir, "-out", dir}, "config.json"},
		{"judge without model", []string{"judge", "-out", dir}, "expected -model"},
		{"judge of a missing file", []string{"judge", "-out", dir, "-model", filepath.Join(dir, "no.gguf")}, "no.gguf"},
		{"figures of an empty folder", []string{"figures", "-dir", dir}, "data.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := run(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, expected one with %q", err, tc.want)
			}
		})
	}
}

// From nothing to a GGUF file and its verdict, with random weights in place of trained ones.
func TestAllSteps(t *testing.T) {
	data, runDir, model := t.TempDir(), t.TempDir(), t.TempDir()
	step := func(args ...string) {
		t.Helper()
		if err := run(args); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	step("data", "-out", data, "-stories", "100", "-heldout", "5", "-vocab", "600", "-vocab-from", "100")
	c := storymodel.Config{Vocab: 600, Ctx: 512, Dim: 32, Layers: 1, Heads: 2, KVHeads: 1, FF: 32, Eps: 1e-5,
		RopeBase: 10000}
	if err := storymodel.WriteJSON(filepath.Join(runDir, "config.json"), c); err != nil {
		t.Fatal(err)
	}
	writeWeights(t, filepath.Join(runDir, "model.safetensors"), c)
	file := filepath.Join(model, storymodel.FileName)
	step("convert", "-run", runDir, "-data", data, "-out", file)
	step("judge", "-model", file, "-out", model, "-n", "2", "-known", "50")

	f, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if q, ok := f.Tensor("blk.0.ffn_down.weight"); !ok || q.Type != gguf.Q8_0 {
		t.Errorf("ffn_down is %+v", q)
	}
	var v storymodel.Verdict
	b, err := os.ReadFile(filepath.Join(model, storymodel.JudgeName))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	// All weights are zero but the norms, so every token is as likely as any other.
	if err != nil || v.Perplexity < 599.99 || v.Perplexity > 600.01 || v.Model.Stories != 2 ||
		v.HeldOut.Faultless != 1 {
		t.Errorf("verdict %+v (%v)", v, err)
	}

	if err := os.WriteFile(filepath.Join(model, storymodel.RunName), []byte(`{"parameters": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	counts, err := os.ReadFile(filepath.Join(data, storymodel.CountsName))
	if err == nil {
		err = os.WriteFile(filepath.Join(model, storymodel.CountsName), counts, 0o600)
	}
	readme := filepath.Join(t.TempDir(), "README.md")
	if err == nil {
		err = os.WriteFile(readme, []byte("<!-- figures: written by make figures -->\n<!-- end of figures -->\n"),
			0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	step("figures", "-dir", model, "-readme", readme)
	if b, err := os.ReadFile(readme); err != nil || !strings.Contains(string(b), "| parameters | 7 |") {
		t.Errorf("%s (%v)", b, err)
	}
}

// writeWeights writes weights of zeros, with norms of ones.
func writeWeights(t *testing.T, path string, c storymodel.Config) {
	t.Helper()
	tr := trace.New()
	add := func(name string, rows, n int, value float32) {
		data := make([]float32, rows*n)
		for i := range data {
			data[i] = value
		}
		if err := tr.Append(name, rows, n, data); err != nil {
			t.Fatal(err)
		}
	}
	kv := c.Dim / c.Heads * c.KVHeads
	add("token_embd.weight", c.Vocab, c.Dim, 0)
	add("output_norm.weight", 1, c.Dim, 1)
	add("blk.0.attn_norm.weight", 1, c.Dim, 1)
	add("blk.0.attn_q.weight", c.Dim, c.Dim, 0)
	add("blk.0.attn_k.weight", kv, c.Dim, 0)
	add("blk.0.attn_v.weight", kv, c.Dim, 0)
	add("blk.0.attn_output.weight", c.Dim, c.Dim, 0)
	add("blk.0.ffn_norm.weight", 1, c.Dim, 1)
	add("blk.0.ffn_gate.weight", c.FF, c.Dim, 0)
	add("blk.0.ffn_up.weight", c.FF, c.Dim, 0)
	add("blk.0.ffn_down.weight", c.Dim, c.FF, 0)
	writeSafetensors(t, path, tr)
}

// writeSafetensors writes a trace as train.py writes a model.
func writeSafetensors(t *testing.T, path string, tr *trace.Trace) {
	t.Helper()
	header := map[string]any{}
	var data []byte
	for _, name := range tr.Sites() {
		values, rows, n, _ := tr.Data(name)
		start := len(data)
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": []int{rows, n}, "data_offsets": []int{start, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	out = append(append(out, text...), data...)
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}
