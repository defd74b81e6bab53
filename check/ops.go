package check

import (
	"fmt"
	"math"

	"github.com/x448/float16"

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

// CheckOp recomputes one op in float64 from its captured inputs; row r of every site is the token at position r. An op
// of kind OpNorm is not for this function: see Norms.
func (in *Input) CheckOp(op layers.OpSite) OpReport {
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
	r.Drift = o.checkDrift(in)
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
func (in *Input) local(op layers.OpSite) (*Aspect, rows, error) {
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
	f, err := in.expect(op, inputs, out)
	if err != nil {
		return nil, out, err
	}
	var a tally
	var wrong []int // rows
	for r := range out.rows {
		before := a.Wrong
		for i, got := range out.row(r) {
			w, bound := f(r, i)
			a.add(r, i, float64(got), w, math.Abs(float64(got)-w), bound)
		}
		if a.Wrong > before {
			wrong = append(wrong, r)
		}
	}
	aspect := a.close(op, out)
	if aspect.Verdict == Fail {
		if cause := in.cause(op, inputs, out, wrong); cause != "" {
			aspect.Reason = cause + "; " + aspect.Reason
		}
	}
	return aspect, out, nil
}

// expect returns what an op's output follows from.
func (in *Input) expect(op layers.OpSite, x []rows, out rows) (expectation, error) {
	switch op.Kind {
	case layers.OpEmbed:
		return in.embed(op, out)
	case layers.OpMatMul:
		return in.matMul(op, x[0], out)
	case layers.OpRoPE:
		return in.rope(op, x[0], out)
	case layers.OpStore:
		return elementwise(x, out, func(v ...float64) (float64, float64) {
			if op.Half {
				return float64(float16.Fromfloat32(float32(v[0])).Float32()), 0
			}
			return v[0], 0
		})
	case layers.OpAttention:
		return in.attention(op, x, out)
	case layers.OpAct:
		return elementwise(x, out, func(v ...float64) (float64, float64) { return ActivationBound(op.Act, v[0]) })
	case layers.OpGatedAct:
		return elementwise(x, out, func(v ...float64) (float64, float64) { return GatedBound(op.Act, v[0], v[1]) })
	case layers.OpAdd:
		return elementwise(x, out, func(v ...float64) (float64, float64) {
			return v[0] + v[1], RoundingBound(v[0] + v[1])
		})
	case layers.OpScale:
		return elementwise(x, out, func(v ...float64) (float64, float64) {
			return v[0] * float64(op.Factor), RoundingBound(v[0] * float64(op.Factor))
		})
	case layers.OpSoftcap:
		return elementwise(x, out, func(v ...float64) (float64, float64) {
			return SoftcapBound(v[0], float64(op.Factor))
		})
	case layers.OpRoute:
		return route(op, x[0], out)
	case layers.OpExpertMatMul:
		return in.expertMatMul(op, x[0], x[1], out)
	case layers.OpCombine:
		return combine(x[0], x[1], out)
	case layers.OpAddGated:
		return addGated(x, out)
	}
	return nil, fmt.Errorf("%s is not checked here", op.Op)
}

// close gives a tally its verdict and words.
func (a *tally) close(op layers.OpSite, out rows) *Aspect {
	a.verdict()
	if a.Verdict == Fail {
		where := ""
		if d := op.HeadDim; d > 0 {
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

// anyRows returns a site with a row for every token, of any width.
func (in *Input) anyRows(site string) (rows, error) {
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

func (in *Input) embed(op layers.OpSite, out rows) (expectation, error) {
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

// elementwise is an op whose inputs have its output's shape.
func elementwise(x []rows, out rows, f func(v ...float64) (float64, float64)) (expectation, error) {
	if err := needWidth(out.n, "input", x...); err != nil {
		return nil, err
	}
	v := make([]float64, len(x))
	return func(r, i int) (float64, float64) {
		for k := range x {
			v[k] = float64(x[k].row(r)[i])
		}
		return f(v...)
	}, nil
}

func (in *Input) matMul(op layers.OpSite, x, out rows) (expectation, error) {
	w, err := in.FileWeights(op.Weight)
	if err != nil {
		return nil, err
	}
	if x.n < 1 || len(w)%x.n != 0 || op.From+out.n > len(w)/x.n {
		return nil, fmt.Errorf("%s has %d elements, expected at least %d × %d", op.Weight, len(w), op.From+out.n, x.n)
	}
	var bias []float32
	if op.Bias != "" {
		if bias, err = in.FileWeights(op.Bias); err != nil {
			return nil, err
		}
		if len(bias) != len(w)/x.n {
			return nil, fmt.Errorf("%s has %d elements, expected %d", op.Bias, len(bias), len(w)/x.n)
		}
	}
	return func(r, o int) (float64, float64) {
		sum, bound := dot(x.row(r), w[(op.From+o)*x.n:(op.From+o+1)*x.n])
		if bias != nil {
			sum += float64(bias[op.From+o])
			bound += RoundingBound(sum)
		}
		return sum, bound
	}, nil
}

// dot is an inner product and the bound of its error.
func dot(x, w []float32) (sum, bound float64) {
	var abs float64
	for k, v := range w {
		p := float64(v) * float64(x[k])
		sum += p
		abs += math.Abs(p)
	}
	return sum, DotBound(len(w), abs)
}

// AddOps adds the outcome of ops to the report of the same run's norms and to its counts, and names the first fault of
// both. order lists all sites in forward order.
func (r *Report) AddOps(ops []OpReport, order []string) {
	r.Ops = ops
	r.judge()
	place := make(map[string]int, len(order))
	for i, site := range order {
		place[site] = i
	}
	var first *OpReport
	for i, op := range ops {
		// What is only wrong because of its input is not where the fault is.
		if first == nil && op.Verdict == Fail && op.Local.Verdict == Fail {
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
