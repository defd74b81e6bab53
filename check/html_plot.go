package check

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const plotWidth, plotHeight = 760, 210 // points

// Stand-ins for the page's colours, which differ between dark and light: in the SVG each becomes a CSS variable.
var (
	lineColor  = color.RGBA{1, 2, 3, 255}
	faultColor = color.RGBA{1, 2, 4, 255}
	gridColor  = color.RGBA{1, 2, 5, 255}
	pageColors = strings.NewReplacer("#010203", "var(--line)", "#010204", "var(--fail)", "#010205", "var(--grid)",
		"#000000", "currentColor")
)

// series is one value a site on a log scale.
type series struct {
	title, note string
	value       func(*SiteReport) (float64, bool) // false: there is none
	bound       func(*SiteReport) float64         // 0: there is none
	failed      func(*SiteReport) bool
}

// plots draws the sites' errors and streams in forward order.
func (r *Report) plots() ([]figure, error) {
	all := []series{
		{
			title: "Error over bound",
			note:  "Largest error of each norm in proportion to its bound; the dashed line is the bound.",
			value: func(s *SiteReport) (float64, bool) {
				if len(s.TokenRatios) == 0 || s.Norm == nil {
					return 0, false
				}
				return float64(s.Norm.Ratio), true
			},
			bound:  func(*SiteReport) float64 { return 1 },
			failed: func(s *SiteReport) bool { return s.Norm.Verdict == Fail },
		},
		{
			title: "Residual RMS", note: "Root mean square of the stream that each norm takes, over all tokens " +
				"and channels.",
			value: func(s *SiteReport) (float64, bool) {
				if s.ResidualRMS == nil {
					return 0, false
				}
				return float64(*s.ResidualRMS), true
			},
			bound:  func(*SiteReport) float64 { return 0 },
			failed: func(s *SiteReport) bool { return s.Stream != nil && s.Stream.Verdict == Fail },
		},
		{
			title: "Drift, NMSE", note: "Against the reference run, with what was lost in all layers before; the " +
				"dashed line is the bound.",
			value: func(s *SiteReport) (float64, bool) {
				if s.Drift == nil || len(s.TokenDrift) == 0 {
					return 0, false
				}
				return float64(s.Drift.NMSE), true
			},
			bound:  func(s *SiteReport) float64 { return float64(s.Drift.Bound) },
			failed: func(s *SiteReport) bool { return s.Drift.Verdict == Fail },
		},
	}
	var list []figure
	for _, s := range all {
		f, err := r.plot(s)
		if err != nil {
			return nil, err
		}
		if f.SVG != "" {
			list = append(list, f)
		}
	}
	return list, nil
}

