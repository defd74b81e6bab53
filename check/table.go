package check

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// TableOptions says how a table is to look.
type TableOptions struct {
	Color bool // for a terminal: verdicts in colour too; they are always in words
}

var (
	verdictWords  = regexp.MustCompile(`\b(?:PASS|FAIL|UNMEASURED)\b`)
	verdictColors = map[string]string{"PASS": "\x1b[32m", "FAIL": "\x1b[1;31m", "UNMEASURED": "\x1b[33m"}
)

const colorOff = "\x1b[0m"

// WriteTableWith is WriteTable with a choice of looks.
func (r *Report) WriteTableWith(out io.Writer, o TableOptions) error {
	if !o.Color {
		return r.WriteTable(out)
	}
	var plain bytes.Buffer
	if err := r.WriteTable(&plain); err != nil {
		return err
	}
	_, err := io.WriteString(out, colorTable(plain.String()))
	return err
}

// colorTable colours the verdicts in the rows of a table and at the head of its last line, and nothing else: names and
// reasons may hold the same words. Escape sequences have no width, so that colours come after the columns are set.
func colorTable(text string) string {
	lines := strings.SplitAfter(text, "\n")
	paint := func(word string) string { return verdictColors[word] + word + colorOff }
	inRows, done := false, false
	for i, line := range lines {
		switch {
		case !done && strings.HasPrefix(line, "site "):
			inRows = true
		case inRows && line == "\n":
			inRows, done = false, true
		case inRows:
			site := strings.IndexByte(line, ' ')
			lines[i] = line[:site] + verdictWords.ReplaceAllStringFunc(line[site:], paint)
		case done && i == len(lines)-2: // the text ends in a newline
			word, rest, _ := strings.Cut(line, ":")
			if verdictColors[word] != "" {
				lines[i] = paint(word) + ":" + rest
			}
		}
	}
	return strings.Join(lines, "")
}

// WriteTable writes the report for people: what ran where, a line a norm, and the verdict with the first fault.
func (r *Report) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "model   %s\ndevice  %s: %s", r.Model, r.Device.Backend, r.Device.Adapter)
	if r.Device.Driver != "" {
		fmt.Fprintf(out, " (%s)", r.Device.Driver)
	}
	if r.Device.Software && r.Device.Backend == "gpu" {
		fmt.Fprint(out, ", a software adapter")
	}
	fmt.Fprintf(out, "\ntokens  %d\n\n", len(r.Tokens))

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "site\tmade by\tstream\tnorm, error/bound\tweights\tdrift, NMSE\tverdict")
	for _, s := range r.Sites {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Site, s.Op, word(s.Stream), ratio(s.Norm), word(s.Weights),
			s.Drift, s.Verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if r.Drift != "" {
		fmt.Fprintf(out, "drift is UNMEASURED: %s\n", r.Drift)
	}
	if f := r.First; f != nil {
		if f.Site == "" {
			fmt.Fprintf(out, "first fault: %s\n", f.Reason)
		} else {
			fmt.Fprintf(out, "first fault: %s (%s), %s: %s\n", f.Site, f.Op, f.Aspect, f.Reason)
		}
	}
	if r.Verdict == Unmeasured {
		fmt.Fprintf(out, "not measured: %s\n", r.missing())
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", r.Verdict, r.counts())
	return err
}

func word(a *Aspect) string {
	if a == nil {
		return "-"
	}
	return string(a.Verdict)
}

// missing says what the first norm, or else the first op, lacks that must be measured.
func (r *Report) missing() string {
	for _, s := range r.Sites {
		for _, a := range s.aspects() {
			if a.Aspect != nil && a.Verdict == Unmeasured && a.name != "drift" {
				return fmt.Sprintf("%s of %s: %s", a.name, s.Site, a.Reason)
			}
		}
	}
	for _, op := range r.Ops {
		if op.Verdict == Unmeasured && op.Local != nil {
			return fmt.Sprintf("%s: %s", op.Site, op.Local.Reason)
		}
	}
	return ""
}

// ratio is a cell with the largest error over its bound, where there is one: a failure without a wrong element is one
// of the comparison itself.
func ratio(a *Aspect) string {
	if a == nil || a.Verdict == Unmeasured || a.Verdict == Fail && a.Wrong == 0 {
		return word(a)
	}
	return fmt.Sprintf("%s %.2g", a.Verdict, float64(a.Ratio))
}

// String is the drift's cell of the table.
func (d *Drift) String() string {
	if d == nil {
		return "-"
	}
	if d.Verdict == Unmeasured || d.Verdict == Fail && d.NMSE == 0 { // nothing to compare with
		return string(d.Verdict)
	}
	return fmt.Sprintf("%s %.1e", d.Verdict, float64(d.NMSE))
}
