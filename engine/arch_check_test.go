package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"cera/check"
	"cera/engine"
	"cera/gguf"
)

// TestCheckArchs checks every norm and every op of every architecture: nothing fails and nothing that is there stays
// unmeasured.
func TestCheckArchs(t *testing.T) {
	files, err := filepath.Glob("../testdata/archs/*.gguf")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models in testdata: %v", len(files), err)
	}
	eachDevice(t, func(t *testing.T, device string) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".gguf")
			e := open(t, file, engine.Options{Device: device, UBatch: 8})
			r, err := e.CheckOps(ctx, engine.DefaultTokens(e.Config().Vocab, 14), engine.DriftOn, engine.OpFilter{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Verdict != check.Pass || r.Missed != 0 {
				t.Errorf("%s: %v, %d unmeasured, first fault %+v", name, r.Verdict, r.Missed, r.First)
			}
			measured := map[string]bool{}
			for _, s := range r.Sites {
				measured[s.Site] = s.Norm.Verdict == check.Pass && s.Weights.Verdict == check.Pass &&
					s.Drift.Verdict == check.Pass
			}
			// Every norm weight of the file has a site, by whatever name.
			f := openFile(t, file)
			norms := 0
			for _, tensor := range f.Tensors {
				if strings.HasSuffix(tensor.Name, "norm.weight") {
					norms++
				}
			}
			if norms != len(measured) || norms+len(r.Ops) != r.Passed {
				t.Errorf("%s: the file has %d norms, %d sites and %d ops were checked, %d passed", name, norms,
					len(measured), len(r.Ops), r.Passed)
			}
			for site, ok := range measured {
				if !ok {
					t.Errorf("%s: %s was not measured in full", name, site)
				}
			}
		}
	})
}

// changed copies a model with changes: of metadata, where nil deletes a key, and of tensors by f, which drops one by
// answering false.
func changed(t *testing.T, file string, set map[string]any, f func(tensor *gguf.Tensor, data *[]byte) bool,
	more func(w *gguf.Writer)) string {
	t.Helper()
	in := openFile(t, file)
	w := gguf.NewWriter()
	for _, kv := range in.Keys {
		if v, ok := set[kv.Key]; !ok {
			w.Set(kv.Key, kv.Value)
		} else if v != nil {
			w.Set(kv.Key, v)
		}
	}
	for k, v := range set {
		if !in.Has(k) && v != nil {
			w.Set(k, v)
		}
	}
	for i := range in.Tensors {
		tensor := in.Tensors[i]
		data, err := in.Data(&tensor)
		if err != nil {
			t.Fatal(err)
		}
		tensor.Dims = append([]uint64(nil), tensor.Dims...)
		if f == nil || f(&tensor, &data) {
			w.Add(tensor.Name, tensor.Type, tensor.Dims, data)
		}
	}
	if more != nil {
		more(w)
	}
	return written(t, w)
}

