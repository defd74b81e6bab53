package layers

import (
	"fmt"
	"strconv"
	"strings"
)

func (n NormKind) String() string { return [...]string{"RMS norm", "layer norm"}[n] }

func (p NormPlace) String() string {
	return [...]string{"before attention and MLP", "after attention and MLP", "before and after attention and MLP"}[p]
}

func (q QKNorm) String() string {
	return [...]string{"none", "a head at a time", "all heads together"}[q]
}

func (m MLPKind) String() string {
	return [...]string{"gate, up, down", "gate and up in one matrix, down", "up, down"}[m]
}

func (q QKVKind) String() string { return [...]string{"q, k, v", "q, k and v in one matrix"}[q] }

// Property is one line of a description.
type Property struct{ Name, Value string }

// Properties describes the model: what the architecture's row says and what the file adds.
func (c *Config) Properties() []Property {
	var list []Property
	add := func(name, format string, args ...any) {
		list = append(list, Property{name, fmt.Sprintf(format, args...)})
	}
	add("architecture", "%s", c.Name)
	add("blocks", "%d", c.Layers)
	add("width", "%d", c.Embd)
	add("heads", "%s of %d", c.perBlock(func(s BlockShape) int { return s.Heads }), c.HeadDim)
	add("KV heads", "%s", c.perBlock(func(s BlockShape) int { return s.KVHeads }))
	add("projections", "%v", c.QKV)
	if c.QK != NoQKNorm {
		add("norm of q and k", "%v", c.QK)
	}
	add("norms", "%v, %v, eps %g", c.Arch.Norm, c.Place, c.Eps)
	if c.Experts > 0 {
		add("experts", "%d of width %d, %d a token; %v", c.Experts, c.ExpertFF, c.ExpertsUsed, c.Router)
		if c.SharedFF > 0 {
			add("shared expert", "of width %d", c.SharedFF)
		}
	} else {
		add("MLP", "%v; width %s", c.MLP, c.perBlock(func(s BlockShape) int { return s.FF }))
	}
	add("activation", "%v", c.Act)
	for i, r := range c.Ropes {
		add("rope"+[]string{"", " of windows"}[min(i, 1)], "%s", r.describe(c))
	}
	if n := c.count(func(s BlockShape) bool { return s.Rope < 0 }); n > 0 {
		add("without rope", "%d of %d blocks", n, c.Layers)
	}
	if n := c.count(func(s BlockShape) bool { return s.Window > 0 }); n > 0 {
		add("window", "%s positions, in %d of %d blocks", c.perBlock(func(s BlockShape) int { return s.Window }), n,
			c.Layers)
	}
	add("attention scale", "%g", c.AttnScale)
	for _, f := range []struct {
		name           string
		value, neutral float32
	}{
		{"embedding scale", c.EmbdFactor, 1}, {"residual scale", c.DeltaFactor, 1}, {"logit scale", c.LogitFactor, 1},
		{"softcap of scores", c.AttnSoftcap, 0}, {"softcap of logits", c.FinalSoftcap, 0},
	} {
		if f.value != f.neutral {
			add(f.name, "%g", f.value)
		}
	}
	add("vocabulary", "%d", c.Vocab)
	add("context", "%d", c.Ctx)
	return list
}

func (r RopeConfig) describe(c *Config) string {
	text := fmt.Sprintf("%v, base %g", c.Rope, r.Base)
	if c.RotDim != c.HeadDim {
		text += fmt.Sprintf(", %d of %d elements", c.RotDim, c.HeadDim)
	}
	if r.Scaling != NoScaling {
		text += fmt.Sprintf(", %v scaling by %g from %d positions", r.Scaling, r.Factor, r.OrigCtx)
	}
	return text
}

func (c *Config) count(f func(BlockShape) bool) int {
	n := 0
	for _, s := range c.Shapes {
		if f(s) {
			n++
		}
	}
	return n
}

// perBlock lists a value of the blocks: once where all that have it have the same.
func (c *Config) perBlock(f func(BlockShape) int) string {
	var values []string
	for _, s := range c.Shapes {
		v := strconv.Itoa(f(s))
		if f(s) != 0 && (len(values) == 0 || values[len(values)-1] != v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, ", ")
}
