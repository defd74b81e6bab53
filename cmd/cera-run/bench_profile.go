package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/trace"
)

// runProfile profiles one model: tables to stdout, the trace to a file.
func (o *benchOptions) runProfile(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("device") {
		o.device = "gpu" // the cpu has no timestamps
	}
	if err := writable(o.profile); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	e, _, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	defer e.Close()
	name, device := modelName(args), e.Info().Adapter
	found, err := e.Profile(cmd.Context(), o.BenchOptions, func(test string) { o.progressLine(cmd, name, test) })
	if err != nil {
		return err
	}
	err = trace.WriteFile(o.profile, func(w io.Writer) error { return engine.WriteChromeTrace(w, device, found) })
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	lines := make([]profiled, len(found))
	for i, p := range found {
		lines[i] = profiled{name, device, e.Info().Library, p}
	}
	return writeProfiles(cmd.OutOrStdout(), o.format, lines)
}

func writeProfiles(out io.Writer, format string, lines []profiled) error {
	if format == "json" {
		return writeJSON(out, map[string]any{"schema": benchSchema, "results": []benchLine{}, "profiles": lines})
	}
	if format == "csv" {
		all := textTable{head: append([]string{"model", "device", "test"}, opHead...)}
		for _, p := range lines {
			for _, op := range p.Ops {
				all.add(append([]string{p.Model, p.Device, p.Test}, opCells(op)...)...)
			}
		}
		return all.write(out, format)
	}
	for i, p := range lines {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := writeProfile(out, format, p); err != nil {
			return err
		}
	}
	return nil
}

var opHead = []string{"op", "kernels", "runs", "commands", "total us", "share", "median us", "GB/s", "TFLOP/s", "gap us"}

func opCells(op engine.ProfileOp) []string {
	return []string{
		op.Op, strings.Join(op.Kernels, ", "), strconv.Itoa(op.Count), strconv.Itoa(op.Commands),
		number(op.Total, 1), number(op.Share, 3), number(op.Median, 2), unlessZero(op.GBps, 1), unlessZero(op.TFLOPs, 3), number(op.Gap, 1),
	}
}

func writeProfile(out io.Writer, format string, p profiled) error {
	fmt.Fprintf(out, "%s on %s: %s, %d passes of %d commands\n", p.Model, p.Device, p.Test, p.Passes, p.Commands)
	fmt.Fprintf(out, "a pass takes %.1f us without a profile, and with one %.1f us: "+
		"%.1f in commands, %.1f in gaps between them, %.1f between submits\n", p.Plain, p.Profiled, p.Busy, p.Gaps, p.Between)
	fmt.Fprintf(out, "each timed command has a pass of its own, which lengthens the gaps and keeps the host from running ahead\n\n")
	ops := textTable{head: opHead, left: 2}
	for _, op := range p.Ops {
		ops.add(opCells(op)...)
	}
	if err := ops.write(out, format); err != nil {
		return err
	}
	fmt.Fprintln(out)
	blocks := textTable{head: []string{"layer", "commands a pass", "us a pass", "gap us"}, left: 1}
	for _, l := range p.Layers {
		name := strconv.Itoa(l.Layer)
		if l.Layer < 0 {
			name = "none"
		}
		blocks.add(name, number(l.Commands, 0), number(l.Time, 1), number(l.Gap, 1))
	}
	return blocks.write(out, format)
}
