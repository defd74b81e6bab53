package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/x448/float16"

	"cera/backend"
	"cera/layers"
)

// lineup looks for the known mistake that a wrong output comes from.
type lineup struct {
	in    *Input
	op    layers.OpSite
	x     []rows
	out   rows
	wrong []int  // rows
	found string // the mistake in words, as "without the bias"; once it is known nothing further is computed
}

// cause names the known mistake whose outcome most of the wrong rows of out have, each of their elements within the
// op's own bound; "" if there is none. Rows may be wrong in another way where a mistake meets the edge of a batch.
func (in *Input) cause(op layers.OpSite, x []rows, out rows, wrong []int) string {
	l := &lineup{in: in, op: op, x: x, out: out, wrong: wrong}
	l.any()
	switch op.Kind {
	case layers.OpEmbed:
		l.embed()
	case layers.OpMatMul:
		l.matMul()
	case layers.OpRoPE:
		l.rope()
	case layers.OpAttention:
		l.attention()
	case layers.OpAct, layers.OpGatedAct:
		l.activation()
	case layers.OpAddGated:
		l.elementwise("without the gate",
			func(v ...float64) (float64, float64) { return v[0] + v[1], RoundingBound(v[0] + v[1]) })
	case layers.OpRoute:
		l.route()
	case layers.OpExpertMatMul:
		l.bias()
	}
	l.shifted()
	return l.found
}

// test asks whether the wrong rows are what an op with a mistake in it gives; err says that there is no such op.
func (l *lineup) test(words string, want expectation, err error) {
	if l.found != "" || err != nil {
		return
	}
	explained, n := 0, len(l.wrong)
	for _, r := range l.wrong {
		if explains(want, r, l.out) {
			explained++
		}
	}
	switch {
	case 2*explained <= n:
	case explained < n:
		l.found = fmt.Sprintf("%s (in %d of %d wrong tokens)", words, explained, n)
	case n < l.out.rows && l.wrong[n-1]-l.wrong[0] == n-1:
		l.found = fmt.Sprintf("%s (tokens %d to %d)", words, l.wrong[0], l.wrong[n-1])
	default:
		l.found = words
	}
}

// explains stops at the first element of a row that is something else.
func explains(want expectation, r int, out rows) bool {
	for i, got := range out.row(r) {
		// Written so that NaN is never explained.
		if w, bound := want(r, i); !(math.Abs(float64(got)-w) <= bound) {
			return false
		}
	}
	return true
}

// altered tests the op with something else in it.
func (l *lineup) altered(words string, change func(op *layers.OpSite)) {
	if l.found != "" {
		return
	}
	other := l.op
	change(&other)
	want, err := l.in.expect(other, l.x, l.out)
	l.test(words, want, err)
}

// elementwise tests another function of the inputs.
func (l *lineup) elementwise(words string, f func(v ...float64) (float64, float64)) {
	want, err := elementwise(l.x, l.out, f)
	l.test(words, want, err)
}

// any tests what may happen to every op.
func (l *lineup) any() {
	l.test("nothing was written: every element is zero", func(int, int) (float64, float64) { return 0, 0 }, nil)
	for i, site := range l.op.In {
		if l.x[i].n == l.out.n {
			l.test("the op did nothing: this is its input "+site,
				func(r, c int) (float64, float64) { return float64(l.x[i].row(r)[c]), 0 }, nil)
		}
	}
	l.test("every value is a half: something was rounded to 16 bits", func(r, c int) (float64, float64) {
		return float64(float16.Fromfloat32(l.out.row(r)[c]).Float32()), 0
	}, nil)
}

// shifted tests whether rows stand in another's place.
func (l *lineup) shifted() {
	if l.found != "" || l.out.rows < 3 {
		return
	}
	right, err := l.in.expect(l.op, l.x, l.out)
	last := l.out.rows - 1
	l.test("every token has the row of the one before it",
		func(r, i int) (float64, float64) { return right(max(r-1, 0), i) }, err)
	l.test("every token has the row of the one after it",
		func(r, i int) (float64, float64) { return right(min(r+1, last), i) }, err)
}

func (l *lineup) embed() {
	other := *l.in
	other.Tokens = make([]int32, len(l.in.Tokens))
	for i, t := range l.in.Tokens {
		other.Tokens[i] = t + 1
	}
	want, err := other.embed(l.op, l.out)
	l.test("the rows of the table's next token each", want, err)
}

func (l *lineup) activation() {
	gated := l.op.Kind == layers.OpGatedAct
	for _, act := range []backend.Activation{backend.SiLU, backend.GELUTanh, backend.ClampedSwiGLU} {
		if act != l.op.Act && (gated || act != backend.ClampedSwiGLU) {
			l.altered(fmt.Sprintf("%s in place of %s", act, l.op.Act), func(op *layers.OpSite) { op.Act = act })
		}
	}
	if gated {
		want, err := l.in.expect(l.op, []rows{l.x[1], l.x[0]}, l.out)
		l.test("the activation went over up, not over gate", want, err)
		l.elementwise("without the activation",
			func(v ...float64) (float64, float64) { return v[0] * v[1], RoundingBound(v[0] * v[1]) })
	}
}

