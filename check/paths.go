package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"cera/backend"
	"cera/layers"
	"cera/trace"
)

// PathsSchema names the form of the JSON report of paths.
const PathsSchema = "cera-paths-1"

// Path is one way of running the same tokens through a model: in batches of up to UBatch tokens.
type Path struct {
	Name   string
	UBatch int
	Trace  *trace.Trace
	Report *Report // of the path's own norms
}

// PathsReport is the outcome of running the same tokens along several paths.
type PathsReport struct {
	Schema  string       `json:"schema"`
	Verdict Verdict      `json:"verdict"`
	Model   string       `json:"model"`
	Device  backend.Info `json:"device"`
	Tokens  []int32      `json:"tokens"`
	First   *PathFault   `json:"first_difference"` // nil where no site differs beyond the bound
	Paths   []PathReport `json:"paths"`            // the first is the one that others are compared with first
	Sites   []PathSite   `json:"sites"`            // in forward order
	Passed  int          `json:"passed"`           // sites on which all paths agree
	Failed  int          `json:"failed"`           // sites on which two paths differ
	Build   *Build       `json:"build,omitempty"`  // the program that checked
}

// PathReport is one path with the check of its own norms.
type PathReport struct {
	Name   string  `json:"name"`
	UBatch int     `json:"ubatch"` // tokens a batch
	Report *Report `json:"report"`
}

// PathFault is the first site, in forward order, on which two paths differ beyond the bound.
type PathFault struct {
	Site   string `json:"site"`
	Layer  int    `json:"layer"` // -1 outside the blocks
	Path   string `json:"path"`  // the path that stands against all others, or empty
	Token  int    `json:"token"` // the first whose row differs beyond the bound
	Reason string `json:"reason"`
}

// PathSite is the comparison of one site between every two paths.
type PathSite struct {
	Site    string     `json:"site"`
	Layer   int        `json:"layer"` // -1 outside the blocks
	Verdict Verdict    `json:"verdict"`
	Pairs   []PathPair `json:"pairs"`
}

// PathPair compares path A with path B. Token, Channel, Got (of A) and Want (of B) are where they are furthest apart.
type PathPair struct {
	A string `json:"a"`
	B string `json:"b"`
	Drift
	FirstToken int `json:"first_token"` // the first whose row differs beyond the bound; -1: none
}

// ExitCode is 0 if every norm of every path passed and no site differs between paths, else 1.
func (r *PathsReport) ExitCode() int {
	if r.Verdict == Pass {
		return 0
	}
	return 1
}

// Paths compares every site of the norms, inputs, streams and outputs, between every two paths: the squared difference
// over the square of the earlier path's values must be within four times the bound of drift. Where two paths' norms are
// each right, and this fails, an op between the norms depends on how the tokens are batched. kv is what their KV caches
// hold.
func Paths(sites []layers.NormSite, paths []Path, kv backend.Format) *PathsReport {
	build := ThisBuild()
	r := &PathsReport{Schema: PathsSchema, Verdict: Pass, Build: &build}
	for _, p := range paths {
		r.Paths = append(r.Paths, PathReport{p.Name, p.UBatch, p.Report})
		if p.Report != nil {
			r.Model, r.Device, r.Tokens = p.Report.Model, p.Report.Device, p.Report.Tokens
		}
	}
	for _, s := range pathSites(sites) {
		s.compare(paths, sites, kv)
		r.Sites = append(r.Sites, s)
		if s.Verdict == Pass {
			r.Passed++
			continue
		}
		r.Failed++
		if r.First == nil {
			r.First = s.fault(paths)
		}
	}
	r.Judge()
	return r
}

// Judge sets the verdict from the comparisons and the paths' reports, whose own verdicts may have changed.
func (r *PathsReport) Judge() {
	r.Verdict = Pass
	if r.Failed > 0 || len(r.Sites) == 0 || len(r.Paths) < 2 {
		r.Verdict = Fail
	}
	for _, p := range r.Paths {
		switch {
		case p.Report == nil || r.Verdict == Fail:
		case p.Report.Verdict == Fail:
			r.Verdict = Fail
		case p.Report.Verdict != Pass:
			r.Verdict = Unmeasured
		}
	}
}

// pathSites lists the sites of the norms in forward order, each once.
func pathSites(norms []layers.NormSite) []PathSite {
	var list []PathSite
	seen := map[string]bool{"": true}
	add := func(site string, layer int) {
		if !seen[site] {
			seen[site] = true
			list = append(list, PathSite{Site: site, Layer: layer})
		}
	}
	for _, n := range norms {
		layer := n.Layer
		if strings.HasPrefix(n.Site, layers.SiteAttnNorm) && layer > 0 {
			layer-- // what a block's first norm adds was made by the block before
		}
		add(n.In, layer)
		add(n.Delta, layer)
		add(n.Stream, layer)
		add(n.Site, n.Layer)
	}
	return list
}

// compare compares a site between every two paths.
func (s *PathSite) compare(paths []Path, norms []layers.NormSite, kv backend.Format) {
	s.Verdict = Pass
	blocks := s.Layer + 1
	if s.Layer < 0 {
		blocks = len(norms) / 2
	}
	for b := range paths {
		for a := b + 1; a < len(paths); a++ {
			p := PathPair{A: paths[a].Name, B: paths[b].Name, FirstToken: -1}
			p.Bound = Number(pathsBound(blocks, kv))
			p.compare(s.Site, paths[a].Trace, paths[b].Trace)
			if p.Verdict != Pass {
				s.Verdict = Fail
			}
			s.Pairs = append(s.Pairs, p)
		}
	}
}