// TestWrongModels opens files that say one thing and hold another: each is refused by the name of the tensor or key.
func TestWrongModels(t *testing.T) {
	without := func(name string) func(*gguf.Tensor, *[]byte) bool {
		return func(tensor *gguf.Tensor, _ *[]byte) bool { return tensor.Name != name }
	}
	shaped := func(name string, dims ...uint64) func(*gguf.Tensor, *[]byte) bool {
		return func(tensor *gguf.Tensor, data *[]byte) bool {
			if tensor.Name == name {
				n := uint64(4)
				for _, d := range dims {
					n *= d
				}
				tensor.Dims, *data = dims, make([]byte, n)
			}
			return true
		}
	}
	for _, c := range []struct {
		name, model string
		set         map[string]any
		tensor      func(*gguf.Tensor, *[]byte) bool
		more        func(w *gguf.Writer)
		want        []string
	}{
		{"a tensor missing", "llama", nil, without("blk.1.ffn_up.weight"), nil,
			[]string{`"blk.1.ffn_up.weight"`, "missing", "[32, 48]"}},
		{"a post-norm missing", "gemma2", nil, without("blk.0.post_ffw_norm.weight"), nil,
			[]string{`"blk.0.post_ffw_norm.weight"`, "missing"}},
		{"experts missing", "mixtral", nil, without("blk.1.ffn_down_exps.weight"), nil,
			[]string{`"blk.1.ffn_down_exps.weight"`, "[48, 32, 4]"}},
		{"a tensor too many", "llama", nil, nil, func(w *gguf.Writer) {
			w.Add("blk.0.attn_rot_embd.weight", gguf.F32, []uint64{2}, make([]byte, 8))
		}, []string{`"blk.0.attn_rot_embd.weight"`, "expected no such tensor"}},
		{"q and k norms that the architecture has not", "qwen2", nil, nil, func(w *gguf.Writer) {
			w.Add("blk.0.attn_q_norm.weight", gguf.F32, []uint64{8}, make([]byte, 32))
		}, []string{`"blk.0.attn_q_norm.weight"`, "expected no such tensor"}},
		{"a matrix of another shape", "qwen3", nil, shaped("blk.0.attn_k.weight", 32, 63), nil,
			[]string{`"blk.0.attn_k.weight"`, "[32, 63]", "[32, 64]"}},
		{"a matrix turned over", "llama", nil, shaped("blk.0.ffn_down.weight", 32, 48), nil,
			[]string{`"blk.0.ffn_down.weight"`, "[32, 48]", "[48, 32]"}},
		{"experts of another number", "qwen3moe", nil, shaped("blk.0.ffn_up_exps.weight", 32, 48, 7), nil,
			[]string{"[32, 48, 7]", "[32, 48, 8]"}},
		{"an output of another vocabulary", "llama", nil, shaped("output.weight", 32, 63), nil,
			[]string{`"output.weight"`, "[32, 63]", "[32, 64]"}},
		{"a vocabulary that is not the embedding's", "phi3", map[string]any{"phi3.vocab_size": uint32(65)}, nil, nil,
			[]string{"phi3.vocab_size", "65", "64"}},
		{"heads that do not divide", "llama", map[string]any{"llama.attention.head_count": uint32(5)}, nil, nil,
			[]string{"llama.attention.head_count", "5"}},
		{"KV heads that do not divide", "gemma3", map[string]any{"gemma3.attention.head_count_kv": uint32(3)}, nil, nil,
			[]string{"gemma3.attention.head_count_kv", "3"}},
		{"KV heads that do not divide in one block", "llama",
			map[string]any{"llama.attention.head_count_kv": []int32{2, 3}}, nil, nil,
			[]string{"llama.attention.head_count_kv", "3 does not divide head_count 4 in block 1"}},
		{"heads of too few blocks", "smollm3", map[string]any{"smollm3.attention.head_count": []int32{4, 4}}, nil, nil,
			[]string{"smollm3.attention.head_count", "2 values", "5 blocks"}},
		{"KV heads of too many blocks", "qwen2", map[string]any{"qwen2.attention.head_count_kv": []int32{2, 2, 2}}, nil,
			nil,
			[]string{"qwen2.attention.head_count_kv", "3 values", "2 blocks"}},
		{"widths of too many blocks", "phi3", map[string]any{"phi3.feed_forward_length": []int32{48, 48, 48}}, nil, nil,
			[]string{"phi3.feed_forward_length", "3 values", "2 blocks"}},
		{"heads of a block that its tensors have not", "llama", map[string]any{
			"llama.attention.head_count": []int32{4, 6}, "llama.attention.key_length": uint32(8),
		}, nil, nil, []string{`"blk.1.attn_q.weight"`, "[32, 32]", "[32, 48]"}},
		{"a pattern of windows of too few blocks", "exaone4",
			map[string]any{"exaone4.attention.sliding_window_pattern": []bool{true}}, nil, nil,
			[]string{"exaone4.attention.sliding_window_pattern", "1 values", "5 blocks"}},
		{"a norm of heads missing", "exaone4", nil, without("blk.4.attn_k_norm.weight"), nil,
			[]string{`"blk.4.attn_k_norm.weight"`, "missing", "[16]"}},
		{"a norm of the stream where there is none", "exaone4", nil, nil, func(w *gguf.Writer) {
			w.Add("blk.0.attn_norm.weight", gguf.F32, []uint64{64}, make([]byte, 256))
		}, []string{`"blk.0.attn_norm.weight"`, "expected no such tensor"}},
		{"sinks of other heads", "gpt-oss", nil, shaped("blk.1.attn_sinks.weight", 5), nil,
			[]string{`"blk.1.attn_sinks.weight"`, "[5]", "[4]"}},
		{"rope factors of another width", "llama3-ropefreqs", nil, shaped("rope_freqs.weight", 8), nil,
			[]string{`"rope_freqs.weight"`, "[8]", "[4]"}},
		{"experts in an architecture that has none", "gemma", map[string]any{"gemma.expert_count": uint32(4)}, nil, nil,
			[]string{"gemma.expert_count", "4"}},
		{"more experts used than there are", "gpt-oss", map[string]any{"gpt-oss.expert_used_count": uint32(5)}, nil,
			nil, []string{"expert_used_count", "5"}},
		{"an unknown architecture", "llama", map[string]any{"general.architecture": "rwkv7"}, nil, nil,
			[]string{`"rwkv7"`, "known: llama"}},
		{"an unknown rope scaling", "llama", map[string]any{"llama.rope.scaling.type": "ntk"}, nil, nil,
			[]string{"rope.scaling.type", `"ntk"`}},
		{"a parallel residual", "stablelm", map[string]any{"stablelm.use_parallel_residual": true}, nil, nil,
			[]string{"use_parallel_residual"}},
		{"a norm in blocks", "llama", nil, func(tensor *gguf.Tensor, data *[]byte) bool {
			if tensor.Name == "blk.0.attn_norm.weight" {
				tensor.Type, *data = gguf.Q8_0, make([]byte, 34)
			}
			return true
		}, nil, []string{`"blk.0.attn_norm.weight"`, "Q8_0", "F32, F16 or BF16"}},
		{"a matrix of integers", "llama", nil, func(tensor *gguf.Tensor, data *[]byte) bool {
			if tensor.Name == "blk.0.attn_q.weight" {
				tensor.Type = gguf.I32
			}
			return true
		}, nil, []string{`"blk.0.attn_q.weight"`, "I32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := "../testdata/archs/" + c.model + ".gguf"
			if c.model == "exaone4" { // of which there is none in testdata
				model = tinyCase{arch: c.model}.write(t)
			}
			path := changed(t, model, c.set, c.tensor, c.more)
			_, err := engine.Open(path, engine.Options{Device: "cpu"})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range append(c.want, path) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
	// The same copy without a change runs.
	if e := open(t, changed(t, "../testdata/archs/gpt-oss.gguf", nil, nil, nil),
		engine.Options{Device: "cpu"}); e.Config().Layers != 2 {
		t.Error("the copy is another model")
	}
}

// TestHalfNorms runs models whose norms and biases are F16 or BF16: checks hold the device against the file's values.
func TestHalfNorms(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		for _, typ := range []gguf.Type{gguf.F16, gguf.BF16} {
			for _, model := range []string{"qwen2", "starcoder2", "gemma3", "gpt-oss"} {
				path := changed(t, "../testdata/archs/"+model+".gguf", nil,
					func(tensor *gguf.Tensor, data *[]byte) bool {
						if len(tensor.Dims) == 1 {
							tensor.Type, *data = typ, halved(t, typ, *data)
						}
						return true
					}, nil)
				e := open(t, path, engine.Options{Device: device})
				r, err := e.CheckOps(ctx, engine.DefaultTokens(64, 10), engine.DriftOn, engine.OpFilter{})
				if err != nil || r.ExitCode() != 0 {
					t.Errorf("%s, vectors in %v: %v, first fault %+v", model, typ, err, r.First)
				}
			}
		}
	})
}
