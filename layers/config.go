package layers

import (
	"fmt"
	"math"
	"strings"
)

// Config is a row of the architecture table with a file's hyperparameters.
type Config struct {
	Arch
	Layers  int     // transformer blocks
	Embd    int     // width of the residual stream
	HeadDim int     // elements a head
	RotDim  int     // leading elements of a head that rotate
	Vocab   int     // rows of the embedding
	Ctx     int     // positions the model was trained for
	Eps     float32 // under the root of every norm

	Shapes []BlockShape // of each block
	Ropes  []RopeConfig // ways to rotate, by BlockShape.Rope

	AttnScale    float32 // multiplies q·k
	EmbdFactor   float32 // multiplies the embedding; 1: none
	DeltaFactor  float32 // multiplies what attention and MLP give before it is added; 1: none
	LogitFactor  float32 // multiplies the logits; 1: none
	AttnSoftcap  float32 // of scores; 0: none
	FinalSoftcap float32 // of logits; 0: none
	Experts      int     // of every block's mixture; 0: plain MLPs
	ExpertsUsed  int     // by a token
	ExpertFF     int     // width of one expert
	SharedFF     int     // width of the expert that every token takes beside the others; 0: there is none
}

// BlockShape is what may differ from block to block.
type BlockShape struct {
	Heads   int // query heads
	KVHeads int // key and value heads; divides Heads
	FF      int // width of the MLP
	Window  int // positions that a token sees, itself included; 0: all
	Rope    int // index into Config.Ropes, or -1: queries and keys do not rotate
}

// The widest row any supported file can have; keeps products of two within 64 bits and typos from allocating.
const maxWidth = 1 << 24

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
		return Config{}, fmt.Errorf("general.architecture: %.60q is not supported; known: %s", name,
			strings.Join(Archs(), ", "))
	}
	if vocab < 1 {
		return Config{}, fmt.Errorf("token_embd.weight: no rows")
	}
	r := &keyReader{k: k, prefix: name + "."}
	c.Layers = r.int("block_count", -1, maxLayers)
	c.Embd = r.int("embedding_length", -1, maxWidth)
	c.Ctx = r.int("context_length", -1, math.MaxInt32)
	if r.err != nil {
		return Config{}, r.err
	}
	if n := r.zeroOr("vocab_size", math.MaxInt32); n != 0 && n != vocab {
		r.fail("vocab_size", "%d differs from the %d rows of token_embd.weight", n, vocab)
	}
	c.readHeads(r)
	c.readEps(r)
	c.readExperts(r)
	c.readRope(r)
	c.readWindows(r)
	c.readScales(r)
	r.refuse(c.GraniteKey)
	if r.err != nil {
		return Config{}, r.err
	}
	return c, nil
}

func (c *Config) readEps(r *keyReader) {
	key := "attention.layer_norm_rms_epsilon"
	if c.Norm == LayerNorm {
		key = "attention.layer_norm_epsilon"
	}
	c.Eps = r.float(key, math.NaN())
	if c.Eps < 0 {
		r.fail(key, "%g is not a number >= 0", c.Eps)
	}
}

// readHeads fills the shapes' heads and widths, and the size of a head.
func (c *Config) readHeads(r *keyReader) {
	heads := r.ints("attention.head_count", nil, c.Layers, maxWidth)
	kv := r.ints("attention.head_count_kv", heads, c.Layers, maxWidth)
	var ff []int
	// A mixture may do without the width of an MLP.
	if r.k.Has(r.prefix+"feed_forward_length") || !r.k.Has(r.prefix+"expert_feed_forward_length") {
		ff = r.ints("feed_forward_length", nil, c.Layers, maxWidth)
	} else {
		ff = r.ints("expert_feed_forward_length", nil, c.Layers, maxWidth)
	}
	if r.err != nil {
		return
	}
	c.Shapes = make([]BlockShape, c.Layers)
	for i := range c.Shapes {
		c.Shapes[i] = BlockShape{Heads: heads[i], KVHeads: kv[i], FF: ff[i]}
		if heads[i]%kv[i] != 0 {
			r.fail("attention.head_count_kv", "%d does not divide head_count %d in block %d", kv[i], heads[i], i)
		}
	}
	if c.Embd%heads[0] != 0 && !r.k.Has(r.prefix+"attention.key_length") {
		r.fail("attention.head_count", "%d heads do not divide embedding_length %d, and key_length is not given",
			heads[0], c.Embd)
	}
	c.HeadDim = r.int("attention.key_length", max(1, c.Embd/heads[0]), maxWidth)
	if v := r.int("attention.value_length", c.HeadDim, maxWidth); v != c.HeadDim {
		r.fail("attention.value_length", "%d differs from key_length %d, which is not supported", v, c.HeadDim)
	}
	for i, s := range c.Shapes {
		if s.Heads > maxWidth/c.HeadDim {
			r.fail("attention.head_count", "%d heads of %d in block %d are more than %d elements", s.Heads, c.HeadDim,
				i, maxWidth)
		}
	}
}

