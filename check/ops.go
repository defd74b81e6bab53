package check

import (
	"fmt"
	"math"

	"cera/backend"
	"cera/layers"
)

// OpReport is the outcome for one op that is no norm.
type OpReport struct {
	Site    string  `json:"site"`
	Op      string  `json:"op"`
	Layer   int     `json:"layer"` // -1 outside the blocks
	Verdict Verdict `json:"verdict"`
	Local   *Aspect `json:"local"` // against float64 from the op's own captured inputs
	Drift   *Drift  `json:"drift"` // against the reference run
}

// OpsInput is what a check of ops needs beside an Input: the model's shapes and how RoPE turns. Row r of every site is
// the token at position r.
type OpsInput struct {
	Input
	Config    layers.Config
	RopeFreqs string // GGUF name of the factors that divide the frequencies, or empty
}

// CheckOp recomputes one op in float64 from its captured inputs. An op of kind OpNorm is not for this function: see
// Norms.
func (in *OpsInput) CheckOp(op layers.OpSite) OpReport {
	r := OpReport{Site: op.Site, Op: op.Op, Layer: op.Layer, Verdict: Pass}
	local, out, err := in.local(op)
	if err != nil {
		local = failed(err.Error())
	}
	r.Local, r.Verdict = local, local.Verdict
	if out.data == nil {
		return r
	}
	o := &operands{NormSite: layers.NormSite{Site: op.Site, Layer: op.Layer}, out: out}
	r.Drift = o.checkDrift(&in.Input)
	if r.Drift.Verdict == Fail && local.Verdict == Pass {
		// Its own arithmetic is right: the fault is in what came before, and is named there.
		r.Drift.Reason += "; the op itself is right, its input is not"
		r.Verdict = Fail
	}
	return r
}

// expectation computes the expected value of an output element and the bound of its error.
type expectation func(r, i int) (value, bound float64)

// local compares an op's output with what follows from its inputs.
func (in *OpsInput) local(op layers.OpSite) (*Aspect, rows, error) {
	out, err := in.anyRows(op.Site)
	if err != nil {
		return nil, rows{}, err
	}
	inputs := make([]rows, len(op.In))
	for i, site := range op.In {
		if inputs[i], err = in.anyRows(site); err != nil {
			return nil, out, err
		}
	}
	var f expectation
	switch op.Kind {
	case layers.OpEmbed:
		f, err = in.embed(op, out)
	case layers.OpMatMul:
		return in.matMul(op, inputs[0], out)
	case layers.OpRoPE:
		f, err = in.rope(inputs[0], out)
	case layers.OpStore:
		f, err = in.store(inputs[0], out)
	case layers.OpAttention:
		f, err = in.attention(inputs, out)
	case layers.OpGatedAct:
		f, err = in.gatedAct(inputs, out)
	default:
		err = fmt.Errorf("%s is not checked here", op.Op)
	}
	if err != nil {
		return nil, out, err
	}
	var a tally
	for r := range out.rows {
		for i, got := range out.row(r) {
			w, bound := f(r, i)
			a.add(r, i, float64(got), w, math.Abs(float64(got)-w), bound)
		}
	}
	return in.close(&a, op, out), out, nil
}

// close gives a tally its verdict and words.
func (in *OpsInput) close(a *tally, op layers.OpSite, out rows) *Aspect {
	a.verdict()
	if a.Verdict == Fail {
		where := ""
		if d := in.Config.HeadDim; d > 0 && perHead(op.Kind) {
			where = fmt.Sprintf(" (head %d, element %d)", a.Channel/d, a.Channel%d)
		}
		a.Reason = fmt.Sprintf("%d of %d elements are wrong; worst at token %d, channel %d%s: %.7g for %.7g",
			a.Wrong, len(out.data), a.Token, a.Channel, where, a.Got, a.Want)
		if !math.IsInf(float64(a.Ratio), 0) { // it is where the op must be exact
			a.Reason += fmt.Sprintf(", %.3g times the bound", a.Ratio)
		}
	}
	return &a.Aspect
}

