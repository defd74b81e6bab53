package check

import (
	"fmt"
	"math"
	"slices"

	"cera/layers"
)

// mismatches remembers where a norm is wrong.
type mismatches struct {
	count              int
	firstCol, firstRow int
	lastRow            int
	rows               map[int]bool
}

func (m *mismatches) add(r, i int) {
	if m.count == 0 {
		m.firstCol, m.firstRow, m.rows = i, r, map[int]bool{}
	}
	m.count++
	m.firstCol = min(m.firstCol, i)
	m.lastRow = r
	m.rows[r] = true
}

// diagnoseStream says what became of the stream instead of stream + delta.
func (o *operands) diagnoseStream(a Aspect) string {
	// is tells whether the stream is in + times*delta, plus the bias or not, and whether that can be told from in.
	want, moved := make([]float32, o.in.n), slices.ContainsFunc(o.delta.data, func(d float32) bool { return d != 0 })
	is := func(times int, bias bool) bool {
		for r := range o.in.rows {
			o.sum(want, r, times, bias)
			if !slices.Equal(want, o.stream.row(r)) {
				return false
			}
		}
		return moved
	}
	switch {
	case is(0, false):
		return "the stream after the norm is the stream before it: the write-back of the residual sum is missing"
	case is(2, true):
		return "the residual was added twice"
	case o.bias != nil && is(1, false):
		return fmt.Sprintf("the residual was added without the bias %s", o.Bias)
	case o.bias != nil && is(0, true):
		return fmt.Sprintf("the bias %s was added without the residual", o.Bias)
	}
	at := fmt.Sprintf("first at token %d, channel %d: %.9g for %.9g", a.Token, a.Channel, a.Got, a.Want)
	if o.flushed() {
		return fmt.Sprintf("the device takes numbers below %.2g for zero, in %d of %d elements; %s", tiny, a.Wrong,
			len(o.stream.data), at)
	}
	return fmt.Sprintf("stream is not stream + residual in %d of %d elements; %s", a.Wrong, len(o.stream.data), at)
}

// flushed tells whether the stream is what a device makes of it that takes subnormal operands and results for zero.
func (o *operands) flushed() bool {
	flush := func(v float32) float32 {
		if math.Abs(float64(v)) < tiny {
			return 0
		}
		return v
	}
	exact, differs := make([]float32, o.in.n), false
	for r := range o.in.rows {
		in, d := o.in.row(r), o.delta.row(r)
		o.input(exact, r)
		for i, got := range o.stream.row(r) {
			want := flush(flush(in[i]) + flush(d[i]))
			if o.bias != nil {
				want = flush(want + flush(o.bias[i]))
			}
			if got != want && got != exact[i] {
				return false
			}
			differs = differs || got != exact[i]
		}
	}
	return differs // and not in the sign of a zero alone
}

// hypothesis is a way for a norm to be wrong.
type hypothesis struct {
	reason string
	formula
}

// hypotheses lists known faults, the most telling first.
func (o *operands) hypotheses(in *Input) []hypothesis {
	var list []hypothesis
	add := func(change func(*formula), format string, args ...any) {
		m := o.right()
		change(&m)
		list = append(list, hypothesis{fmt.Sprintf(format, args...), m})
	}
	for _, eps := range []float64{0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3} {
		if float32(eps) != o.Eps {
			add(func(m *formula) { m.eps = float64(float32(eps)) }, "eps is %g, the file says %g", eps, o.Eps)
		}
	}
	for _, s := range in.Sites {
		if s.Weight == o.Weight {
			continue
		}
		if w, err := in.FileWeights(s.Weight); err == nil && len(w) == len(o.weight) {
			add(func(m *formula) { m.weight = w }, "the weight bound to it is %s, not %s", s.Weight, o.Weight)
		}
	}
	input := func(times int, bias bool) func(*formula) {
		return func(m *formula) { m.input = func(x []float32, r int) { o.sum(x, r, times, bias) } }
	}
	if o.Delta != "" {
		add(input(0, false), "the residual was not added before the norm")
		add(input(2, true), "the residual was added twice before the norm")
	}
	if o.bias != nil {
		add(input(1, false), "the bias %s was not added before the norm", o.Bias)
	}
	add(func(m *formula) { m.inv = func(sum, n, eps float64) float64 { return 1 / (math.Sqrt(sum/n) + eps) } },
		"eps stands outside the root")
	add(func(m *formula) { m.inv = func(sum, n, eps float64) float64 { return 1 / math.Sqrt(sum/(n-1)+eps) } },
		"the mean is over n-1 elements")
	add(func(m *formula) { m.plus = 1 }, "1 was added to the weight")
	add(func(m *formula) { m.weight, m.plus = make([]float32, len(o.weight)), 1 }, "the weight was not applied")
	if o.shift != nil {
		add(func(m *formula) { m.shift = nil }, "the shift %s was not added", o.Shift)
	}
	if o.Kind == layers.LayerNorm {
		add(func(m *formula) { m.center = false }, "the mean was not subtracted")
	}
	return list
}

