package layers

import (
	"fmt"
	"math"
	"strings"

	"cera/backend"
)

// Arch is one row of the architecture table: everything in which llama-like models differ, as small enums.
type Arch struct {
	Name string             // general.architecture
	Rope backend.RopeStyle  // which elements of a head rotate together
	Act  backend.Activation // of the MLP's gate
}

// archs is the architecture table.
var archs = []Arch{
	{Name: "llama", Rope: backend.RopeNorm, Act: backend.SiLU},
}

// Archs returns the names of the architectures that ReadConfig accepts.
func Archs() []string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.Name
	}
	return names
}

// Keys reads GGUF metadata; *gguf.File is one. Getters fail for a key that is missing or of another type.
type Keys interface {
	Has(key string) bool
	String(key string) (string, error)
	Uint(key string) (uint64, error)
	Float(key string) (float64, error)
}

// Config is a row of the architecture table with a file's hyperparameters.
type Config struct {
	Arch
	Layers   int     // transformer blocks
	Embd     int     // width of the residual stream
	FF       int     // width of the MLP
	Heads    int     // query heads
	KVHeads  int     // key and value heads; divides Heads
	HeadDim  int     // elements a head
	RotDim   int     // leading elements of a head that rotate
	Vocab    int     // rows of the embedding
	Ctx      int     // positions the model was trained for
	Eps      float32 // under the root of every norm
	RopeBase float32 // θ of pair j is RopeBase^(-2j/RotDim)
}

// unsupported lists keys that change the arithmetic in ways the forward pass does not know; each is refused unless
// it has the neutral value.
var unsupported = []struct {
	key     string
	neutral float64
}{
	{"expert_count", 0},
	{"rope.scale_linear", 1},
	{"attention.clamp_kqv", 0},
	{"logit_scale", 1},
	{"residual_scale", 1},
	{"embedding_scale", 1},
	{"attention.scale", 0},
}

// ReadConfig finds the architecture's row and fills it from the metadata. vocab is the number of rows of the
// embedding; maxLayers bounds the block count by the number of tensors that the file has.
func ReadConfig(k Keys, vocab, maxLayers int) (Config, error) {
	name, err := k.String("general.architecture")
	if err != nil {
		return Config{}, err
	}
	c := Config{Vocab: vocab}
	for _, a := range archs {
		if a.Name == name {
			c.Arch = a
		}
	}
	if c.Arch.Name == "" {
		return Config{}, fmt.Errorf("general.architecture: %q is not supported; known: %s", name, strings.Join(Archs(), ", "))
	}
	r := keyReader{k: k, prefix: name + "."}
	// The widest row any supported file can have; keeps products of two within 64 bits and typos from allocating.
	const maxWidth = 1 << 24
	c.Layers = r.int("block_count", -1, maxLayers)
	c.Embd = r.int("embedding_length", -1, maxWidth)
	c.FF = r.int("feed_forward_length", -1, maxWidth)
	c.Ctx = r.int("context_length", -1, math.MaxInt32)
	c.Heads = r.int("attention.head_count", -1, maxWidth)
	c.KVHeads = r.int("attention.head_count_kv", c.Heads, maxWidth)
	c.Eps = r.float("attention.layer_norm_rms_epsilon", math.NaN())
	c.RopeBase = r.float("rope.freq_base", 10000)
	if r.err != nil {
		return Config{}, r.err
	}
	if c.Embd%c.Heads != 0 && !k.Has(r.prefix+"attention.key_length") {
		return Config{}, fmt.Errorf("%sattention.head_count: %d heads do not divide embedding_length %d, and key_length is not given",
			r.prefix, c.Heads, c.Embd)
	}
	if c.Heads%c.KVHeads != 0 {
		return Config{}, fmt.Errorf("%sattention.head_count_kv: %d does not divide head_count %d", r.prefix, c.KVHeads, c.Heads)
	}
	c.HeadDim = r.int("attention.key_length", c.Embd/c.Heads, maxWidth)
	c.RotDim = r.int("rope.dimension_count", c.HeadDim, maxWidth)
	valueDim := r.int("attention.value_length", c.HeadDim, maxWidth)
	r.refuse()
	switch {
	case r.err != nil:
		return Config{}, r.err
	case valueDim != c.HeadDim:
		return Config{}, fmt.Errorf("%sattention.value_length: %d differs from key_length %d, which is not supported", r.prefix, valueDim, c.HeadDim)
	case c.RotDim > c.HeadDim || c.RotDim%2 != 0:
		return Config{}, fmt.Errorf("%srope.dimension_count: %d is not an even number up to the head's %d", r.prefix, c.RotDim, c.HeadDim)
	case !(c.Eps >= 0) || math.IsInf(float64(c.Eps), 0):
		return Config{}, fmt.Errorf("%sattention.layer_norm_rms_epsilon: %g is not a number >= 0", r.prefix, c.Eps)
	case !(c.RopeBase > 0) || math.IsInf(float64(c.RopeBase), 0):
		return Config{}, fmt.Errorf("%srope.freq_base: %g is not a number > 0", r.prefix, c.RopeBase)
	case c.Vocab < 1:
		return Config{}, fmt.Errorf("token_embd.weight: no rows")
	}
	return c, nil
}

// keyReader reads keys under a prefix until the first error.
type keyReader struct {
	k      Keys
	prefix string
	err    error
}

// int reads a count from 1 to limit. A missing key gives def, or an error where def is negative.
func (r *keyReader) int(key string, def, limit int) int {
	key = r.prefix + key
	if r.err != nil || !r.k.Has(key) && def >= 0 {
		return def
	}
	v, err := r.k.Uint(key)
	switch {
	case err != nil:
		r.err = err
	case v < 1 || v > uint64(limit):
		r.err = fmt.Errorf("%s: %d is not between 1 and %d", key, v, limit)
	}
	return int(v)
}

// float reads a number. A missing key gives def, or an error where def is NaN.
func (r *keyReader) float(key string, def float64) float32 {
	key = r.prefix + key
	if r.err != nil || !r.k.Has(key) && !math.IsNaN(def) {
		return float32(def)
	}
	v, err := r.k.Float(key)
	if err != nil {
		r.err = err
	}
	return float32(v)
}

// refuse fails for keys that ask for arithmetic the forward pass does not have.
func (r *keyReader) refuse() {
	if key := r.prefix + "rope.scaling.type"; r.err == nil && r.k.Has(key) {
		if s, err := r.k.String(key); err != nil {
			r.err = err
		} else if s != "none" && s != "" {
			r.err = fmt.Errorf("%s: %q is not supported", key, s)
		}
	}
	for _, u := range unsupported {
		key := r.prefix + u.key
		if r.err != nil || !r.k.Has(key) {
			continue
		}
		v, err := r.k.Float(key)
		if err != nil {
			var n uint64
			if n, err = r.k.Uint(key); err == nil {
				v = float64(n)
			}
		}
		if err != nil {
			r.err = err
		} else if v != u.neutral {
			r.err = fmt.Errorf("%s: %g is not supported (only %g)", key, v, u.neutral)
		}
	}
}
