package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/engine"
	"cera/gguf"
	"cera/trace"
)

type checkOptions struct {
	runOptions
	opsOptions
	json           bool
	drift, noDrift bool
	paths          bool
	trace, weights string
	report         string
}

func (o *checkOptions) flags(cmd *cobra.Command) {
	o.runOptions.flags(cmd)
	o.textFlags(cmd)
	o.opsOptions.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVar(&o.drift, "drift", false, "compare with a full reference run on the cpu however long it takes")
	f.BoolVar(&o.noDrift, "no-drift", false, "make no reference run")
	f.BoolVar(&o.paths, "paths", false,
		"run the tokens as one batch, in chunks (7, or --ubatch), and token by token, and compare the paths")
	f.StringVar(&o.trace, "trace", "",
		"check what another program captured, a `TRACE` (.npz, .safetensors or a folder of .npy), without running "+
			"anything; needs --weights")
	f.StringVar(&o.weights, "weights", "", "the `MODEL` that --trace is a trace of")
	f.StringVar(&o.report, "report", "",
		"write the report, of norms, ops or paths, as one page of HTML to this `FILE` too")
	cmd.MarkFlagsMutuallyExclusive("drift", "no-drift")
	cmd.MarkFlagsMutuallyExclusive("paths", "trace", "ops")
	cmd.MarkFlagsRequiredTogether("trace", "weights")
}

func checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [MODEL]",
		Short: "Check every norm of a run, layer by layer, against float64",
		Long: `check runs tokens through a model, captures every norm with its inputs on the path that really
ran, and recomputes it in float64 from them.

--ops all captures and recomputes every op, a block at a time; --layers 3..5 and --sites narrow it.
Where a norm fails, that is done by itself for the blocks before it, and the op that is wrong named.

--paths runs the same tokens as one batch, in chunks, and token by token through the KV cache,
checks the norms of each, and compares the paths site by site.

--trace TRACE --weights MODEL runs nothing: it checks the norms that another program captured, by
llama.cpp's site names ("embd", "attn_norm-0", "attn_out-0", "ffn_inp-0", ...). What the trace
lacks is UNMEASURED and no failure: the exit code is 0 if something passed and nothing failed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.flags(cmd)
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("report") {
		if err := writable(o.report); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if cmd.Flags().Changed("trace") {
		return o.runTrace(cmd, args)
	}
	if o.paths {
		return o.runPaths(cmd, args)
	}
	all, filter, err := o.opsOptions.all()
	if err != nil {
		return err
	}
	e, tokens, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	defer e.Close()
	var report *check.Report
	if all {
		report, err = e.CheckOps(cmd.Context(), tokens, o.driftMode(), filter)
	} else {
		report, err = e.Check(cmd.Context(), tokens, o.driftMode())
	}
	if err != nil {
		return err
	}
	return o.finish(cmd, report, opsReport{report}, report.Verdict, report.ExitCode())
}

func (o *checkOptions) driftMode() engine.Drift {
	switch {
	case o.drift:
		return engine.DriftOn
	case o.noDrift:
		return engine.DriftOff
	}
	return engine.DriftAuto
}

// runPaths checks every way of batching the tokens.
func (o *checkOptions) runPaths(cmd *cobra.Command, args []string) error {
	e, tokens, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	defer e.Close()
	chunk := 0
	if cmd.Flags().Changed("ubatch") {
		chunk = o.ubatch
		if chunk < 2 || chunk >= len(tokens) {
			return fmt.Errorf("--ubatch: chunks of %d of %d tokens are no path of their own: expected 2 to %d", chunk,
				len(tokens), len(tokens)-1)
		}
	}
	report, err := e.CheckPaths(cmd.Context(), tokens, o.driftMode(), chunk)
	if err != nil {
		return err
	}
	return o.finish(cmd, report, report, report.Verdict, report.ExitCode())
}

// runTrace checks a file of captured tensors.
func (o *checkOptions) runTrace(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--trace runs no model: give %s as --weights alone", args[0])
	}
	for _, name := range []string{"device", "adapter", "ubatch", "ctx", "norms", "tokens", "drift", "no-drift",
		"layers", "sites"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no meaning with --trace, which runs nothing", name)
		}
	}
	f, err := gguf.Open(o.weights)
	if err != nil {
		return err
	}
	defer f.Close()
	tr, err := trace.Open(o.trace)
	if err != nil {
		return err
	}
	report, err := engine.CheckTrace(f, tr, o.trace)
	if err != nil {
		return err
	}
	return o.finish(cmd, report, report, report.Verdict, report.PartialExitCode())
}

// finish writes the page, if one is asked for, and prints the report in the form for people.
func (o *checkOptions) finish(cmd *cobra.Command, p page, form table, verdict check.Verdict, code int) error {
	if cmd.Flags().Changed("report") {
		if err := trace.WriteFile(o.report, p.WriteHTML); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	return o.print(cmd, form, verdict, code)
}

type (
	// table is a report that people can read.
	table interface{ WriteTable(io.Writer) error }
	// page is one that browsers can show.
	page interface{ WriteHTML(io.Writer) error }
)

// print writes a report as asked and turns its exit code into an error.
func (o *checkOptions) print(cmd *cobra.Command, report table, verdict check.Verdict, code int) error {
	var err error
	out := cmd.OutOrStdout()
	switch {
	case o.json:
		err = writeJSON(out, report)
	case !o.quiet || verdict != check.Pass:
		err = report.WriteTable(out)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if code != 0 {
		return errFailed
	}
	return nil
}
