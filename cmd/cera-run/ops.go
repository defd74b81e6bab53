package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/engine"
)

// opsOptions are the flags of a check of every op.
type opsOptions struct {
	ops    string
	layers string
	sites  []string
}

func (o *opsOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.ops, "ops", "norms", "what to check: norms, or all for every op from the embedding to the logits")
	f.StringVar(&o.layers, "layers", "", "with --ops all, only these blocks, as `3..5` or 3")
	f.StringSliceVar(&o.sites, "sites", nil,
		"with --ops all, only ops whose site matches one of these globs, as `GLOB,...`")
}

// all reports whether every op is to be checked, and which.
func (o *opsOptions) all() (bool, engine.OpFilter, error) {
	var f engine.OpFilter
	switch o.ops {
	case "norms":
		if o.layers != "" || len(o.sites) > 0 {
			return false, f, fmt.Errorf("--layers and --sites narrow --ops all: the norms are always checked whole")
		}
		return false, f, nil
	case "all":
	default:
		return false, f, fmt.Errorf("--ops: %q is not one of norms, all", o.ops)
	}
	if _, err := siteFilter(o.sites); err != nil {
		return false, f, err
	}
	f.Sites = o.sites
	if o.layers != "" {
		from, to, ranged := strings.Cut(o.layers, "..")
		if !ranged {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < 0 || b < a {
			return false, f, fmt.Errorf("--layers: %q is no range of blocks, as 3..5", o.layers)
		}
		f.From, f.To = a, b+1
	}
	return true, f, nil
}

// opsReport is a report whose table shows the ops before the norms, or says that they were not checked; on a terminal
// with colours.
type opsReport struct{ *check.Report }

func (r opsReport) WriteTable(out io.Writer) error {
	if err := r.WriteOps(out); err != nil {
		return err
	}
	if err := r.WriteTableWith(out, check.TableOptions{Color: isTerminal(out) &&
		os.Getenv("NO_COLOR") == ""}); err != nil {
		return err
	}
	if len(r.Ops) > 0 {
		return nil
	}
	_, err := fmt.Fprintln(out, "Not checked: the ops between the norms, and the logits (--ops all).")
	return err
}