func perHead(k layers.OpKind) bool {
	return k == layers.OpRoPE || k == layers.OpStore || k == layers.OpAttention
}

// anyRows returns a site with a row for every token, of any width.
func (in *OpsInput) anyRows(site string) (rows, error) {
	data, r, n, ok := in.Trace.Data(site)
	switch {
	case !ok:
		return rows{}, fmt.Errorf("site %s was not captured", site)
	case r == 0 || r != len(in.Tokens):
		return rows{}, fmt.Errorf("site %s has %d rows, expected %d", site, r, len(in.Tokens))
	}
	return rows{data, r, n}, nil
}

// needWidth is an error unless every matrix has the width that is expected of it.
func needWidth(want int, what string, ms ...rows) error {
	for _, m := range ms {
		if m.n != want {
			return fmt.Errorf("%s: a row has %d elements, expected %d", what, m.n, want)
		}
	}
	return nil
}

func (in *OpsInput) embed(op layers.OpSite, out rows) (expectation, error) {
	table, err := in.FileWeights(op.Weight)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tokens {
		if t < 0 || (int(t)+1)*out.n > len(table) {
			return nil, fmt.Errorf("token %d has no row of %d in %s", t, out.n, op.Weight)
		}
	}
	// Decoding is exact.
	return func(r, i int) (float64, float64) { return float64(table[int(in.Tokens[r])*out.n+i]), 0 }, nil
}

// matMul compares a row of the weight at a time.
func (in *OpsInput) matMul(op layers.OpSite, x, out rows) (*Aspect, rows, error) {
	w, err := in.FileWeights(op.Weight)
	if err != nil {
		return nil, out, err
	}
	if len(w) != x.n*out.n {
		return nil, out, fmt.Errorf("%s has %d elements, expected %d × %d", op.Weight, len(w), out.n, x.n)
	}
	var bias []float32
	if op.Bias != "" {
		if bias, err = in.FileWeights(op.Bias); err != nil {
			return nil, out, err
		}
		if len(bias) != out.n {
			return nil, out, fmt.Errorf("%s has %d elements, expected %d", op.Bias, len(bias), out.n)
		}
	}
	var a tally
	for r := range out.rows {
		xr := x.row(r)
		for o, got := range out.row(r) {
			var sum, abs float64
			for k, v := range w[o*x.n : (o+1)*x.n] {
				p := float64(v) * float64(xr[k])
				sum += p
				abs += math.Abs(p)
			}
			bound := DotBound(x.n, abs)
			if bias != nil {
				sum += float64(bias[o])
				bound += RoundingBound(sum)
			}
			a.add(r, o, float64(got), sum, math.Abs(float64(got)-sum), bound)
		}
	}
	return in.close(&a, op, out), out, nil
}

func (in *OpsInput) rope(x, out rows) (expectation, error) {
	c := in.Config
	if c.HeadDim < 1 || x.n%c.HeadDim != 0 || c.RotDim > c.HeadDim {
		return nil, fmt.Errorf("rope: rows of %d are no heads of %d", x.n, c.HeadDim)
	}
	if err := needWidth(x.n, "rope", out); err != nil {
		return nil, err
	}
	if c.Rope != backend.RopeNorm {
		return nil, fmt.Errorf("rope style %d is not known here", c.Rope)
	}
	theta := make([]float64, c.RotDim/2)
	for j := range theta {
		theta[j] = math.Pow(float64(c.RopeBase), -2*float64(j)/float64(c.RotDim))
	}
	if in.RopeFreqs != "" {
		freqs, err := in.FileWeights(in.RopeFreqs)
		if err != nil {
			return nil, err
		}
		if len(freqs) != len(theta) {
			return nil, fmt.Errorf("%s has %d elements, expected %d", in.RopeFreqs, len(freqs), len(theta))
		}
		for j, f := range freqs {
			theta[j] /= float64(f)
		}
	}
	return func(r, i int) (float64, float64) {
		row, j := x.row(r), i%c.HeadDim
		if j >= c.RotDim {
			return float64(row[i]), 0
		}
		// The device holds the angles' sine and cosine in float32: one rounding more on either product.
		sin, cos := math.Sincos(float64(r) * theta[j/2])
		first, second := float64(row[i&^1]), float64(row[i|1])
		v, abs := first*cos-second*sin, math.Abs(first*cos)+math.Abs(second*sin)
		if j%2 == 1 {
			v, abs = first*sin+second*cos, math.Abs(first*sin)+math.Abs(second*cos)
		}
		return v, DotBound(2, abs) + unit*abs
	}, nil
}