// diagnoseNorm says why a norm is wrong: where, and which known fault gives the values that are there.
func (o *operands) diagnoseNorm(in *Input, a Aspect, where mismatches) string {
	n := o.out.n
	at := fmt.Sprintf("worst at token %d, channel %d: %.9g for %.9g, %.3g times the bound", a.Token, a.Channel, a.Got,
		a.Want, a.Ratio)
	if math.IsNaN(float64(a.Got)) || math.IsInf(float64(a.Got), 0) {
		at = fmt.Sprintf("token %d, channel %d is %g", a.Token, a.Channel, a.Got)
	}
	if reason := o.unwritten(in); reason != "" {
		return reason + "; " + at
	}
	// An unwritten tail is wrong in all its elements and, what stood there before being what it is, in most rows.
	if tail := n - where.firstCol; tail <= n/2 && where.count == tail*len(where.rows) &&
		2*len(where.rows) > o.out.rows {
		if tail == 1 {
			return fmt.Sprintf("only the last element of the row is wrong, in %d of %d rows: the row's tail is not "+
				"written; %s", len(where.rows), o.out.rows, at)
		}
		return fmt.Sprintf("only the last %d of %d elements of the row are wrong, in %d of %d rows: the row's tail "+
			"is not written; %s",
			tail, n, len(where.rows), o.out.rows, at)
	}
	// Several may fit within the bound, two values of eps for instance. The closest is meant, but what is closer by
	// rounding alone does not count.
	best, reason := 1.0, ""
	for _, h := range o.hypotheses(in) {
		worst := 0.0
		o.each(h.formula, func(r, i int, want, bound float64) bool {
			ratio := math.Abs(float64(o.out.row(r)[i])-want) / bound
			worst = math.Max(worst, ratio)
			return worst <= best // false for NaN too
		})
		if worst <= 1 && (reason == "" || worst < 0.99*best) {
			best, reason = worst, h.reason
		}
	}
	if reason != "" {
		return reason + "; " + at
	}
	if rows := len(where.rows); rows < o.out.rows {
		return fmt.Sprintf("%d of %d rows are wrong, tokens %d to %d; %s", rows, o.out.rows, where.firstRow,
			where.lastRow, at)
	}
	return fmt.Sprintf("%d of %d elements are outside the bound; %s", where.count, len(o.out.data), at)
}

// unwritten recognises an output that no kernel wrote: it is zero, or what the norm before left in the same memory.
func (o *operands) unwritten(in *Input) string {
	if !slices.ContainsFunc(o.out.data, func(v float32) bool { return v != 0 }) {
		return "the output is all zero: nothing was written"
	}
	i := slices.IndexFunc(in.Sites, func(s layers.NormSite) bool { return s.Site == o.Site })
	if i < 1 {
		return ""
	}
	if before, _, _, _ := in.Trace.Data(in.Sites[i-1].Site); sameBits(before, o.out.data) {
		return fmt.Sprintf("the output is still that of %s: nothing was written", in.Sites[i-1].Site)
	}
	return ""
}

// otherWeight names another norm's weight that has these values.
func (o *operands) otherWeight(in *Input, values []float32) string {
	for _, s := range in.Sites {
		if s.Weight == o.Weight {
			continue
		}
		if w, err := in.FileWeights(s.Weight); err == nil && sameBits(w, values) {
			return s.Weight
		}
	}
	return ""
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
