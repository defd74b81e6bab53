package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/engine"
)

type checkOptions struct {
	runOptions
	json           bool
	drift, noDrift bool
}

func (o *checkOptions) flags(cmd *cobra.Command) {
	o.runOptions.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVar(&o.drift, "drift", false, "compare with a full reference run on the cpu however long it takes")
	f.BoolVar(&o.noDrift, "no-drift", false, "make no reference run")
	cmd.MarkFlagsMutuallyExclusive("drift", "no-drift")
}

func checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [MODEL]",
		Short: "Check every norm of a run, layer by layer, against float64",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.flags(cmd)
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	e, tokens, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	defer e.Close()
	drift := engine.DriftAuto
	switch {
	case o.drift:
		drift = engine.DriftOn
	case o.noDrift:
		drift = engine.DriftOff
	}
	report, err := e.Check(cmd.Context(), tokens, drift)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case o.json:
		err = writeJSON(out, report)
	case !o.quiet || report.Verdict != check.Pass:
		err = report.WriteTable(out)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if report.ExitCode() != 0 {
		return errFailed
	}
	return nil
}