func (in *OpsInput) store(x, out rows) (expectation, error) {
	if err := needWidth(x.n, "KV store", out); err != nil {
		return nil, err
	}
	return func(r, i int) (float64, float64) { return float64(x.row(r)[i]), 0 }, nil
}

func (in *OpsInput) gatedAct(x []rows, out rows) (expectation, error) {
	if err := needWidth(out.n, "gated activation", x...); err != nil {
		return nil, err
	}
	return func(r, i int) (float64, float64) {
		g := float64(x[0].row(r)[i])
		v := g / (1 + math.Exp(-g)) * float64(x[1].row(r)[i])
		return v, ActBound(g, v)
	}, nil
}

func (in *OpsInput) attention(x []rows, out rows) (expectation, error) {
	c := in.Config
	q, k, v := x[0], x[1], x[2]
	if err := needWidth(c.Heads*c.HeadDim, "attention: queries and output", q, out); err != nil {
		return nil, err
	}
	if err := needWidth(c.KVHeads*c.HeadDim, "attention: keys and values", k, v); err != nil {
		return nil, err
	}
	scale := 1 / math.Sqrt(float64(c.HeadDim))
	// The scores of one row and head serve every element of the head.
	var weights []float64
	var size float64
	row, head := -1, -1
	return func(r, i int) (float64, float64) {
		h := i / c.HeadDim
		at := h / (c.Heads / c.KVHeads) * c.HeadDim
		if r != row || h != head {
			row, head, size = r, h, 0
			weights = weights[:0]
			top := math.Inf(-1)
			for j := 0; j <= r; j++ {
				var s, abs float64
				for d := range c.HeadDim {
					p := float64(q.row(r)[h*c.HeadDim+d]) * float64(k.row(j)[at+d]) * scale
					s += p
					abs += math.Abs(p)
				}
				weights = append(weights, s)
				top, size = math.Max(top, s), math.Max(size, abs)
			}
			var sum float64
			for j, s := range weights {
				weights[j] = math.Exp(s - top)
				sum += weights[j]
			}
			for j := range weights {
				weights[j] /= sum
			}
		}
		var value, abs float64
		for j, w := range weights {
			p := w * float64(v.row(j)[at+i%c.HeadDim])
			value += p
			abs += math.Abs(p)
		}
		return value, AttentionBound(c.HeadDim, r+1, size, abs)
	}, nil
}

// AddOps adds the outcome of ops to the report of the same run's norms, and names the first fault of both. order lists
// all sites in forward order.
func (r *Report) AddOps(ops []OpReport, order []string) {
	r.Ops = ops
	place := make(map[string]int, len(order))
	for i, site := range order {
		place[site] = i
	}
	var first *OpReport
	for i, op := range ops {
		if op.Verdict != Fail {
			continue
		}
		r.Verdict = Fail
		// What is only wrong because of its input is not where the fault is.
		if first == nil && op.Local.Verdict == Fail {
			first = &ops[i]
		}
	}
	if first == nil {
		return
	}
	f := &Fault{Site: first.Site, Op: first.Op, Layer: first.Layer, Aspect: "local", Reason: first.Local.Reason}
	switch old := r.First; {
	case old == nil:
		r.First = f
	case old.Aspect == "drift":
		// A norm that is right and whose input is not: the op that made it so is what was looked for.
		f.Reason += fmt.Sprintf("; found from %s, which is itself right", old.Site)
		r.First = f
	case place[f.Site] < place[old.Site]:
		r.First = f
	}
}
