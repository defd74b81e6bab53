package check

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"cera/backend"
)

// MergeSchema names the form of merged reports as JSON.
const MergeSchema = "cera-merge-1"

// Merged is the outcome of many checks.
type Merged struct {
	Schema  string        `json:"schema"`
	Verdict Verdict       `json:"verdict"`
	Passed  int           `json:"passed"` // reports
	Failed  int           `json:"failed"`
	Missed  int           `json:"unmeasured"`
	Build   Build         `json:"build"`  // the program that merged
	Models  []MergedModel `json:"models"` // in the order in which they were added
}

// MergedModel is what stays of one report.
type MergedModel struct {
	Report  string       `json:"report"` // its path
	Model   string       `json:"model"`
	Verdict Verdict      `json:"verdict"`
	Passed  int          `json:"sites_passed"` // norms and ops, as the report counts
	Failed  int          `json:"sites_failed"`
	Missed  int          `json:"sites_unmeasured"`
	First   *Fault       `json:"first_fault"` // nil where nothing failed
	Device  backend.Info `json:"device"`
	Build   *Build       `json:"build,omitempty"` // the program that checked, where the report says it
}

// NewMerged returns the outcome of no checks yet, which is a failure.
func NewMerged() *Merged {
	return &Merged{Schema: MergeSchema, Verdict: Fail, Build: ThisBuild(), Models: []MergedModel{}}
}

// Add reads the JSON of a report and adds it under the name of its path. What is no report of Schema, or one whose
// verdict is better than its counts, is an error that does not name the path. Sites are not looked at.
func (m *Merged) Add(path string, text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("it is empty: the check did not end")
	}
	var r struct {
		MergedModel
		Schema string        `json:"schema"`
		Passed int           `json:"passed"`
		Failed int           `json:"failed"`
		Missed int           `json:"unmeasured"`
		Device *backend.Info `json:"device"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("it is no report: %w", err)
	}
	if r.Schema != Schema {
		return fmt.Errorf("its schema is %q, expected %q, as check --json prints it", r.Schema, Schema)
	}
	if r.Device == nil {
		return fmt.Errorf("the field \"device\" is missing")
	}
	best, err := verdictOf(r.Passed, r.Failed, r.Missed)
	if err != nil {
		return err
	}
	// A report whose norms all passed, and an op did not, fails: where a program counted the norms alone, as earlier
	// ones did, the verdict is worse than the counts.
	worst := []Verdict{Pass, Unmeasured, Fail}
	if at := slices.Index(worst, r.Verdict); at < slices.Index(worst, best) {
		return fmt.Errorf("its verdict is %q, but %d passed, %d failed and %d unmeasured make it %s", r.Verdict,
			r.Passed, r.Failed, r.Missed, best)
	}
	m.Models = append(m.Models, MergedModel{path, r.Model, r.Verdict, r.Passed, r.Failed, r.Missed, r.First, *r.Device,
		r.Build})
	switch r.Verdict {
	case Pass:
		m.Passed++
	case Fail:
		m.Failed++
	default:
		m.Missed++
	}
	m.Verdict, err = verdictOf(m.Passed, m.Failed, m.Missed)
	return err
}

// verdictOf judges by counts. Where nothing was checked nothing passed.
func verdictOf(passed, failed, missed int) (Verdict, error) {
	switch {
	case passed < 0 || failed < 0 || missed < 0:
		return Fail, fmt.Errorf("%d passed, %d failed, %d unmeasured: expected no negative numbers", passed, failed,
			missed)
	case failed > 0 || passed+missed == 0:
		return Fail, nil
	case missed > 0:
		return Unmeasured, nil
	}
	return Pass, nil
}

// ExitCode is 0 if all passed, else 1.
func (m *Merged) ExitCode() int {
	if m.Verdict == Pass {
		return 0
	}
	return 1
}

// WriteTable writes the outcome for people, a line a report.
func (m *Merged) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "model\tdevice\tpassed\tfailed\tunmeasured\tverdict\tfirst fault")
	for _, r := range m.Models {
		first := "-"
		if f := r.First; f != nil && f.Site != "" {
			first = fmt.Sprintf("%s (%s), %s: %s", f.Site, f.Op, f.Aspect, f.Reason)
		} else if f != nil {
			first = f.Reason
		}
		device := r.Device.Backend
		if r.Device.Adapter != "" {
			device += ": " + r.Device.Adapter
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", cell(r.Model), cell(device), r.Passed, r.Failed, r.Missed,
			r.Verdict, cell(first))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s: %d models passed, %d failed, %d unmeasured\n", m.Verdict, m.Passed, m.Failed,
		m.Missed)
	return err
}

// cell is text from a file as one cell of a table, which can do nothing to a terminal.
func cell(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s)
}
