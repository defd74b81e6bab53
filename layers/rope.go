package layers

import (
	"math"

	"cera/backend"
)

// RopeConfig is one way to rotate queries and keys.
type RopeConfig struct {
	Base     float32     // pair j of RotDim/2 turns by Base^(-2j/RotDim) a position
	Scaling  RopeScaling // for contexts longer than the model was trained with first
	Factor   float32     // of the scaling; 1: none
	OrigCtx  int         // positions of that first training
	BetaFast float32     // YaRN: pairs of more turns than this in OrigCtx positions keep their frequency
	BetaSlow float32     // YaRN: pairs of fewer turns than this have it divided by Factor
	Gain     float32     // multiplies cosine and sine
	Factors  bool        // the file's factors divide the frequencies
}

// RopeScaling is the method by which frequencies are lowered.
type RopeScaling uint8

const (
	NoScaling RopeScaling = iota
	LinearScaling
	YaRN // Peng et al., arXiv:2309.00071
)

func (s RopeScaling) String() string { return [...]string{"none", "linear", "yarn"}[s] }

// readRope fills Ropes: the first for all blocks, the second for those with a window where they differ.
func (c *Config) readRope(r *keyReader) {
	c.RotDim = r.int("rope.dimension_count", c.HeadDim, maxWidth)
	if r.err == nil && (c.RotDim > c.HeadDim || c.RotDim%2 != 0) {
		r.fail("rope.dimension_count", "%d is not an even number up to the head's %d", c.RotDim, c.HeadDim)
	}
	rope := RopeConfig{
		Base: r.positive("rope.freq_base", 10000), Factor: 1, Factors: true,
		Gain: r.positive("rope.scaling.attn_factor", 1),
	}
	kind := r.text("rope.scaling.type")
	factor := r.factor("rope.scaling.factor", r.factor("rope.scale_linear", 1))
	if factor <= 0 {
		r.fail("rope.scaling.factor", "%g is not a number > 0", factor)
	}
	rope.OrigCtx = r.int("rope.scaling.original_context_length", c.Ctx, math.MaxInt32)
	switch kind {
	case "none", "longrope": // longrope is in the file's factors
	case "", "linear":
		if factor != 1 {
			rope.Scaling, rope.Factor = LinearScaling, factor
		}
	case "yarn":
		rope.Scaling, rope.Factor = YaRN, factor
		if rope.Base <= 1 && r.err == nil {
			r.fail("rope.freq_base", "%g is not a number > 1, which yarn needs", rope.Base)
		}
		rope.BetaFast = r.positive("rope.scaling.yarn_beta_fast", 32)
		rope.BetaSlow = r.positive("rope.scaling.yarn_beta_slow", 1)
		if mix := r.float("rope.scaling.yarn_ext_factor", 1); mix != 1 && mix != -1 {
			r.fail("rope.scaling.yarn_ext_factor", "%g is not supported (only 1)", mix)
		}
		if g := r.float("rope.scaling.yarn_attn_factor", 1); g != 1 && g != -1 {
			r.fail("rope.scaling.yarn_attn_factor", "%g is not supported (only 1)", g)
		}
		rope.Gain *= float32(1 + 0.1*math.Log(float64(factor)))
	default:
		r.fail("rope.scaling.type", "%.60q is not supported; known: none, linear, yarn, longrope", kind)
	}
	c.Ropes = []RopeConfig{rope}
	if c.LocalRope != SameRope {
		local := RopeConfig{Base: rope.Base, Factor: 1, Gain: 1}
		if c.LocalRope == ShortRope {
			local.Base = r.positive("rope.freq_base_swa", 10000)
		}
		c.Ropes = append(c.Ropes, local)
	}
}

// Frequencies returns the angle, in radians a position, by which each of rotDim/2 pairs turns; factors, one a pair,
// divide them unless nil.
func (c RopeConfig) Frequencies(rotDim int, factors []float32) []float64 {
	theta := make([]float64, rotDim/2)
	var low, high float64
	if c.Scaling == YaRN {
		// The pair that turns so many times in OrigCtx positions.
		pair := func(turns float32) float64 {
			return float64(rotDim) * math.Log(float64(c.OrigCtx)/(2*math.Pi*float64(turns))) /
				(2 * math.Log(float64(c.Base)))
		}
		low = math.Max(0, math.Floor(pair(c.BetaFast)))
		high = math.Min(float64(rotDim-1), math.Ceil(pair(c.BetaSlow)))
	}
	for j := range theta {
		theta[j] = math.Pow(float64(c.Base), -2*float64(j)/float64(rotDim))
		if factors != nil {
			theta[j] /= float64(factors[j])
		}
		switch c.Scaling {
		case LinearScaling:
			theta[j] /= float64(c.Factor)
		case YaRN:
			slow := math.Min(1, math.Max(0, (float64(j)-low)/math.Max(0.001, high-low)))
			theta[j] *= slow/float64(c.Factor) + 1 - slow
		}
	}
	return theta
}

// factors are the file's divisors of the frequencies, those for long contexts or those for short ones where it has
// both.
func (m *Model) factors() *Vec {
	switch {
	case m.RopeLong.Has && m.LongContext:
		return &m.RopeLong
	case m.RopeShort.Has:
		return &m.RopeShort
	}
	return &m.RopeFreqs
}

// buildRopes fills a table of angles for each way to rotate: cosine and sine of pair j, times the gain, in columns 2j
// and 2j+1 of a position's row.
func (s *State) buildRopes() error {
	m := s.m
	factors := m.factors()
	var divide []float32
	if factors.Has {
		divide = make([]float32, m.RotDim/2)
		if err := s.be.Read(divide, factors.T); err != nil {
			return err
		}
	}
	for _, c := range m.Ropes {
		var by []float32
		if c.Factors {
			by = divide
		}
		table := make([]float32, s.ctx*m.RotDim)
		for j, theta := range c.Frequencies(m.RotDim, by) {
			for p := range s.ctx {
				sin, cos := math.Sincos(float64(p) * theta)
				table[p*m.RotDim+2*j] = float32(float64(c.Gain) * cos)
				table[p*m.RotDim+2*j+1] = float32(float64(c.Gain) * sin)
			}
		}
		t := s.alloc("rope table", s.ctx, m.RotDim)
		s.be.Upload(t, table)
		s.ropes = append(s.ropes, t)
	}
	return s.be.Flush()
}

// ropeShape is the shape of the op for the model's heads.
func (m *Model) ropeShape() backend.RoPE {
	return backend.RoPE{Style: m.Rope, HeadDim: m.HeadDim, RotDim: m.RotDim}
}