func (c *Config) readExperts(r *keyReader) {
	if c.Experts = r.zeroOr("expert_count", maxExperts); c.Experts == 0 || r.err != nil {
		return
	}
	if !c.MoE {
		r.fail("expert_count", "%d: experts are not supported in this architecture", c.Experts)
		return
	}
	c.ExpertsUsed = r.int("expert_used_count", -1, c.Experts)
	c.ExpertFF = r.int("expert_feed_forward_length", c.Shapes[0].FF, maxWidth)
	c.SharedFF = r.zeroOr("expert_shared_feed_forward_length", maxWidth)
	c.Normalize = r.bool("expert_weights_norm", c.Normalize)
	if f := r.zeroOr("expert_gating_func", math.MaxInt32); f > 1 && !(f == 3 && c.Router == 1) {
		r.fail("expert_gating_func", "%d is not supported (only 1, softmax)", f)
	}
	for i, s := range c.Shapes {
		if s.FF != c.Shapes[0].FF && !r.k.Has(r.prefix+"expert_feed_forward_length") {
			r.fail("feed_forward_length", "experts of %d in block %d and of %d in block 0 are not supported", s.FF, i,
				c.Shapes[0].FF)
		}
	}
}

// maxExperts is the most experts of a mixture; the largest models have 512.
const maxExperts = 4096

// readWindows says which blocks see a window only, and which rotate how.
func (c *Config) readWindows(r *keyReader) {
	if r.err != nil {
		return
	}
	window := 0
	if c.Windows != 0 {
		window = r.zeroOr("attention.sliding_window", math.MaxInt32)
	}
	local := c.windowed(r)
	noRope := c.NoRope == SwitchNoRope && !r.bool("rope.scaling.finetuned", true)
	for i := range c.Shapes {
		s := &c.Shapes[i]
		if window > 0 && local[i] {
			s.Window = window
			if c.LocalRope != SameRope {
				s.Rope = 1
			}
		}
		if noRope || c.NoRope == FourthNoRope && i%4 == 3 || c.NoRope == GlobalNoRope && window > 0 && s.Window == 0 {
			s.Rope = -1
		}
	}
}

// windowed says which blocks have the window: by the file's pattern, a period or a truth value a block, or by the
// architecture's.
func (c *Config) windowed(r *keyReader) []bool {
	const key = "attention.sliding_window_pattern"
	local, period := make([]bool, c.Layers), c.Windows
	if !r.absent(key, true) {
		if list, err := r.k.Bools(r.prefix + key); err == nil {
			if len(list) != c.Layers {
				r.fail(key, "%d values, expected one for each of %d blocks", len(list), c.Layers)
				return local
			}
			return list
		}
		period = r.int(key, -1, math.MaxInt32)
	}
	for i := range local {
		local[i] = period == AllWindowed || period > 0 && i%period < period-1
	}
	return local
}

func (c *Config) readScales(r *keyReader) {
	if r.err != nil {
		return
	}
	c.EmbdFactor, c.DeltaFactor, c.LogitFactor = 1, 1, 1
	c.AttnScale = float32(1 / math.Sqrt(float64(c.HeadDim)))
	if c.WideScaleLayers == c.Layers {
		c.AttnScale = float32(1 / math.Sqrt(float64(c.Embd)/float64(c.Shapes[0].Heads)))
	}
	if c.EmbdScale == RootEmbdScale {
		c.EmbdFactor = float32(math.Sqrt(float64(c.Embd)))
	}
	if c.GraniteKey {
		c.EmbdFactor = r.factor("embedding_scale", c.EmbdFactor)
		c.DeltaFactor = r.factor("residual_scale", c.DeltaFactor)
		c.LogitFactor = 1 / r.factor("logit_scale", 1)
		c.AttnScale = r.factor("attention.scale", c.AttnScale)
	}
	c.AttnSoftcap = r.cap("attn_logit_softcapping", c.Arch.AttnSoftcap)
	c.FinalSoftcap = r.cap("final_logit_softcapping", c.Arch.FinalSoftcap)
}

// MulAdds returns how many multiply-adds the projections of all blocks take for one token.
func (c *Config) MulAdds() int {
	n := 0
	for _, s := range c.Shapes {
		n += 2 * c.Embd * c.HeadDim * (s.Heads + s.KVHeads)
		switch {
		case c.Experts > 0:
			n += c.Embd*c.Experts + 3*c.Embd*(c.ExpertsUsed*c.ExpertFF+c.SharedFF)
		case c.MLP == PlainMLP:
			n += 2 * c.Embd * s.FF
		default:
			n += 3 * c.Embd * s.FF
		}
	}
	return n
}
