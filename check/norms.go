// Package check says whether captured tensors are right: it recomputes every norm in float64 from its own captured
// inputs, compares within derived bounds, and names the first fault and its likely cause.
package check

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"cera/backend"
	"cera/layers"
	"cera/trace"
)

// Input is what a check of a run's norms needs.
type Input struct {
	Model  string // a name for the report
	Info   backend.Info
	Sites  []layers.NormSite // in forward order
	Trace  *trace.Trace      // what the run captured
	Tokens []int32           // one a row of every site
	KV     backend.Format    // what the run's KV cache holds: F32 or F16

	// FileWeights decodes a tensor of the checkpoint by GGUF name. It is called from several goroutines. Without
	// it every site fails.
	FileWeights func(name string) ([]float32, error)
	// DeviceWeights holds the norm weights as read back from the device, by site; a site that is missing is UNMEASURED.
	DeviceWeights map[string][]float32
	// Reference holds the same sites of a reference run. Nil: drift is UNMEASURED, for DriftReason.
	Reference   *trace.Trace
	DriftReason string
}

// Norms checks every norm site:
//
//   - stream: the stream after equals float32(stream before + delta), and that plus the bias, bit for bit;
//   - norm: the output is within NormBound of rms_norm of that sum in float64, times the file's weight;
//   - weights: the device's weight equals the file's bit for bit;
//   - drift: NMSE against the reference run is within the bound for this KV cache: see DriftBound.
func Norms(in Input) *Report {
	if in.DriftReason == "" {
		in.DriftReason = "there was no reference run"
	}
	r := in.report()
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				r.Sites[i] = in.site(in.Sites[i])
			}
		})
	}
	for i := range in.Sites {
		next <- i
	}
	close(next)
	wg.Wait()
	r.close()
	return r
}

// report begins a report with a place for every site.
func (in *Input) report() *Report {
	r := &Report{Schema: Schema, Model: in.Model, Device: in.Info, Tokens: in.Tokens,
		Sites: make([]SiteReport, len(in.Sites))}
	build := ThisBuild()
	r.Build = &build
	if in.Reference == nil {
		r.Drift = in.DriftReason
	}
	return r
}

// rows is a captured matrix.
type rows struct {
	data    []float32
	rows, n int
}

func (m rows) row(r int) []float32 { return m.data[r*m.n : (r+1)*m.n] }

// operands of one norm, complete and of fitting shapes.
type operands struct {
	layers.NormSite
	in, delta, stream, out rows // delta and stream are empty where nothing is added
	bias                   []float32
	weight                 []float32 // of a group
	shift                  []float32 // likewise; nil where there is none
}

// site checks one norm.
func (in *Input) site(n layers.NormSite) SiteReport {
	s := SiteReport{Site: n.Site, Op: n.Op, Layer: n.Layer}
	o, err := in.operands(n)
	if err != nil {
		s.Norm = failed(err.Error())
		s.judge()
		return s
	}
	if n.Delta != "" {
		s.Stream = o.checkStream()
	}
	s.Norm = o.checkNorm(in, &s)
	s.Weights = o.checkWeights(in)
	s.Drift = o.checkDrift(in)
	s.ResidualRMS = o.residualRMS()
	s.TokenDrift = o.tokenDrift(in)
	if s.Drift.Verdict == Fail && s.Norm.Verdict == Pass && (s.Stream == nil || s.Stream.Verdict == Pass) {
		s.Drift.Reason += "; the norm itself is right, its input is not"
	}
	s.judge()
	return s
}

func failed(reason string) *Aspect { return &Aspect{Verdict: Fail, Reason: reason} }

