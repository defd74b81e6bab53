package check

import (
	"html/template"
	"io"
	"path/filepath"
)

// pathsView is what the page shows of a comparison of paths.
type pathsView struct {
	*PathsReport
	Name   string // the model's file without its folders
	Style  template.CSS
	Pairs  []PathPair // of the first site: which paths every site compares
	Faults []pathFault
	Gaps   []pathGap
}

// pathFault is what is wrong first on one path, by itself.
type pathFault struct {
	Path string
	*Fault
}

// pathGap is something that was not measured on one path.
type pathGap struct {
	Path string
	gap
}

// WriteHTML writes the comparison as one page that needs nothing else: no network, no scripts.
func (r *PathsReport) WriteHTML(w io.Writer) error {
	v := pathsView{PathsReport: r, Name: filepath.Base(r.Model), Style: template.CSS(pageStyle)}
	if len(r.Sites) > 0 {
		v.Pairs = r.Sites[0].Pairs
	}
	for _, p := range r.Paths {
		if p.Report == nil {
			v.Gaps = append(v.Gaps, pathGap{p.Name, gap{"every norm", "the path was not run"}})
			continue
		}
		if p.Report.First != nil {
			v.Faults = append(v.Faults, pathFault{p.Name, p.Report.First})
		}
		for _, g := range p.Report.gaps() {
			v.Gaps = append(v.Gaps, pathGap{p.Name, g})
		}
	}
	return writePage(w, pathsPage, v)
}
