package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/x448/float16"

	"cera/backend"
	"cera/layers"
)

// suspect is a known mistake in an op.
type suspect struct {
	words string // what was done instead, as "without the bias"
	want  expectation
	err   error // the op cannot be done so
}

// cause names the known mistake whose outcome most of the wrong rows of out have, each of their elements within the op's own
// bound; "" if there is none. Rows may be wrong in another way where a mistake meets the edge of a batch.
func (in *Input) cause(op layers.OpSite, x []rows, out rows, wrong []int) string {
	for _, s := range in.suspects(op, x, out) {
		if s.err != nil {
			continue
		}
		explained := 0
		for _, r := range wrong {
			if s.explains(r, out) {
				explained++
			}
		}
		switch {
		case 2*explained <= len(wrong):
		case explained < len(wrong):
			return fmt.Sprintf("%s (in %d of %d wrong tokens)", s.words, explained, len(wrong))
		case len(wrong) < out.rows && wrong[len(wrong)-1]-wrong[0] == len(wrong)-1:
			return fmt.Sprintf("%s (tokens %d to %d)", s.words, wrong[0], wrong[len(wrong)-1])
		default:
			return s.words
		}
	}
	return ""
}

// explains stops at the first element of a row that is something else.
func (s *suspect) explains(r int, out rows) bool {
	for i, got := range out.row(r) {
		// Written so that NaN is never explained.
		if w, bound := s.want(r, i); !(math.Abs(float64(got)-w) <= bound) {
			return false
		}
	}
	return true
}

// suspects lists what is tried, the likely before what costs more.
func (in *Input) suspects(op layers.OpSite, x []rows, out rows) []suspect {
	list := []suspect{{words: "nothing was written: every element is zero", want: func(int, int) (float64, float64) { return 0, 0 }}}
	for i, site := range op.In {
		if x[i].n == out.n {
			words := fmt.Sprintf("the op did nothing: this is its input %s", site)
			list = append(list, suspect{words: words, want: func(r, c int) (float64, float64) { return float64(x[i].row(r)[c]), 0 }})
		}
	}
	list = append(list, suspect{words: "every value is a half: something was rounded to 16 bits", want: func(r, c int) (float64, float64) {
		return float64(float16.Fromfloat32(out.row(r)[c]).Float32()), 0
	}})
	// altered is the op with something else in it.
	altered := func(words string, change func(op *layers.OpSite)) {
		other := op
		change(&other)
		f, err := in.expect(other, x, out)
		list = append(list, suspect{words, f, err})
	}
	switch op.Kind {
	case layers.OpEmbed:
		other := *in
		other.Tokens = make([]int32, len(in.Tokens))
		for i, t := range in.Tokens {
			other.Tokens[i] = t + 1
		}
		f, err := other.embed(op, out)
		list = append(list, suspect{"the rows of the table's next token each", f, err})
	case layers.OpMatMul:
		in.suspectMatMul(op, x[0], out, altered, &list)
	case layers.OpRoPE:
		in.suspectRoPE(op, x[0], out, altered, &list)
	case layers.OpAttention:
		in.suspectAttention(op, x, out, altered, &list)
	case layers.OpAct, layers.OpGatedAct:
		for _, act := range []backend.Activation{backend.SiLU, backend.GELUTanh, backend.ClampedSwiGLU} {
			if act != op.Act && (op.Kind == layers.OpGatedAct || act != backend.ClampedSwiGLU) {
				altered(fmt.Sprintf("%s in place of %s", act, op.Act), func(op *layers.OpSite) { op.Act = act })
			}
		}
		if op.Kind == layers.OpGatedAct && len(x) == 2 {
			f, err := in.expect(op, []rows{x[1], x[0]}, out)
			list = append(list, suspect{"the activation went over up, not over gate", f, err})
			f, err = elementwise(x, out, func(v ...float64) (float64, float64) { return v[0] * v[1], RoundingBound(v[0] * v[1]) })
			list = append(list, suspect{"without the activation", f, err})
		}
	case layers.OpAddGated:
		f, err := elementwise(x, out, func(v ...float64) (float64, float64) { return v[0] + v[1], RoundingBound(v[0] + v[1]) })
		list = append(list, suspect{"without the gate", f, err})
	case layers.OpRoute:
		altered("the weights are not made to add up to 1", func(op *layers.OpSite) { op.Router.Normalize = false })
		for _, kind := range []backend.RouterKind{backend.SoftmaxTopK, backend.TopKSoftmax} {
			if kind != op.Router.Kind {
				altered(map[backend.RouterKind]string{
					backend.SoftmaxTopK: "softmax over all experts, not over those that were picked",
					backend.TopKSoftmax: "softmax over the experts that were picked, not over all",
				}[kind], func(op *layers.OpSite) { op.Router.Kind = kind })
			}
		}
	case layers.OpExpertMatMul:
		if op.Bias != "" {
			altered("without the bias "+op.Bias, func(op *layers.OpSite) { op.Bias = "" })
		}
	}
	right, err := in.expect(op, x, out)
	if err == nil && out.rows > 2 {
		list = append(list,
			suspect{words: "every token has the row of the one before it", want: func(r, i int) (float64, float64) { return right(max(r-1, 0), i) }},
			suspect{words: "every token has the row of the one after it", want: func(r, i int) (float64, float64) { return right(min(r+1, out.rows-1), i) }})
	}
	return list
}

// alter adds a suspect that is the op with something else in it.
type alter func(words string, change func(op *layers.OpSite))