// plot draws a series; a value that a log scale does not have stands at the edge, as a triangle.
func (r *Report) plot(s series) (figure, error) {
	f := figure{Title: s.title, Note: s.note}
	var line, bound, good, bad, edge plotter.XYs
	low, high := math.Inf(1), math.Inf(-1)
	on := func(v float64) bool { return v > 0 && v <= math.MaxFloat64 }
	seen := false
	for i := range r.Sites {
		v, ok := s.value(&r.Sites[i])
		if !ok {
			continue
		}
		seen = true
		for _, v := range []float64{v, s.bound(&r.Sites[i])} {
			if on(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if !seen {
		return f, nil
	}
	if low > high {
		low, high = 1, 1
	}
	// Whole decades, one at least, with room for the marks at the edges.
	low, high = math.Floor(math.Log10(low)-0.05), math.Ceil(math.Log10(high)+0.05)
	off := 0
	for i := range r.Sites {
		site := &r.Sites[i]
		v, ok := s.value(site)
		if !ok {
			continue
		}
		x := float64(i)
		if b := s.bound(site); on(b) {
			bound = append(bound, plotter.XY{X: x, Y: math.Log10(b)})
		}
		y := high // infinite or NaN
		switch {
		case on(v):
			y = math.Log10(v)
		case v == 0:
			y = low
		}
		line = append(line, plotter.XY{X: x, Y: y})
		switch p := (plotter.XY{X: x, Y: y}); {
		case !on(v):
			off++
			edge = append(edge, p)
		case s.failed(site):
			bad = append(bad, p)
		default:
			good = append(good, p)
		}
	}
	if off > 0 {
		f.Note += fmt.Sprintf(" Triangles, %d: the value is zero (below) or not finite (above).", off)
	}
	if len(bad) > 0 {
		f.Note += " Crosses: the check failed there."
	}
	p := newPlot(len(r.Sites), low, high)
	p.X.Tick.Marker = plot.ConstantTicks(r.layerTicks())
	// Marks last, over the lines.
	for _, l := range []struct {
		points plotter.XYs
		style  draw.LineStyle
	}{
		{bound, draw.LineStyle{Color: color.Black, Width: 1, Dashes: []vg.Length{5, 4}}},
		{line, draw.LineStyle{Color: lineColor, Width: 1.2}},
	} {
		if len(l.points) == 0 {
			continue
		}
		drawn, err := plotter.NewLine(l.points)
		if err != nil {
			return f, err
		}
		drawn.LineStyle = l.style
		p.Add(drawn)
	}
	for _, m := range []struct {
		points plotter.XYs
		style  draw.GlyphStyle
	}{
		{good, draw.GlyphStyle{Color: lineColor, Radius: 2.4, Shape: draw.CircleGlyph{}}},
		{bad, draw.GlyphStyle{Color: faultColor, Radius: 5, Shape: boldCross{}}},
		{edge, draw.GlyphStyle{Color: faultColor, Radius: 4, Shape: draw.PyramidGlyph{}}},
	} {
		if len(m.points) == 0 {
			continue
		}
		drawn, err := plotter.NewScatter(m.points)
		if err != nil {
			return f, err
		}
		drawn.GlyphStyle = m.style
		p.Add(drawn)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(r.Sites))-0.5, low, high
	c := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.Crop(draw.New(c), 0, -14, 0, -4)) // room for half of the last tick's label
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return f, err
	}
	f.SVG = inlineSVG(b.String(), fmt.Sprintf("%s by layer, on a log scale", s.title))
	return f, nil
}

// boldCross is a cross that is seen over a line.
type boldCross struct{}

func (boldCross) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 2.2})
	d := style.Radius
	for _, sign := range []vg.Length{1, -1} {
		var p vg.Path
		p.Move(vg.Point{X: at.X - d, Y: at.Y - sign*d})
		p.Line(vg.Point{X: at.X + d, Y: at.Y + sign*d})
		c.Stroke(p)
	}
}

func newPlot(sites int, low, high float64) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the page's
	p.X.Label.Text = "layer"
	p.X.Padding, p.Y.Padding = 0, 0
	p.Y.Tick.Marker = decades{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	grid.Vertical.Width, grid.Horizontal.Width = 0.6, 0.6
	p.Add(grid)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(sites), low, high
	return p
}

// decades are the ticks of an axis of logarithms.
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	every := math.Ceil((high - low) / 6)
	var list []plot.Tick
	for e := low; e <= high; e++ {
		t := plot.Tick{Value: e}
		if math.Mod(e-low, max(1, every)) == 0 {
			t.Label = "1e" + strconv.Itoa(int(e))
			if math.Abs(e) < 4 {
				t.Label = strconv.FormatFloat(math.Pow(10, e), 'g', 3, 64)
			}
		}
		list = append(list, t)
	}
	return list
}

// layerTicks labels the first site of a layer, of so many layers as there is room for.
func (r *Report) layerTicks() []plot.Tick {
	var list []plot.Tick
	last := -2
	for i, s := range r.Sites {
		if s.Layer == last {
			continue
		}
		last = s.Layer
		t := plot.Tick{Value: float64(i), Label: strconv.Itoa(s.Layer)}
		if s.Layer < 0 {
			t.Label = "out"
		}
		list = append(list, t)
	}
	const room = 24
	for every, i := (len(list)+room-1)/room, 0; i < len(list); i++ {
		if i%every != 0 {
			list[i].Label = ""
		}
	}
	return list
}

// inlineSVG makes an SVG file a part of the page: without its prologue, as wide as there is room, in the page's
// colours.
func inlineSVG(file, label string) template.HTML {
	start := strings.Index(file, "<svg")
	end := start + strings.IndexByte(file[start:], '>')
	head := fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s" viewBox="0 0 %d %d">`,
		template.HTMLEscapeString(label), plotWidth, plotHeight)
	return template.HTML(head + pageColors.Replace(file[end+1:]))
}
