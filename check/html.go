package check

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed html.tmpl
var pageSource string

//go:embed html.css
var pageStyle string

//go:embed html_paths.tmpl
var pathsSource string

var (
	pageFuncs = template.FuncMap{"mark": mark, "ratio": ratio, "word": word, "channels": channelList,
		"pair": func(p PathPair) string { return p.cell() }}
	page      = template.Must(template.New("report").Funcs(pageFuncs).Parse(pageSource))
	pathsPage = template.Must(template.New("paths").Funcs(pageFuncs).Parse(pathsSource))
)

// view is what the page shows of a report.
type view struct {
	*Report
	Name    string // the model's file without its folders
	Counts  string
	Style   template.CSS
	Plots   []figure
	Maps    []figure
	Channel []channelRow
	Gaps    []gap
}

// figure is a drawing with its words.
type figure struct {
	Title, Note string
	SVG         template.HTML
}

// channelRow is a channel that is among the worst of one site or more.
type channelRow struct {
	Channel, Sites int
	Ratio          Number
	Site           string // where Ratio is
}

// gap is something that was not measured.
type gap struct{ What, Why string }

// WriteHTML writes the report as one page that needs nothing else: no network, no scripts.
func (r *Report) WriteHTML(w io.Writer) error {
	v := view{
		Report: r, Name: filepath.Base(r.Model), Counts: r.counts(), Style: template.CSS(pageStyle),
		Maps: r.heatmaps(), Channel: r.channelRows(10), Gaps: r.gaps(),
	}
	var err error
	if v.Plots, err = r.plots(); err != nil {
		return fmt.Errorf("drawing the report: %w", err)
	}
	return writePage(w, page, v)
}

// writePage writes a page once all of it is made.
func writePage(w io.Writer, page *template.Template, v any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// mark is a symbol that says the same as a verdict's colour.
func mark(v Verdict) string {
	switch v {
	case Pass:
		return "✓"
	case Fail:
		return "✗"
	default:
		return "?"
	}
}

func channelList(list []ChannelRatio) string {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d (%.2g)", c.Channel, float64(c.Ratio))
	}
	return b.String()
}

// channelRows lists the channels that fail, the worst first, then those that most sites name among their worst; at most
// n.
func (r *Report) channelRows(n int) []channelRow {
	var list []channelRow
	at := map[int]int{}
	for _, s := range r.Sites {
		for _, c := range s.Channels {
			i, ok := at[c.Channel]
			if !ok {
				i = len(list)
				at[c.Channel] = i
				list = append(list, channelRow{Channel: c.Channel})
			}
			row := &list[i]
			row.Sites++
			if c.Ratio > row.Ratio {
				row.Ratio, row.Site = c.Ratio, s.Site
			}
		}
	}
	slices.SortStableFunc(list, func(a, b channelRow) int {
		// What is wrong stands before what is frequent.
		return cmp.Or(cmp.Compare(max(1, b.Ratio), max(1, a.Ratio)), cmp.Compare(b.Sites, a.Sites),
			cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(a.Channel, b.Channel))
	})
	return list[:min(n, len(list))]
}

// gaps lists what was not measured and why; the same reason is told once.
func (r *Report) gaps() []gap {
	var list []gap
	if r.Drift != "" {
		list = append(list, gap{"Drift of every site against a reference run", r.Drift})
	}
	type key struct{ aspect, why string }
	sites := map[key][]string{}
	var order []key
	note := func(site string, a namedAspect) {
		if a.Aspect == nil || a.Verdict != Unmeasured || a.name == "drift" && r.Drift != "" {
			return
		}
		k := key{a.name, a.Reason}
		if sites[k] == nil {
			order = append(order, k)
		}
		sites[k] = append(sites[k], site)
	}
	for _, s := range r.Sites {
		for _, a := range s.aspects() {
			note(s.Site, a)
		}
	}
	for _, o := range r.Ops {
		note(o.Site, namedAspect{"local", o.Local})
		if o.Drift != nil {
			note(o.Site, namedAspect{"drift", &o.Drift.Aspect})
		}
	}
	const few = 6
	for _, k := range order {
		names := sites[k]
		what := fmt.Sprintf("%s of %s", k.aspect, strings.Join(names[:min(few, len(names))], ", "))
		if len(names) > few {
			what += fmt.Sprintf(" and %d more", len(names)-few)
		}
		list = append(list, gap{what, k.why})
	}
	for _, s := range r.Sites {
		if s.Norm != nil && s.Norm.Verdict == Fail && s.Weights == nil && s.Drift == nil {
			list = append(list, gap{"everything but the failure at " + s.Site, s.Norm.Reason})
		}
	}
	if len(r.Ops) == 0 {
		list = append(list, gap{"ops that are no norms: embedding, projections, RoPE, KV store, attention, MLP, logits",
			"this report is of norms only; a fault elsewhere shows as drift of the norms after it, where drift " +
				"was measured"})
	}
	return list
}