// operands collects the parts of a norm; a part that is missing or has another shape is an error.
func (in *Input) operands(n layers.NormSite) (*operands, error) {
	o := &operands{NormSite: n}
	if in.FileWeights == nil {
		return nil, errors.New("there is no file to take the weights from")
	}
	var err error
	if o.weight, err = in.FileWeights(n.Weight); err != nil {
		return nil, fmt.Errorf("weight %s: %w", n.Weight, err)
	}
	for _, v := range []struct {
		what, name string
		dst        *[]float32
	}{{"bias", n.Bias, &o.bias}, {"shift", n.Shift, &o.shift}} {
		if v.name == "" {
			continue
		}
		if *v.dst, err = in.FileWeights(v.name); err != nil {
			return nil, fmt.Errorf("%s %s: %w", v.what, v.name, err)
		}
		if len(*v.dst) != len(o.weight) {
			return nil, fmt.Errorf("%s %s has %d elements, expected %d", v.what, v.name, len(*v.dst), len(o.weight))
		}
	}
	for _, part := range []struct {
		site string
		dst  *rows
	}{{n.In, &o.in}, {n.Delta, &o.delta}, {n.Stream, &o.stream}, {n.Site, &o.out}} {
		if part.site == "" {
			continue
		}
		if *part.dst, err = in.rows(in.Trace, part.site, len(o.weight)*max(1, n.Groups)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// rows returns a site of a trace with a row for every token.
func (in *Input) rows(t *trace.Trace, site string, n int) (rows, error) {
	if t == nil {
		return rows{}, fmt.Errorf("site %s was not captured: there is no trace", site)
	}
	data, r, w, ok := t.Data(site)
	switch {
	case len(in.Tokens) == 0:
		return rows{}, errors.New("no tokens were run")
	case !ok:
		return rows{}, fmt.Errorf("site %s was not captured", site)
	case r != len(in.Tokens) || w != n:
		return rows{}, fmt.Errorf("site %s is [%d, %d], expected [%d, %d]", site, r, w, len(in.Tokens), n)
	}
	return rows{data, r, w}, nil
}

// input writes row r of what is normed into x: float32(in + delta), plus the bias, as the kernels add.
func (o *operands) input(x []float32, r int) { o.sum(x, r, 1, true) }

// sum writes row r of in + times*delta into x, plus the bias or not, each addition rounded to float32.
func (o *operands) sum(x []float32, r, times int, bias bool) {
	copy(x, o.in.row(r))
	if o.Delta == "" {
		return
	}
	for i, d := range o.delta.row(r) {
		for range times {
			x[i] += d
		}
		if bias && o.bias != nil {
			x[i] += o.bias[i]
		}
	}
}

// proportion is an error over its bound: above 1 or infinite for anything but a finite error within it, and never NaN.
func proportion(err, bound float64) float64 {
	ok, ratio := err <= bound && bound <= math.MaxFloat64, err/bound
	switch {
	case ok && bound == 0:
		return 0
	case !ok && !(ratio > 1):
		return math.Inf(1)
	}
	return ratio
}

// tally keeps the worst of many comparisons.
type tally struct {
	Aspect
	seen bool
}

// add counts an error of got against want; anything but a finite error within its bound is wrong: NaN, and an infinite
// bound too, which comes with an infinite weight and would pass whatever there is.
func (a *tally) add(token, channel int, got, want, err, bound float64) (ratio float64) {
	ratio = proportion(err, bound)
	if ratio > 1 {
		a.Wrong++
	}
	if !a.seen || ratio > float64(a.Ratio) {
		a.seen, a.Token, a.Channel = true, token, channel
		a.Got, a.Want, a.Ratio = Number(got), Number(want), Number(ratio)
	}
	return ratio
}

func (a *tally) verdict() {
	a.Verdict = Pass
	if a.Wrong > 0 || !a.seen {
		a.Verdict = Fail
	}
}

func (o *operands) checkStream() *Aspect {
	var a tally
	x := make([]float32, o.in.n)
	for r := range o.in.rows {
		o.input(x, r)
		for i, got := range o.stream.row(r) {
			err := math.Abs(float64(got) - float64(x[i]))
			if err == 0 && math.Float32bits(got) != math.Float32bits(x[i]) {
				err = math.SmallestNonzeroFloat64 // the zeros differ in sign
			}
			a.add(r, i, float64(got), float64(x[i]), err, 0)
		}
	}
	a.verdict()
	if a.Verdict == Fail {
		a.Reason = o.diagnoseStream(a.Aspect)
	}
	return &a.Aspect
}

// formula is how a norm is computed; faults are other formulas.
type formula struct {
	eps    float64
	weight []float32
	shift  []float32 // nil: none
	input  func(x []float32, r int)
	center bool // the mean is subtracted first
	inv    func(sumSquares, n, eps float64) float64
	plus   float64 // added to the weight
}

func (o *operands) right() formula {
	return formula{
		eps: float64(o.Eps), weight: o.weight, shift: o.shift, input: o.input, center: o.Kind == layers.LayerNorm,
		inv: func(sum, n, eps float64) float64 { return 1 / math.Sqrt(sum/n+eps) },
	}
}

// each calls f with every element's expected value and bound until f answers false.
func (o *operands) each(m formula, f func(r, i int, want, bound float64) bool) {
	x, n := make([]float32, o.out.n), len(o.weight)
	for r := range o.out.rows {
		m.input(x, r)
		for from := 0; from < len(x); from += n {
			if !m.group(x[from:from+n], func(i int, want, bound float64) bool { return f(r, from+i, want, bound) }) {
				return
			}
		}
	}
}

// group norms one group of a row.
func (m *formula) group(x []float32, f func(i int, want, bound float64) bool) bool {
	n := float64(len(x))
	var mean, meanAbs, sum float64
	if m.center {
		for _, v := range x {
			mean += float64(v) / n
			meanAbs += math.Abs(float64(v)) / n
		}
	}
	for _, v := range x {
		d := float64(v) - mean
		sum += d * d
	}
	inv := m.inv(sum, n, m.eps)
	for i, v := range x {
		w := float64(m.weight[i]) + m.plus
		normed := (float64(v) - mean) * inv * w
		want := normed
		if m.shift != nil {
			want += float64(m.shift[i])
		}
		bound := NormBound(len(x), want, math.Abs(w)*math.Max(1, inv))
		if m.center {
			bound = LayerNormBound(len(x), meanAbs, inv, w, normed, want)
		}
		if !f(i, want, bound) {
			return false
		}
	}
	return true
}

// checkNorm compares the norm's output, and notes in s where its error lies.
func (o *operands) checkNorm(in *Input, s *SiteReport) *Aspect {
	var a tally
	lies := newSpread(o.out)
	var where mismatches
	allZero := true
	o.each(o.right(), func(r, i int, want, bound float64) bool {
		got := float64(o.out.row(r)[i])
		allZero = allZero && want == 0
		ratio := a.add(r, i, got, want, math.Abs(got-want), bound)
		if ratio > 1 {
			where.add(r, i)
		}
		lies.add(r, i, ratio)
		return true
	})
	s.TokenRatios, s.Channels = lies.tokens, lies.worst(worstChannels)
	a.verdict()
	switch {
	case a.Verdict == Fail:
		a.Reason = o.diagnoseNorm(in, a.Aspect, where)
	case allZero:
		a.Verdict, a.Reason = Fail, "every expected value is zero, so that nothing was measured"
	}
	return &a.Aspect
}

func (o *operands) checkWeights(in *Input) *Aspect {
	got, ok := in.DeviceWeights[o.Site]
	if !ok {
		return &Aspect{Verdict: Unmeasured, Reason: "the weight was not read back from the device"}
	}
	if len(got) != len(o.weight) {
		return failed(fmt.Sprintf("the device's weight has %d elements, %s has %d", len(got), o.Weight, len(o.weight)))
	}
	var a tally
	for i, g := range got {
		var err float64
		if math.Float32bits(g) != math.Float32bits(o.weight[i]) {
			// The zeros differ in their bits and not in value.
			err = math.Max(math.Abs(float64(g)-float64(o.weight[i])), math.SmallestNonzeroFloat64)
		}
		a.add(0, i, float64(g), float64(o.weight[i]), err, 0)
	}
	a.verdict()
	if a.Verdict == Fail {
		a.Reason = fmt.Sprintf("the device's weight differs from %s in %d of %d elements, first where it is %.9g for "+
			"%.9g at channel %d",
			o.Weight, a.Wrong, len(got), a.Got, a.Want, a.Channel)
		if other := o.otherWeight(in, got); other != "" {
			a.Reason = fmt.Sprintf("the device's weight is %s, not %s", other, o.Weight)
		}
	}
	return &a.Aspect
}

func (o *operands) checkDrift(in *Input) *Drift {
	d := &Drift{Bound: Number(driftBound(o.blocks(in), in.KV))}
	if in.Reference == nil {
		d.Verdict, d.Reason = Unmeasured, in.DriftReason
		return d
	}
	ref, err := in.rows(in.Reference, o.Site, o.out.n)
	if err != nil {
		d.Aspect = *failed("reference run: " + err.Error())
		return d
	}
	m := trace.Measure(o.out.data, ref.data)
	d.MaxAbs, d.Token, d.Channel = Number(m.MaxAbs), m.At/ref.n, m.At%ref.n
	d.Got, d.Want = Number(o.out.data[m.At]), Number(ref.data[m.At])
	d.NMSE, d.Cosine = Number(m.NMSE()), Number(m.Cosine())
	d.Ratio = d.NMSE / d.Bound
	switch {
	case m.B2 == 0:
		d.Verdict, d.Reason = Fail, "the reference is all zero"
	case d.NMSE <= d.Bound:
		d.Verdict = Pass
	default:
		d.Verdict = Fail
		d.Reason = fmt.Sprintf("NMSE %.3g against the reference run, bound %.3g; largest at token %d, channel %d: "+
			"%.9g for %.9g",
			d.NMSE, d.Bound, d.Token, d.Channel, d.Got, d.Want)
	}
	return d
}

// blocks returns how many blocks, or parts of one, the run had passed before this norm.
func (o *operands) blocks(in *Input) int {
	if o.Layer >= 0 {
		return o.Layer + 1
	}
	last := 0
	for _, s := range in.Sites {
		last = max(last, s.Layer+1)
	}
	return last
}