func (in *Input) suspectMatMul(op layers.OpSite, x, out rows, altered alter, list *[]suspect) {
	if op.Bias != "" {
		altered("without the bias "+op.Bias, func(op *layers.OpSite) { op.Bias = "" })
	}
	if op.From > 0 {
		altered(fmt.Sprintf("by the rows of %s from 0 on, not from %d", op.Weight, op.From), func(op *layers.OpSite) { op.From = 0 })
	}
	w, err := in.FileWeights(op.Weight)
	if err != nil {
		return
	}
	if n := x.n; out.n == n && len(w) == n*n && op.Bias == "" {
		column := make([]float32, n)
		*list = append(*list, suspect{words: op.Weight + " is transposed", want: func(r, o int) (float64, float64) {
			for k := range column {
				column[k] = w[k*n+o]
			}
			return dot(x.row(r), column)
		}})
	}
	if op.Weight == "output.weight" {
		altered("by token_embd.weight in place of output.weight", func(op *layers.OpSite) { op.Weight = "token_embd.weight" })
	}
	for _, name := range namesakes(op.Weight, op.Layer) {
		if other, err := in.FileWeights(name); err == nil && len(other) == len(w) {
			altered(fmt.Sprintf("by %s in place of %s", name, op.Weight), func(op *layers.OpSite) { op.Weight = name })
		}
	}
}

// namesakes are the matrices that are taken for one of a block: the same of the blocks beside it, and its siblings.
func namesakes(weight string, layer int) (names []string) {
	prefix := fmt.Sprintf("blk.%d.", layer)
	name, ok := strings.CutPrefix(weight, prefix)
	if !ok {
		return nil
	}
	for _, l := range []int{layer - 1, layer + 1} {
		if l >= 0 {
			names = append(names, fmt.Sprintf("blk.%d.%s", l, name))
		}
	}
	for _, family := range [][]string{{"attn_q", "attn_k", "attn_v", "attn_output"}, {"ffn_gate", "ffn_up"}} {
		for _, one := range family {
			if name != one+".weight" {
				continue
			}
			for _, other := range family {
				if other != one {
					names = append(names, prefix+other+".weight")
				}
			}
		}
	}
	return names
}

func (in *Input) suspectRoPE(op layers.OpSite, x, out rows, altered alter, list *[]suspect) {
	if op.Rope.Style == backend.RopeNeoX {
		altered("pairs are neighbours, not one of each half", func(op *layers.OpSite) { op.Rope.Style = backend.RopeNorm })
	} else {
		altered("pairs are one of each half, not neighbours", func(op *layers.OpSite) { op.Rope.Style = backend.RopeNeoX })
	}
	turned := func(words string, position func(r int) float64) {
		f, err := in.ropeAt(op, x, out, position)
		*list = append(*list, suspect{words, f, err})
	}
	turned("positions are one too high", func(r int) float64 { return float64(r + 1) })
	turned("positions are one too low", func(r int) float64 { return float64(r - 1) })
	turned("every token is at position 0", func(int) float64 { return 0 })
	for r := range out.rows { // the first of a batch
		turned(fmt.Sprintf("positions begin again at token %d", r), func(at int) float64 { return float64(at - r) })
	}
	turned("pairs turn the other way", func(r int) float64 { return float64(-r) })
	if op.Weight != "" {
		altered("without the factors "+op.Weight, func(op *layers.OpSite) { op.Weight = "" })
	}
	for _, base := range []float32{10_000, 500_000, 1_000_000} { // the usual ones
		if base != op.Turn.Base {
			altered(fmt.Sprintf("the base is %.0f, not %.0f", base, op.Turn.Base), func(op *layers.OpSite) { op.Turn.Base = base })
		}
	}
	if op.Turn.Scaling != layers.NoScaling {
		altered("frequencies are not scaled", func(op *layers.OpSite) { op.Turn.Scaling = layers.NoScaling })
	}
	if op.Turn.Gain != 1 {
		altered("without YaRN's gain", func(op *layers.OpSite) { op.Turn.Gain = 1 })
	}
	if op.Rope.RotDim != op.Rope.HeadDim {
		altered("the whole head turns", func(op *layers.OpSite) { op.Rope.RotDim = op.Rope.HeadDim })
	}
}

func (in *Input) suspectAttention(op layers.OpSite, x []rows, out rows, altered alter, list *[]suspect) {
	seen := func(words string, how sight) {
		f, err := in.attend(op, x, out, how)
		*list = append(*list, suspect{words, f, err})
	}
	seen("every token sees the next one too", sight{ahead: 1})
	seen("there is no causal mask: every token sees all others", sight{ahead: out.rows})
	seen("no token sees itself", sight{ahead: -1})
	if c := op.Attn; c.NKV > 1 && c.NKV < c.NHead {
		seen("query head h reads key/value head h mod the number of these", sight{tiled: true})
	}
	altered("scores are not scaled", func(op *layers.OpSite) { op.Attn.Scale = 1 })
	altered("scores are scaled by 1/headDim, not its root", func(op *layers.OpSite) { op.Attn.Scale = 1 / float32(op.Attn.HeadDim) })
	if op.Attn.Window > 0 {
		altered("the window is ignored", func(op *layers.OpSite) { op.Attn.Window = 0 })
		altered("the window is one too wide", func(op *layers.OpSite) { op.Attn.Window++ })
		if op.Attn.Window > 1 {
			altered("the window is one too narrow", func(op *layers.OpSite) { op.Attn.Window-- })
		}
	}
	if op.Attn.Softcap > 0 {
		altered("without the softcap of the scores", func(op *layers.OpSite) { op.Attn.Softcap = 0 })
	}
	if op.Weight != "" {
		altered("without the sinks "+op.Weight, func(op *layers.OpSite) { op.Weight = "" })
	}
}
