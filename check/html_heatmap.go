package check

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// heatColumns is how many columns a heatmap has at most; with more tokens a cell stands for several.
const heatColumns = 64

// heatClasses is how many classes of values have a colour: one up to each step, the last for what is over 1.
const heatClasses = 6

// steps are the upper ends of the classes but the last.
type steps [heatClasses - 1]struct {
	upTo  float64
	label string
}

var (
	// A norm's error is within a few bits of its bound; drift is far below its own.
	halves   = steps{{1.0 / 16, "≤ 1/16"}, {1.0 / 8, "≤ 1/8"}, {1.0 / 4, "≤ 1/4"}, {1.0 / 2, "≤ 1/2"}, {1, "≤ 1"}}
	hundreds = steps{{1e-8, "≤ 1e-8"}, {1e-6, "≤ 1e-6"}, {1e-4, "≤ 1e-4"}, {1e-2, "≤ 0.01"}, {1, "≤ 1"}}
)

// heat is one heatmap of sites × tokens.
type heat struct {
	title, note, label string
	unit               string // what a cell's number counts
	over               string // what > 1 means
	steps              steps
	values             func(*SiteReport) []float64
	shown              func(*SiteReport) []Number // the numbers in a cell's title
}

// heatmaps draws where in the run the errors lie.
func (r *Report) heatmaps() []figure {
	all := []heat{
		{
			title: "Where the error lies", label: "error over bound", unit: "times the bound", over: "wrong",
			steps: halves,
			note: "A row a norm, a column a token: the largest error in proportion to its bound. × marks a cell " +
				"that fails.",
			shown:  func(s *SiteReport) []Number { return s.TokenRatios },
			values: func(s *SiteReport) []float64 { return divided(s.TokenRatios, 1) },
		},
		{
			title: "Where the drift lies", label: "NMSE over bound", unit: "NMSE",
			over: "over the bound of the whole site", steps: hundreds,
			note: "Each token's NMSE against the reference run, in proportion to the bound that its site must keep " +
				"over all tokens. " +
				"× marks a token that is over it; the site may still be within.",
			shown: func(s *SiteReport) []Number { return s.TokenDrift },
			values: func(s *SiteReport) []float64 {
				if s.Drift == nil {
					return nil
				}
				return divided(s.TokenDrift, s.Drift.Bound)
			},
		},
	}
	var list []figure
	for i, h := range all {
		any := false
		for j := range r.Sites {
			any = any || len(h.values(&r.Sites[j])) > 0
		}
		if any {
			list = append(list, figure{h.title, h.note, r.heatmap(h, fmt.Sprintf("gap%d", i))})
		}
	}
	return list
}

func divided(list []Number, by Number) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v / by)
	}
	return out
}

// class is the colour of a value; NaN is as bad as can be.
func (s *steps) class(v float64) int {
	for i, step := range s {
		if v <= step.upTo {
			return i
		}
	}
	return heatClasses - 1
}

// heatmap draws the sites that have values, and hatches those that have none.
func (r *Report) heatmap(h heat, hatch string) template.HTML {
	const left, top, rowHeight, legend = 130, 22, 16, 40
	tokens := len(r.Tokens)
	each := max(1, (tokens+heatColumns-1)/heatColumns)
	columns := max(1, (tokens+each-1)/each)
	cell := float64(min(40, (plotWidth-left)/columns))
	height := top + rowHeight*len(r.Sites) + legend
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="heat" role="img" aria-label="%s" viewBox="0 0 %d %d">`, html.EscapeString(h.title),
		plotWidth, height)
	fmt.Fprintf(&b, `<defs><pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M0 6L6 0"/></pattern></defs>`, hatch)
	last := math.Inf(-1)
	for c := range columns {
		x := left + cell*float64(c)
		if x-last < 34 {
			continue
		}
		last = x
		fmt.Fprintf(&b, `<text class="axis" x="%g" y="%d">%d</text>`, x+cell/2, top-7, c*each)
	}
	fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">token</text>`, left-8, top-7)
	for i := range r.Sites {
		s := &r.Sites[i]
		y := top + rowHeight*i
		name := html.EscapeString(shorten(s.Site, 16))
		if s.Verdict != Pass {
			name = mark(s.Verdict) + " " + name
		}
		fmt.Fprintf(&b, `<text class="name v%s" x="%d" y="%d"><title>%s: %s</title>%s</text>`,
			html.EscapeString(string(s.Verdict)), left-8, y+12, html.EscapeString(s.Site),
			html.EscapeString(string(s.Verdict)), name)
		values, shown := h.values(s), h.shown(s)
		if len(values) == 0 {
			fmt.Fprintf(&b, `<rect fill="url(#%s)" class="none" x="%d" y="%d" width="%g" height="%d"><title>%s: not measured</title></rect>`,
				hatch, left, y, cell*float64(columns), rowHeight-1, html.EscapeString(s.Site))
			continue
		}
		for c := range columns {
			from, to := c*each, min((c+1)*each, len(values))
			if from >= to {
				break
			}
			at := from
			for t := from + 1; t < to; t++ {
				if math.IsNaN(values[t]) || values[t] > values[at] {
					at = t
				}
			}
			x, k := left+cell*float64(c), h.steps.class(values[at])
			title := fmt.Sprintf("%s, token %d: %.3g %s", s.Site, at, float64(shown[at]), h.unit)
			if each > 1 {
				title += fmt.Sprintf(", the largest of tokens %d to %d", from, to-1)
			}
			fmt.Fprintf(&b, `<rect class="h%d" x="%g" y="%d" width="%g" height="%d"><title>%s</title></rect>`,
				k, x, y, cell-1, rowHeight-1, html.EscapeString(title))
			if k == heatClasses-1 {
				cx, cy, d := x+(cell-1)/2, float64(y)+(rowHeight-1)/2.0, min(4, (cell-2)/2)
				fmt.Fprintf(&b, `<path class="cross" d="M%g %gL%g %gM%g %gL%g %g"/>`, cx-d, cy-d, cx+d, cy+d, cx-d,
					cy+d, cx+d, cy-d)
			}
		}
	}
	y := top + rowHeight*len(r.Sites) + 16
	fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">%s</text>`, left-8, y+11, h.label)
	for i := range heatClasses {
		x, label := left+72*i, "> 1: "+h.over
		if i < len(h.steps) {
			label = h.steps[i].label
		}
		fmt.Fprintf(&b, `<rect class="h%d" x="%d" y="%d" width="16" height="14"/>`, i, x, y)
		if i == heatClasses-1 {
			fmt.Fprintf(&b, `<path class="cross" d="M%d %dl8 8m-8 0l8 -8"/>`, x+4, y+3)
		}
		fmt.Fprintf(&b, `<text class="key" x="%d" y="%d">%s</text>`, x+22, y+11, html.EscapeString(label))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// shorten cuts a name to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