func (l *lineup) route() {
	l.altered("the weights are not made to add up to 1", func(op *layers.OpSite) { op.Router.Normalize = false })
	if l.op.Router.Kind == backend.TopKSoftmax {
		l.altered("softmax over all experts, not over those that were picked",
			func(op *layers.OpSite) { op.Router.Kind = backend.SoftmaxTopK })
	} else {
		l.altered("softmax over the experts that were picked, not over all",
			func(op *layers.OpSite) { op.Router.Kind = backend.TopKSoftmax })
	}
}

func (l *lineup) bias() {
	if l.op.Bias != "" {
		l.altered("without the bias "+l.op.Bias, func(op *layers.OpSite) { op.Bias = "" })
	}
}

func (l *lineup) matMul() {
	l.bias()
	op, x := l.op, l.x[0]
	if op.From > 0 {
		l.altered(fmt.Sprintf("by the rows of %s from 0 on, not from %d", op.Weight, op.From),
			func(op *layers.OpSite) { op.From = 0 })
	}
	if l.found != "" {
		return // without decoding matrices
	}
	w, err := l.in.FileWeights(op.Weight)
	if err != nil {
		return
	}
	if n := x.n; l.out.n == n && len(w) == n*n && op.Bias == "" {
		column := make([]float32, n)
		l.test(op.Weight+" is transposed", func(r, o int) (float64, float64) {
			for k := range column {
				column[k] = w[k*n+o]
			}
			return dot(x.row(r), column)
		}, nil)
	}
	if op.Weight == "output.weight" {
		l.altered("by token_embd.weight in place of output.weight",
			func(op *layers.OpSite) { op.Weight = "token_embd.weight" })
	}
	for _, name := range namesakes(op.Weight, op.Layer) {
		if l.found != "" {
			return
		}
		if other, err := l.in.FileWeights(name); err == nil && len(other) == len(w) {
			l.altered(fmt.Sprintf("by %s in place of %s", name, op.Weight),
				func(op *layers.OpSite) { op.Weight = name })
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

func (l *lineup) rope() {
	op := l.op
	if op.Rope.Style == backend.RopeNeoX {
		l.altered("pairs are neighbours, not one of each half",
			func(op *layers.OpSite) { op.Rope.Style = backend.RopeNorm })
	} else {
		l.altered("pairs are one of each half, not neighbours",
			func(op *layers.OpSite) { op.Rope.Style = backend.RopeNeoX })
	}
	turned := func(words string, position func(r int) float64) {
		want, err := l.in.ropeAt(op, l.x[0], l.out, position)
		l.test(words, want, err)
	}
	turned("positions are one too high", func(r int) float64 { return float64(r + 1) })
	turned("positions are one too low", func(r int) float64 { return float64(r - 1) })
	turned("every token is at position 0", func(int) float64 { return 0 })
	for r := range l.out.rows { // the first of a batch
		turned(fmt.Sprintf("positions begin again at token %d", r), func(at int) float64 { return float64(at - r) })
	}
	turned("pairs turn the other way", func(r int) float64 { return float64(-r) })
	if op.Weight != "" {
		l.altered("without the factors "+op.Weight, func(op *layers.OpSite) { op.Weight = "" })
	}
	for _, base := range []float32{10_000, 500_000, 1_000_000} { // the usual ones
		if base != op.Turn.Base {
			l.altered(fmt.Sprintf("the base is %.0f, not %.0f", base, op.Turn.Base),
				func(op *layers.OpSite) { op.Turn.Base = base })
		}
	}
	if op.Turn.Scaling != layers.NoScaling {
		l.altered("frequencies are not scaled", func(op *layers.OpSite) { op.Turn.Scaling = layers.NoScaling })
	}
	if op.Turn.Gain != 1 {
		l.altered("without YaRN's gain", func(op *layers.OpSite) { op.Turn.Gain = 1 })
	}
	if op.Rope.RotDim != op.Rope.HeadDim {
		l.altered("the whole head turns", func(op *layers.OpSite) { op.Rope.RotDim = op.Rope.HeadDim })
	}
}

func (l *lineup) attention() {
	op := l.op
	seen := func(words string, how sight) {
		want, err := l.in.attend(op, l.x, l.out, how)
		l.test(words, want, err)
	}
	seen("every token sees the next one too", sight{ahead: 1})
	seen("there is no causal mask: every token sees all others", sight{ahead: l.out.rows})
	seen("no token sees itself", sight{ahead: -1})
	if c := op.Attn; c.NKV > 1 && c.NKV < c.NHead {
		seen("query head h reads key/value head h mod the number of these", sight{tiled: true})
	}
	l.altered("scores are not scaled", func(op *layers.OpSite) { op.Attn.Scale = 1 })
	l.altered("scores are scaled by 1/headDim, not its root",
		func(op *layers.OpSite) { op.Attn.Scale = 1 / float32(op.Attn.HeadDim) })
	if op.Attn.Window > 0 {
		l.altered("the window is ignored", func(op *layers.OpSite) { op.Attn.Window = 0 })
		l.altered("the window is one too wide", func(op *layers.OpSite) { op.Attn.Window++ })
		if op.Attn.Window > 1 {
			l.altered("the window is one too narrow", func(op *layers.OpSite) { op.Attn.Window-- })
		}
	}
	if op.Attn.Softcap > 0 {
		l.altered("without the softcap of the scores", func(op *layers.OpSite) { op.Attn.Softcap = 0 })
	}
	if op.Weight != "" {
		l.altered("without the sinks "+op.Weight, func(op *layers.OpSite) { op.Weight = "" })
	}
}
