package check

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteOps writes a line for every op of the report that is no norm, in forward order, and counts them; nothing where
// no ops were checked.
func (r *Report) WriteOps(out io.Writer) error {
	if len(r.Ops) == 0 {
		return nil
	}
	counts := map[Verdict]int{}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "site\tmade by\tlocal, error/bound\tdrift, NMSE\tverdict")
	for _, op := range r.Ops {
		counts[op.Verdict]++
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", op.Site, op.Op, ratio(op.Local), op.Drift, op.Verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nops: %d passed, %d failed, %d unmeasured\n\n", counts[Pass], counts[Fail],
		counts[Unmeasured])
	return err
}
