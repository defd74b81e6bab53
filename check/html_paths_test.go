package check

import (
	"errors"
	"html"
	"math"
	"strings"
	"testing"

	"cera/backend"
)

func pathsText(t *testing.T, r *PathsReport) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPathsHTML writes a page of every kind of comparison: it says what the report says, and needs nothing from
// elsewhere.
func TestPathsHTML(t *testing.T) {
	spoiled := pathsOf(t, func(path, site string, data []float32) []float32 {
		if path == "chunks" && site == "ffn_norm-0" {
			data[3*synthWidth+5] = float32(math.NaN())
		}
		return data
	})
	faulty := pathsOf(t, nil)
	faulty.Paths[1].Report = Norms(newSynth(t, "ffn_norm-1", func(c *call) { c.eps = 1e-3; c.run() }).Input)
	faulty.Judge()
	missing := pathsOf(t, nil)
	missing.Paths[2].Report = nil
	for name, c := range map[string]struct {
		r   *PathsReport
		has []string
	}{
		"same": {pathsOf(t, nil), []string{"14 sites agree between 3 paths, 0 differ",
			"<td>token by token</td><td>3</td><td>5</td><td>0</td><td>0</td>", "chunks / one batch"}},
		"different": {spoiled, []string{"First difference: ffn_norm-0", "from token 3 on, on the path \"chunks\"",
			"1 differ"}},
		"a fault": {faulty, []string{"chunks, first fault: ffn_norm-1", "<td>4</td><td>1</td><td>0</td>"}},
		"not run": {missing, []string{"the path was not run", "? UNMEASURED"}},
		"nothing": {Paths(nil, nil, backend.F32), []string{"0 sites agree between 0 paths"}},
	} {
		text := pathsText(t, c.r)
		joined := strings.Join(strings.Fields(strings.ReplaceAll(text, ">\n<", "><")), " ")
		c.has = append(c.has, mark(c.r.Verdict)+" "+string(c.r.Verdict), "Not measured", PathsSchema)
		if c.r.First != nil {
			c.has = append(c.has, c.r.First.Reason)
		}
		for _, s := range c.r.Sites {
			c.has = append(c.has, ">"+s.Site+"<", s.Pairs[0].cell())
		}
		for _, want := range c.has {
			if !strings.Contains(html.UnescapeString(joined), want) {
				t.Errorf("%s: %q is not on the page", name, want)
			}
		}
		if bad := outside.FindString(text); bad != "" {
			t.Errorf("%s: the page asks for something: %q", name, bad)
		}
		if err := c.r.WriteHTML(&fullDisk{0}); !errors.Is(err, errDisk) {
			t.Errorf("%s: a full disk gave %v", name, err)
		}
	}
}

// TestPathsHTMLHostile: names come from files, and files from anywhere.
func TestPathsHTMLHostile(t *testing.T) {
	r := pathsOf(t, func(path, site string, data []float32) []float32 {
		if path == "chunks" && site == "embd" {
			clear(data)
		}
		return data
	})
	const evil = `"><script>alert(1)</script>&'`
	r.Model, r.Device.Adapter, r.First.Site, r.First.Reason = evil, evil, evil, evil
	r.Paths[0].Name, r.Sites[0].Site, r.Sites[0].Pairs[0].A = evil, evil, evil
	if text := pathsText(t, r); strings.Contains(text, "<script") {
		t.Error("a name became a part of the page")
	}
}
