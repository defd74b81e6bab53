package storymodel

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/trace"
	"cera/weights"
)

const (
	modelName   = "Cera Stories"
	description = "Writes short stories for children in simple English. Trained from nothing on stories that Cera's " +
		"own story grammar made; " +
		"no other text is in it. See internal/storymodel in Cera's source."
)

// Config is the shape of the trained model, as train.py writes it to config.json.
type Config struct {
	Vocab    int     `json:"vocab"`
	Ctx      int     `json:"ctx"`
	Dim      int     `json:"dim"`
	Layers   int     `json:"layers"`
	Heads    int     `json:"heads"`
	KVHeads  int     `json:"kv_heads"`
	FF       int     `json:"ff"`
	Eps      float32 `json:"eps"`
	RopeBase float32 `json:"rope_base"`
}

// ReadConfig reads config.json.
func ReadConfig(path string) (Config, error) {
	var c Config
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.validate(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c Config) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"vocab", c.Vocab}, {"ctx", c.Ctx}, {"dim", c.Dim}, {"layers", c.Layers}, {"heads", c.Heads},
		{"kv_heads", c.KVHeads}, {"ff", c.FF}} {
		if f.value < 1 || f.value > 1<<20 {
			return fmt.Errorf("%s is %d, expected 1 to %d", f.name, f.value, 1<<20)
		}
	}
	switch {
	case c.Dim%c.Heads != 0 || c.Dim/c.Heads%2 != 0:
		return fmt.Errorf("dim is %d, expected an even number of elements for each of %d heads", c.Dim, c.Heads)
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("kv_heads is %d, expected a divisor of %d heads", c.KVHeads, c.Heads)
	case !(c.Eps > 0) || c.Eps-c.Eps != 0:
		return fmt.Errorf("eps is %v, expected a finite number above 0", c.Eps)
	case !(c.RopeBase > 0) || c.RopeBase-c.RopeBase != 0:
		return fmt.Errorf("rope_base is %v, expected a finite number above 0", c.RopeBase)
	}
	return nil
}

// shape is one tensor of the model: a vector, or a matrix of rows × n.
type shape struct {
	name    string
	rows, n int // rows is 0 for a vector
}

// shapes lists the model's tensors in file order.
func (c Config) shapes() []shape {
	kv := c.Dim / c.Heads * c.KVHeads
	list := []shape{{"token_embd.weight", c.Vocab, c.Dim}, {"output_norm.weight", 0, c.Dim}}
	for i := range c.Layers {
		for _, s := range []shape{
			{"attn_norm", 0, c.Dim}, {"attn_q", c.Dim, c.Dim}, {"attn_k", kv, c.Dim}, {"attn_v", kv, c.Dim},
			{"attn_output", c.Dim, c.Dim},
			{"ffn_norm", 0, c.Dim}, {"ffn_gate", c.FF, c.Dim}, {"ffn_up", c.FF, c.Dim}, {"ffn_down", c.Dim, c.FF},
		} {
			s.name = fmt.Sprintf("blk.%d.%s.weight", i, s.name)
			list = append(list, s)
		}
	}
	return list
}

// Convert writes a trained model as a GGUF file. The tensors of t have GGUF's names and order of elements, queries and
// keys with the pairs of rope side by side. Matrices are encoded in format, or in F16 where a row is no whole number of
// blocks; vectors are F32. A tensor that is missing, misshapen or not known is an error.
func Convert(w io.Writer, t *trace.Trace, c Config, v *Vocabulary, format gguf.Type) error {
	if err := c.validate(); err != nil {
		return err
	}
	if len(v.Tokens) != c.Vocab {
		return fmt.Errorf("the vocabulary has %d tokens, the model %d", len(v.Tokens), c.Vocab)
	}
	f, err := weights.FormatOf(format)
	if err != nil {
		return err
	}
	out := gguf.NewWriter()
	c.set(out, f)
	v.set(out)
	unknown := t.Sites()
	for _, s := range c.shapes() {
		data, rows, n, ok := t.Data(s.name)
		if !ok {
			return fmt.Errorf("tensor %s is missing", s.name)
		}
		if rows != max(s.rows, 1) || n != s.n {
			return fmt.Errorf("tensor %s is %d × %d, expected %d × %d", s.name, rows, n, max(s.rows, 1), s.n)
		}
		if err := s.add(out, f, data); err != nil {
			return fmt.Errorf("tensor %s: %w", s.name, err)
		}
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == s.name })
	}
	if len(unknown) > 0 {
		return fmt.Errorf("tensor %s is not part of a llama with %d blocks", unknown[0], c.Layers)
	}
	_, err = out.WriteTo(w)
	return err
}

func (s shape) add(out *gguf.Writer, f backend.Format, data []float32) error {
	dims := []uint64{uint64(s.n), uint64(s.rows)}
	switch {
	case s.rows == 0:
		f, dims = backend.F32, dims[:1]
	case s.n%f.Block() != 0:
		f = backend.F16
	}
	b := make([]byte, f.RowBytes(len(data)))
	if err := weights.Encode(b, f, data); err != nil {
		return err
	}
	typ, err := weights.TypeOf(f)
	if err != nil {
		return err
	}
	out.Add(s.name, typ, dims, b)
	return nil
}

// fileTypes are the values of general.file_type: what most matrices are.
var fileTypes = map[backend.Format]uint32{backend.F32: 0, backend.F16: 1, backend.Q8_0: 7}

// set writes the keys that describe the model.
func (c Config) set(w *gguf.Writer, f backend.Format) {
	w.Set("general.architecture", "llama")
	w.Set("general.name", modelName)
	w.Set("general.description", description)
	w.Set("general.license", "apache-2.0")
	w.Set("general.languages", []string{"en"})
	w.Set("general.quantization_version", uint32(2))
	if t, ok := fileTypes[f]; ok {
		w.Set("general.file_type", t)
	}
	w.Set("llama.vocab_size", uint32(c.Vocab))
	w.Set("llama.context_length", uint32(c.Ctx))
	w.Set("llama.embedding_length", uint32(c.Dim))
	w.Set("llama.block_count", uint32(c.Layers))
	w.Set("llama.feed_forward_length", uint32(c.FF))
	w.Set("llama.attention.head_count", uint32(c.Heads))
	w.Set("llama.attention.head_count_kv", uint32(c.KVHeads))
	w.Set("llama.attention.layer_norm_rms_epsilon", c.Eps)
	w.Set("llama.rope.freq_base", c.RopeBase)
	w.Set("llama.rope.dimension_count", uint32(c.Dim/c.Heads))
}
