package tinymodel

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cera/gguf"
	"cera/weights"
)

// model writes a model and opens it again.
func model(t *testing.T, o Options) (*gguf.File, []byte) {
	t.Helper()
	var buf bytes.Buffer
	n, err := Write(&buf, o)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(buf.Len()) {
		t.Fatalf("Write returned %d bytes, wrote %d", n, buf.Len())
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), n)
	if err != nil {
		t.Fatal(err)
	}
	return f, buf.Bytes()
}

// small is quick to write, and no width of it equals another.
func small() Options {
	return Options{
		Seed: 3, Layers: 2, Dim: 48, FF: 36, Heads: 6, KVHeads: 3, Vocab: 50, Ctx: 64,
		Format: gguf.F32, Eps: 1e-5, RopeBase: 10000,
	}
}

// The bytes are pinned: a change of the generator shows here, and on a platform that rounds differently.
func TestPinned(t *testing.T) {
	all := Default()
	all.RopeFreqs, all.QKVBias, all.OutputBias, all.TiedOutput, all.HeadDim, all.Format = true, true, true, true, 24,
		gguf.Q5_1
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"default", Default(), "e0f22397aa1a60e0f24602a6042ff1e89932ae3a88263d9153ae32d2cc83b508"},
		{"small", small(), "e7277d8bf53954cc07bd4c97db057c15ace5406d489768e0c0b780e5d329d10c"},
		{"every option", all, "6d0c5551b697112f2f5bca2c7c7080136f7522c86cbe70009087b33a456f00f6"},
	} {
		_, data := model(t, c.o)
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != c.want {
			t.Errorf("%s: %d bytes with sha256 %s, expected %s", c.name, len(data), got, c.want)
		}
		if _, again := model(t, c.o); !bytes.Equal(again, data) {
			t.Errorf("%s: other bytes the second time", c.name)
		}
	}
}

func TestDefaultIsSmall(t *testing.T) {
	f, data := model(t, Default())
	if len(data) >= 200_000 {
		t.Errorf("%d bytes, expected less than 200,000", len(data))
	}
	if ts, _ := f.Tensor("blk.0.ffn_down.weight"); ts == nil || ts.Type != gguf.F16 {
		t.Errorf("ffn_down is %+v, expected an F16 tensor", ts)
	}
}

// shapes returns the tensors of a model as "name type [dims]".
func shapes(f *gguf.File) []string {
	var s []string
	for _, t := range f.Tensors {
		s = append(s, fmt.Sprintf("%s %v %v", t.Name, t.Type, t.Dims))
	}
	return s
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		add    []string // tensors and keys that the small model lacks
		drop   []string // tensors that only the small model has
	}{
		{name: "TiedOutput", change: func(o *Options) { o.TiedOutput = true },
			drop: []string{"output.weight F32 [48 50]"}},
		{name: "RopeFreqs", change: func(o *Options) { o.RopeFreqs = true },
			add: []string{"rope_freqs.weight F32 [4]"}},
		{name: "QKVBias", change: func(o *Options) { o.QKVBias, o.Layers = true, 1 },
			add:  []string{"blk.0.attn_q.bias F32 [48]", "blk.0.attn_k.bias F32 [24]", "blk.0.attn_v.bias F32 [24]"},
			drop: block(1)},
		{name: "OutputBias", change: func(o *Options) { o.OutputBias = true },
			add: []string{"blk.0.attn_output.bias F32 [48]", "blk.1.attn_output.bias F32 [48]"}},
		{name: "HeadDim", change: func(o *Options) { o.HeadDim, o.Layers = 10, 1 },
			add: []string{
				"blk.0.attn_q.weight F32 [48 60]", "blk.0.attn_k.weight F32 [48 30]",
				"blk.0.attn_v.weight F32 [48 30]", "blk.0.attn_output.weight F32 [60 48]",
				"llama.attention.key_length = 10", "llama.attention.value_length = 10",
			},
			drop: append(block(1), "blk.0.attn_q.weight F32 [48 48]", "blk.0.attn_k.weight F32 [48 24]",
				"blk.0.attn_v.weight F32 [48 24]", "blk.0.attn_output.weight F32 [48 48]")},
		{name: "Layers", change: func(o *Options) { o.Layers = 3 }, add: block(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := model(t, small())
			o := small()
			c.change(&o)
			after, _ := model(t, o)
			had, has := content(before), content(after)
			diff(t, "added", has, had, c.add)
			diff(t, "dropped", had, has, c.drop)
		})
	}
}