func (p *PathPair) compare(site string, ta, tb *trace.Trace) {
	a, rowsA, n, okA := ta.Data(site)
	b, rowsB, nB, okB := tb.Data(site)
	switch {
	case !okA || !okB:
		p.Aspect = *failed(fmt.Sprintf("site %s was not captured on both paths", site))
		return
	case rowsA != rowsB || n != nB:
		p.Aspect = *failed(fmt.Sprintf("site %s is [%d, %d] and [%d, %d]", site, rowsA, n, rowsB, nB))
		return
	}
	bound := float64(p.Bound)
	m := trace.Measure(a, b)
	p.Token, p.Channel, p.Got, p.Want, p.MaxAbs = m.At/n, m.At%n, Number(a[m.At]), Number(b[m.At]), Number(m.MaxAbs)
	nmse := ratioOf(m.Err2, m.B2)
	p.NMSE, p.Cosine, p.Ratio = Number(nmse), Number(m.Cosine()), Number(nmse/bound)
	p.Verdict = Pass
	if !(nmse <= bound) {
		p.Verdict = Fail
		p.FirstToken = p.Token
		for r := range rowsA {
			row := trace.Measure(a[r*n:(r+1)*n], b[r*n:(r+1)*n])
			if !(ratioOf(row.Err2, row.B2) <= bound) {
				p.FirstToken = r
				break
			}
		}
		p.Reason = fmt.Sprintf("NMSE %.3g between %s and %s, bound %.3g; first beyond it at token %d, largest at "+
			"token %d, channel %d: %.7g and %.7g",
			nmse, p.A, p.B, bound, p.FirstToken, p.Token, p.Channel, float64(p.Got), float64(p.Want))
	}
}

// ratioOf is e over s, and 0 where both are: two rows of zeros are the same.
func ratioOf(e, s float64) float64 {
	if e == 0 && s == 0 {
		return 0
	}
	return e / s
}

// fault says which path differs from the others, where one can be told.
func (s *PathSite) fault(paths []Path) *PathFault {
	f := &PathFault{Site: s.Site, Layer: s.Layer}
	bad := map[string]int{}
	pairs := 0
	for _, p := range s.Pairs {
		if p.Verdict == Pass {
			continue
		}
		bad[p.A]++
		bad[p.B]++
		if pairs++; pairs == 1 {
			f.Token, f.Reason = max(0, p.FirstToken), p.Reason
		}
	}
	// Of three paths one is alone if it differs from both others and these agree.
	if len(paths) > 2 && pairs == len(paths)-1 {
		i := slices.IndexFunc(paths, func(p Path) bool { return bad[p.Name] == pairs })
		if i >= 0 {
			f.Path = paths[i].Name
			f.Reason = fmt.Sprintf("%s differs from every other path, which agree; %s", f.Path, f.Reason)
		}
	}
	return f
}

// WriteTable writes the report for people: each path's own verdict, a line a site, and the first difference.
func (r *PathsReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "model   %s\ndevice  %s: %s\ntokens  %d\n\n", r.Model, r.Device.Backend, r.Device.Adapter,
		len(r.Tokens))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "path\ttokens a batch\tpassed\tfailed\tunmeasured\tverdict")
	for _, p := range r.Paths {
		if p.Report == nil {
			fmt.Fprintf(w, "%s\t%d\t-\t-\t-\t%s\n", p.Name, p.UBatch, Unmeasured)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", p.Name, p.UBatch, p.Report.Passed, p.Report.Failed, p.Report.Missed,
			p.Report.Verdict)
	}
	fmt.Fprint(w, "\nsite")
	if len(r.Sites) > 0 {
		for _, p := range r.Sites[0].Pairs {
			fmt.Fprintf(w, "\t%s / %s", p.A, p.B)
		}
	}
	fmt.Fprintln(w, "\tverdict")
	for _, s := range r.Sites {
		fmt.Fprint(w, s.Site)
		for _, p := range s.Pairs {
			fmt.Fprintf(w, "\t%s", p.cell())
		}
		fmt.Fprintf(w, "\t%s\n", s.Verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, p := range r.Paths {
		if p.Report == nil {
			continue
		}
		if f := p.Report.First; f != nil {
			fmt.Fprintf(out, "%s, first fault: %s (%s), %s: %s\n", p.Name, f.Site, f.Op, f.Aspect, f.Reason)
		}
		if p.Report.Verdict == Unmeasured {
			fmt.Fprintf(out, "%s: not every norm was measured\n", p.Name)
		}
	}
	if r.First != nil {
		fmt.Fprintf(out, "first difference: %s: %s\n", r.First.Site, r.First.Reason)
	}
	_, err := fmt.Fprintf(out, "%s: %d sites agree between %d paths, %d differ\n", r.Verdict, r.Passed, len(r.Paths),
		r.Failed)
	return err
}

// cell is the pair's NMSE, where there is one.
func (p *PathPair) cell() string {
	if p.Verdict == Fail && p.NMSE == 0 {
		return string(p.Verdict)
	}
	return fmt.Sprintf("%s %.1e", p.Verdict, float64(p.NMSE))
}
