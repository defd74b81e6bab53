package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/trace"
)

// diffSchema names the form of the JSON that diff prints.
const diffSchema = "cera-diff-1"

func diffCommand() *cobra.Command {
	var (
		tol    float64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two traces site by site, from this or another engine",
		Long: `diff compares two traces, each an .npz, a folder of .npy files or a .safetensors file, and names
the first site that differs, in forward order. B is the reference. The names of llama.cpp's
tensors and of Hugging Face's modules are understood. Exit codes: 0 the same within
tolerance, 1 different numbers, 2 files that are bad or cannot be compared: other tokens,
other shapes, a site missing in one block, numbers that are not finite.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			bound := check.DriftBound
			if cmd.Flags().Changed("tol") {
				if !(tol >= 0) {
					return fmt.Errorf("--tol: %g is not at least 0", tol)
				}
				bound = func(int) float64 { return tol }
			}
			a, err := trace.Open(args[0])
			if err != nil {
				return err
			}
			b, err := trace.Open(args[1])
			if err != nil {
				return err
			}
			c, err := trace.Diff(a, b, bound)
			if err != nil {
				return fmt.Errorf("%s and %s: %w", args[0], args[1], err)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				err = writeJSON(out, diffJSON(args, a, b, c))
			} else {
				err = writeDiff(out, args, a, b, c)
			}
			if err != nil {
				return fmt.Errorf("writing the comparison: %w", err)
			}
			if err := c.Unfit(); err != nil {
				return fmt.Errorf("%s and %s: %w", args[0], args[1], err)
			}
			if !c.Same() {
				return errFailed
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Float64Var(&tol, "tol", 0,
		"largest `NMSE` of a site (default what rounding can add up to in the blocks before it, see docs/numerics.md)")
	f.BoolVar(&asJSON, "json", false, "print the comparison as JSON, schema "+diffSchema)
	return cmd
}

// writeDiff prints the comparison for people.
func writeDiff(out io.Writer, args []string, a, b *trace.Trace, c *trace.Comparison) error {
	var text strings.Builder
	for i, t := range []*trace.Trace{a, b} {
		fmt.Fprintf(&text, "%c  %s", "AB"[i], args[i])
		if m := t.Manifest; m != nil {
			fmt.Fprintf(&text, ": %s of %s, %d tokens", strings.TrimSpace(m.Engine+" "+m.Version), m.Model, m.Tokens)
			if m.Device != "" {
				fmt.Fprintf(&text, ", on %s", strings.TrimSpace(m.Device+" "+m.Adapter))
			}
		}
		text.WriteString("\n")
	}
	if c.Models != "" {
		fmt.Fprintf(&text, "the models are different files: %s\n", c.Models)
	}
	if c.Tokens != "" {
		fmt.Fprintf(&text, "the tokens differ: %s\n", c.Tokens)
	}
	text.WriteString("\n")
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "site\tNMSE\ttolerance\tcosine\tmax abs\tmax rel\ttoken, channel\tA\tB\tnot finite A, B\tverdict")
	failed := 0
	for _, d := range c.Sites {
		verdict := check.Pass
		if d.Failed() {
			verdict = check.Fail
			failed++
		}
		if d.RowsA != d.RowsB || d.NA != d.NB {
			fmt.Fprintf(w, "%s\t-\t%.3g\t-\t-\t-\t-\t-\t-\t%d, %d\t%s\n", d.Site, d.Tol, d.NonFiniteA, d.NonFiniteB,
				verdict)
			continue
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%.9f\t%.3g\t%.3g\t%d, %d\t%.9g\t%.9g\t%d, %d\t%s\n", d.Site, d.NMSE, d.Tol,
			d.Cosine,
			d.MaxAbs, d.MaxRel, d.Token, d.Channel, d.A, d.B, d.NonFiniteA, d.NonFiniteB, verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	text.WriteString("\n")
	for i, only := range [][]string{c.OnlyA, c.OnlyB} {
		if len(only) > 0 {
			fmt.Fprintf(&text, "only in %c: %s\n", "AB"[i], strings.Join(only, " "))
		}
	}
	for _, gap := range c.Gaps {
		fmt.Fprintf(&text, "%s\n", gap)
	}
	if c.First != nil {
		fmt.Fprintf(&text, "first over tolerance: %s: %s\n", siteNames(c.First), c.First.Reason)
		if c.Last != nil {
			fmt.Fprintf(&text, "last within it:       %s: NMSE %.3g\n", siteNames(c.Last), c.Last.NMSE)
		} else {
			text.WriteString("last within it:       none, it is the first that is in both\n")
		}
	}
	verdict := check.Pass
	if !c.Same() {
		verdict = check.Fail
	}
	fmt.Fprintf(&text, "%s: %d sites compared, %d over tolerance, %d in one trace only\n", verdict, len(c.Sites),
		failed, len(c.OnlyA)+len(c.OnlyB))
	_, err := io.WriteString(out, text.String())
	return err
}

// siteNames is a site with what other engines call it.
func siteNames(d *trace.SiteDiff) string {
	for _, other := range []string{d.NameA, d.NameB} {
		if other != d.Site {
			return fmt.Sprintf("%s (%s)", d.Site, other)
		}
	}
	return d.Site
}

type jsonDiff struct {
	Schema  string        `json:"schema"`
	Verdict check.Verdict `json:"verdict"`
	A       jsonTrace     `json:"a"`
	B       jsonTrace     `json:"b"`
	Tokens  string        `json:"tokens_differ,omitempty"`
	Models  string        `json:"models_differ,omitempty"`
	Gaps    []string      `json:"gaps,omitempty"`       // sites missing in one block of one trace
	First   string        `json:"first_over,omitempty"` // site
	Last    string        `json:"last_under,omitempty"` // site before it
	Sites   []jsonSite    `json:"sites"`                // in forward order
}

type jsonTrace struct {
	Path     string          `json:"path"`
	Manifest *trace.Manifest `json:"manifest,omitempty"`
	Only     []string        `json:"only"` // sites that the other trace does not have
}

// jsonSite has null for what could not be measured, and "NaN", "+Inf" for such numbers.
type jsonSite struct {
	Site      string        `json:"site"`
	NameA     string        `json:"name_a"`
	NameB     string        `json:"name_b"`
	ShapeA    [2]int        `json:"shape_a"`
	ShapeB    [2]int        `json:"shape_b"`
	Verdict   check.Verdict `json:"verdict"`
	Reason    string        `json:"reason,omitempty"`
	Tol       check.Number  `json:"tolerance"`
	NonFinite [2]int        `json:"not_finite"` // of A, of B
	Measured  *jsonMeasured `json:"measured"`   // null where the shapes differ
}

type jsonMeasured struct {
	NMSE    check.Number `json:"nmse"`
	Cosine  check.Number `json:"cosine"`
	MaxAbs  check.Number `json:"max_abs"`
	MaxRel  check.Number `json:"max_rel"`
	Token   int          `json:"token"`
	Channel int          `json:"channel"`
	A       check.Number `json:"a"`
	B       check.Number `json:"b"`
}

func diffJSON(args []string, a, b *trace.Trace, c *trace.Comparison) *jsonDiff {
	j := &jsonDiff{
		Schema: diffSchema, Verdict: check.Pass, Tokens: c.Tokens, Models: c.Models, Gaps: c.Gaps,
		A: jsonTrace{args[0], a.Manifest, append([]string{}, c.OnlyA...)},
		B: jsonTrace{args[1], b.Manifest, append([]string{}, c.OnlyB...)},
	}
	if !c.Same() {
		j.Verdict = check.Fail
	}
	if c.First != nil {
		j.First = c.First.Site
	}
	if c.Last != nil {
		j.Last = c.Last.Site
	}
	for _, d := range c.Sites {
		s := jsonSite{
			Site: d.Site, NameA: d.NameA, NameB: d.NameB, ShapeA: [2]int{d.RowsA, d.NA}, ShapeB: [2]int{d.RowsB, d.NB},
			Verdict: check.Pass, Reason: d.Reason, Tol: check.Number(d.Tol),
			NonFinite: [2]int{d.NonFiniteA, d.NonFiniteB},
		}
		if d.Failed() {
			s.Verdict = check.Fail
		}
		if s.ShapeA == s.ShapeB {
			s.Measured = &jsonMeasured{
				check.Number(d.NMSE), check.Number(d.Cosine), check.Number(d.MaxAbs), check.Number(d.MaxRel),
				d.Token, d.Channel, check.Number(d.A), check.Number(d.B),
			}
		}
		j.Sites = append(j.Sites, s)
	}
	return j
}