// block returns the tensors of one block of the small model.
func block(i int) []string {
	var s []string
	for _, t := range []string{
		"attn_norm.weight F32 [48]", "attn_q.weight F32 [48 48]", "attn_k.weight F32 [48 24]",
		"attn_v.weight F32 [48 24]",
		"attn_output.weight F32 [48 48]", "ffn_norm.weight F32 [48]", "ffn_gate.weight F32 [48 36]",
		"ffn_up.weight F32 [48 36]", "ffn_down.weight F32 [36 48]",
	} {
		s = append(s, fmt.Sprintf("blk.%d.%s", i, t))
	}
	return s
}

// content returns tensors and the keys of the head width.
func content(f *gguf.File) []string {
	s := shapes(f)
	for _, kv := range f.Keys {
		if strings.HasSuffix(kv.Key, "_length") && strings.HasPrefix(kv.Key, "llama.attention.") {
			s = append(s, fmt.Sprintf("%s = %v", kv.Key, kv.Value))
		}
	}
	return s
}

// diff fails unless the entries of a that b lacks are want.
func diff(t *testing.T, what string, a, b, want []string) {
	t.Helper()
	var got []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			got = append(got, s)
		}
	}
	want = slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%s\nexpected\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetadata(t *testing.T) {
	o := small()
	o.Eps, o.RopeBase = 1e-6, 500000
	f, _ := model(t, o)
	want := map[string]any{
		"general.architecture":                   "llama",
		"general.name":                           "cera tiny llama",
		"llama.vocab_size":                       uint32(50),
		"llama.context_length":                   uint32(64),
		"llama.embedding_length":                 uint32(48),
		"llama.block_count":                      uint32(2),
		"llama.feed_forward_length":              uint32(36),
		"llama.attention.head_count":             uint32(6),
		"llama.attention.head_count_kv":          uint32(3),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-6),
		"llama.rope.freq_base":                   float32(500000),
		"llama.rope.dimension_count":             uint32(8),
		"tokenizer.ggml.model":                   "no_vocab",
	}
	for _, kv := range f.Keys {
		if w, ok := want[kv.Key]; !ok || kv.Value != w {
			t.Errorf("%s = %v (%T), expected %v (%T)", kv.Key, kv.Value, kv.Value, w, w)
		}
		delete(want, kv.Key)
	}
	for key := range want {
		t.Errorf("key %s is missing", key)
	}
}

// Matrices have the asked type where their rows fit its blocks, and F16 elsewhere; vectors stay F32.
func TestFormats(t *testing.T) {
	for _, typ := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q4_0, gguf.Q4_1, gguf.Q5_0, gguf.Q5_1,
		gguf.Q8_0, gguf.Q4_K} {
		o := Default()
		o.Format, o.QKVBias, o.OutputBias, o.RopeFreqs, o.Layers = typ, true, true, true, 1
		f, _ := model(t, o)
		for _, ts := range f.Tensors {
			want := typ
			switch {
			case len(ts.Dims) == 1:
				want = gguf.F32
			case ts.Dims[0]%uint64(typ.Block()) != 0:
				want = gguf.F16
			}
			if ts.Type != want {
				t.Errorf("format %v: %s %v is %v, expected %v", typ, ts.Name, ts.Dims, ts.Type, want)
			}
		}
	}
}

