package check

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

func pageText(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outside is what asks for something from elsewhere.
var outside = regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\([^#]|(?:src|href)\s*=`)

// TestHTML writes a page of every kind of report: it says what the report says, and needs nothing from elsewhere.
func TestHTML(t *testing.T) {
	for name, r := range reports(t) {
		text := pageText(t, r)
		has := []string{mark(r.Verdict) + " " + string(r.Verdict), "Not measured"}
		if r.First != nil {
			has = append(has, "First fault", r.First.Reason)
		} else if strings.Contains(text, "First fault") {
			t.Errorf("%s: a fault where there is none", name)
		}
		switch name {
		case "passed", "failed", "NaN":
			has = append(has, "Error over bound", "Residual RMS", "Drift, NMSE", "Where the error lies",
				"Where the drift lies", "Worst channels", "made up")
		case "unmeasured":
			has = append(has, "it was turned off", "the weight was not read back from the device",
				"weights of attn_norm-0")
		case "missing":
			has = append(has, "ffn_norm-1: not measured", "everything but the failure at ffn_norm-1")
		case "ops":
			has = append(has, "Qcur-0")
		}
		for _, s := range r.Sites {
			has = append(has, s.Site)
		}
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not on the page", name, want)
			}
		}
		if bad := outside.FindString(text); bad != "" {
			t.Errorf("%s: the page asks for something: %q", name, bad)
		}
		for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Errorf("%s: a drawing is not XML: %v", name, err)
					break
				}
			}
		}
		if strings.Contains(text, "#000000") || strings.Contains(text, "#01020") {
			t.Errorf("%s: a drawing has a colour that does not follow the page", name)
		}
	}
}

// TestHTMLMarks: the cells of a failing token, and no others, have a cross beside their colour.
func TestHTMLMarks(t *testing.T) {
	r := Norms(newSynth(t, "ffn_norm-1", func(c *call) { c.run(); c.out[3*synthWidth+7] *= 1.01 }).Input)
	svg := string(r.heatmaps()[0].SVG)
	body, _, _ := strings.Cut(svg, ">error over bound<")
	if n := strings.Count(body, `class="cross"`); n != 1 {
		t.Errorf("%d crosses, want 1", n)
	}
	if !regexp.MustCompile(`class="h5"[^>]*><title>ffn_norm-1, token 3: [^<]* times the bound</title></rect><path class="cross"`).MatchString(body) {
		t.Errorf("the failing cell is not marked: %s", body)
	}
	if got := strings.Count(body, "<rect"); got != len(r.Sites)*synthTokens {
		t.Errorf("%d cells, want %d", got, len(r.Sites)*synthTokens)
	}
	if first := r.channelRows(10)[0]; first.Channel != 7 || first.Site != "ffn_norm-1" || first.Ratio <= 1 {
		t.Errorf("the worst channel is %+v, want 7 at ffn_norm-1", first)
	}
}

// TestHTMLManyTokens: a cell of many tokens shows the worst of them, whichever it is.
func TestHTMLManyTokens(t *testing.T) {
	for _, tokens := range []int{1, heatColumns, heatColumns + 1, 2*heatColumns + 3, 1000} {
		for _, at := range []int{0, tokens / 2, tokens - 1} {
			for _, bad := range []Number{7, Number(math.Inf(1)), Number(math.NaN())} {
				ratios := make([]Number, tokens)
				ratios[at] = bad
				r := &Report{Tokens: make([]int32, tokens), Sites: []SiteReport{{Site: "a", TokenRatios: ratios}}}
				body, _, _ := strings.Cut(string(r.heatmaps()[0].SVG), ">error over bound<")
				if strings.Count(body, `class="h5"`) != 1 || strings.Count(body, "<rect") > heatColumns {
					t.Errorf("%d tokens, %g at %d: %d failing of %d cells", tokens, bad, at,
						strings.Count(body, `class="h5"`), strings.Count(body, "<rect"))
				}
			}
		}
	}
}

// TestHTMLHostile: names come from files, and files from anywhere.
func TestHTMLHostile(t *testing.T) {
	r := columns()
	const evil = `"><script>alert(1)</script>&'`
	r.Model, r.Device.Adapter, r.Drift = evil, evil, evil
	for i := range r.Sites {
		r.Sites[i].Site, r.Sites[i].Op = evil, evil
		r.Sites[i].TokenRatios = []Number{1}
	}
	r.First.Site, r.First.Reason = evil, evil
	if text := pageText(t, r); strings.Contains(text, "<script") {
		t.Error("a name became a part of the page")
	}
}

// TestHTMLOddValues: what a log scale does not have is drawn at its edge, never lost or fatal.
func TestHTMLOddValues(t *testing.T) {
	for _, v := range []float64{0, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64, math.MaxFloat64, 1} {
		n := Number(v)
		r := &Report{Tokens: []int32{1}, Sites: []SiteReport{{Site: "a", ResidualRMS: &n},
			{Site: "b", Layer: -1, ResidualRMS: &n}}}
		list, err := r.plots()
		if err != nil || len(list) != 1 {
			t.Fatalf("%g: %d plots, %v", v, len(list), err)
		}
		odd := !(v > 0 && v <= math.MaxFloat64)
		if strings.Contains(list[0].Note, "Triangles") != odd {
			t.Errorf("%g: %s", v, list[0].Note)
		}
		if svg := string(list[0].SVG); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%g: a coordinate is no number", v)
		}
	}
}

func TestHTMLWriteError(t *testing.T) {
	if err := columns().WriteHTML(&fullDisk{0}); !errors.Is(err, errDisk) {
		t.Errorf("a full disk gave %v", err)
	}
}