// Values do not depend on what else is in the file, and differ between tensors, layers and seeds.
func TestStreams(t *testing.T) {
	values := func(o Options, name string) []float32 {
		f, _ := model(t, o)
		v, err := weights.DecodeTensor(f, name)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	a := small()
	b := small()
	b.Layers, b.QKVBias, b.RopeFreqs, b.TiedOutput = 1, true, true, true
	c := small()
	c.Seed++
	const name = "blk.0.attn_q.weight"
	if !slices.Equal(values(a, name), values(b, name)) {
		t.Error("other options changed a tensor")
	}
	if slices.Equal(values(a, name), values(c, name)) {
		t.Error("another seed gave the same tensor")
	}
	if slices.Equal(values(a, "blk.0.attn_q.weight"), values(a, "blk.1.attn_q.weight")) {
		t.Error("two layers have the same weights")
	}
	if slices.Equal(values(a, "blk.0.ffn_gate.weight"), values(a, "blk.0.ffn_up.weight")) {
		t.Error("two matrices have the same weights")
	}
}

// Every tensor has the magnitude that keeps activations of unit size, and norm weights that matter.
func TestMagnitudes(t *testing.T) {
	o := Default()
	o.Format, o.QKVBias, o.OutputBias, o.RopeFreqs, o.HeadDim = gguf.F32, true, true, true, 24
	f, _ := model(t, o)
	for _, ts := range f.Tensors {
		v, err := weights.DecodeTensor(f, ts.Name)
		if err != nil {
			t.Fatal(err)
		}
		var sum, sq float64
		for _, x := range v {
			sum += float64(x)
			sq += float64(x) * float64(x)
		}
		n := float64(len(v))
		mean := sum / n
		std := math.Sqrt(sq/n - mean*mean)
		wantMean, wantStd := 0.0, 0.1
		switch {
		case len(ts.Dims) == 2:
			wantStd = 1 / math.Sqrt(float64(ts.Dims[0]))
			if strings.HasSuffix(ts.Name, "attn_output.weight") || strings.HasSuffix(ts.Name, "ffn_down.weight") {
				wantStd *= delta
			}
		case strings.HasSuffix(ts.Name, "norm.weight"):
			wantMean, wantStd = 1, 0.4/math.Sqrt(12)
			if lo, hi := slices.Min(v), slices.Max(v); lo < 0.8 || hi > 1.2 {
				t.Errorf("%s: %v to %v, expected 0.8 to 1.2", ts.Name, lo, hi)
			}
		case ts.Name == "rope_freqs.weight":
			if v[0] != 1 || v[len(v)-1] != 8 || !slices.IsSorted(v) {
				t.Errorf("%s: %v, expected to grow from 1 to 8", ts.Name, v)
			}
			continue
		}
		// Five standard errors of each estimate.
		if !(math.Abs(mean-wantMean) < 5*wantStd/math.Sqrt(n)) || !(math.Abs(std/wantStd-1) < 5/math.Sqrt(2*n)) {
			t.Errorf("%s: mean %.4f, standard deviation %.4f, expected %.4f and %.4f", ts.Name, mean, std, wantMean,
				wantStd)
		}
	}
}

func TestReject(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		want   string
		change func(*Options)
	}{
		{"Layers is 0", func(o *Options) { o.Layers = 0 }},
		{"Dim is -1", func(o *Options) { o.Dim = -1 }},
		{"FF is 0", func(o *Options) { o.FF = 0 }},
		{"Heads is 0", func(o *Options) { o.Heads = 0 }},
		{"KVHeads is 0", func(o *Options) { o.KVHeads = 0 }},
		{"KVHeads is 4, expected a divisor of Heads (6)", func(o *Options) { o.KVHeads = 4 }},
		{"KVHeads is 12, expected a divisor of Heads (6)", func(o *Options) { o.KVHeads = 12 }},
		{"Vocab is 0", func(o *Options) { o.Vocab = 0 }},
		{"Vocab is 1048577", func(o *Options) { o.Vocab = 1<<20 + 1 }},
		{"Ctx is 0", func(o *Options) { o.Ctx = 0 }},
		{"Dim is 50, expected a multiple of Heads (6)", func(o *Options) { o.Dim = 50 }},
		{"a head has 9 elements, expected an even number", func(o *Options) { o.HeadDim = 9 }},
		{"a head has 1 elements, expected an even number", func(o *Options) { o.Dim, o.FF = 6, 6 }},
		{"a head has -2 elements", func(o *Options) { o.HeadDim = -2 }},
		{"a head has 262144 elements", func(o *Options) { o.HeadDim = 1 << 18 }},
		{"elements, expected at most", func(o *Options) { o.Vocab, o.Dim, o.HeadDim = 1<<20, 1<<20, 2 }},
		{"Format: tensor type Q8_K is not supported", func(o *Options) { o.Format = gguf.Q8_K }},
		{"Format: Q6_K can be read but not written", func(o *Options) { o.Format = gguf.Q6_K }},
		{`Arch is "rwkv"`, func(o *Options) { o.Arch = "rwkv" }},
		{"RotDim is 10, expected an even number up to the head's 8", func(o *Options) { o.RotDim = 10 }},
		{"RotDim is 3", func(o *Options) { o.RotDim = 3 }},
		{"RotDim is -2", func(o *Options) { o.RotDim = -2 }},
		{"BlockHeads has 1 values, expected one for each of Layers (2)", func(o *Options) { o.BlockHeads = []int{6} }},
		{"BlockKVHeads has 3 values, expected one for each of Layers (2)",
			func(o *Options) { o.BlockKVHeads = []int{3, 3, 3} }},
		{"a block has 0 query heads", func(o *Options) { o.BlockHeads = []int{6, 0} }},
		{"a block has 131073 query heads",
			func(o *Options) { o.BlockHeads, o.BlockKVHeads = []int{6, 1<<17 + 1}, []int{1, 1} }},
		{"a block has 4 KV heads, expected a divisor of its 6 query heads",
			func(o *Options) { o.BlockKVHeads = []int{3, 4} }},
		{"a block has 0 KV heads", func(o *Options) { o.BlockKVHeads = []int{0, 3} }},
		{"Windowed has 3 values, expected one for each of Layers (2)",
			func(o *Options) { o.Windowed = make([]bool, 3) }},
		{"Window is -1", func(o *Options) { o.Window = -1 }},
		{"OrigCtx is -1", func(o *Options) { o.OrigCtx = -1 }},
		{"Experts is -1", func(o *Options) { o.Experts = -1 }},
		{"Experts is 4, expected 0 for gemma", func(o *Options) { o.Arch, o.Experts, o.ExpertsUsed = "gemma", 4, 2 }},
		{"ExpertsUsed is 5, expected 1 to Experts (4)", func(o *Options) { o.Experts, o.ExpertsUsed = 4, 5 }},
		{"ExpertsUsed is 0", func(o *Options) { o.Experts = 4 }},
		{"ExpertsUsed, ExpertFF and SharedFF are 0, 0 and 8, expected 0", func(o *Options) { o.SharedFF = 8 }},
		{"Vectors is Q8_0, expected F32, F16 or BF16", func(o *Options) { o.Vectors = gguf.Q8_0 }},
		{"elements, expected at most", func(o *Options) { o.Experts, o.ExpertsUsed, o.ExpertFF = 1024, 1, 1<<20 }},
		{"elements, expected at most", func(o *Options) { o.Arch, o.FF, o.Dim, o.HeadDim = "phi3", 1<<20, 1024, 2 }},
		{"RopeFactor is -1", func(o *Options) { o.RopeFactor = -1 }},
		{"AttnSoftcap is NaN", func(o *Options) { o.AttnSoftcap = nan }},
		{"FinalSoftcap is +Inf", func(o *Options) { o.FinalSoftcap = inf }},
		{"Eps is -1", func(o *Options) { o.Eps = -1 }},
		{"Eps is NaN", func(o *Options) { o.Eps = nan }},
		{"Eps is +Inf", func(o *Options) { o.Eps = inf }},
		{"RopeBase is 0", func(o *Options) { o.RopeBase = 0 }},
		{"RopeBase is NaN", func(o *Options) { o.RopeBase = nan }},
		{"Layers is 0", func(o *Options) { *o = Options{} }},
	} {
		o := small()
		c.change(&o)
		var buf bytes.Buffer
		n, err := Write(&buf, o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected %q", err, c.want)
		}
		if n != 0 || buf.Len() != 0 {
			t.Errorf("%q: %d bytes written", c.want, buf.Len())
		}
	}
	o := small()
	o.Eps = 0
	if _, err := Write(new(bytes.Buffer), o); err != nil {
		t.Errorf("Eps 0: %v", err)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	if n, err := Write(fullDisk{}, small()); !errors.Is(err, errFull) || n != 0 {
		t.Errorf("%d bytes, error %v, expected %v", n, err, errFull)
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		var buf bytes.Buffer
		n, err := Write(&buf, Default())
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}
