package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/kernelbench"
)

// kernelOptions is where tests put small sizes.
var kernelOptions kernelbench.Options

// benchKernels measures kernels in the shapes of models.
func (o *benchOptions) benchKernels(cmd *cobra.Command, args []string) error {
	var opts engine.Options
	o.chooseDevice(cmd, &opts)
	k := kernelOptions
	if len(args) == 0 && k.Shapes == nil {
		args = []string{"1B", "8B"}
	}
	for _, name := range args {
		s, err := engine.KernelShape(name)
		if err != nil {
			return err
		}
		k.Shapes = append(k.Shapes, s)
	}
	k.Only = o.only
	k.Progress = func(name string, i, n int) { o.progressLine(cmd, fmt.Sprintf("kernel %d of %d", i, n), name) }
	r, err := engine.BenchKernels(cmd.Context(), opts, k)
	if err != nil {
		return err
	}
	if !r.Ceilings.Steady {
		fmt.Fprintf(cmd.ErrOrStderr(), "clock check: the ceilings moved by %.0f%% in the course of the run: "+
			"its numbers cannot be compared well\n", 100*r.Ceilings.Drift)
	}
	return writeKernels(cmd.OutOrStdout(), o.format, r)
}

func writeKernels(out io.Writer, format string, r *kernelbench.Report) error {
	if format == "json" {
		return writeJSON(out, map[string]any{"schema": benchSchema, "results": []benchLine{}, "kernel_report": r})
	}
	t := textTable{head: []string{"model", "kernel", "shape", "us", "least", "most", "GB/s", "TFLOP/s", "ceiling", "of it"}, left: 3}
	for _, k := range r.Kernels {
		if k.Skipped != "" {
			t.add(k.Model, k.Kernel, k.Shape, "skipped: "+k.Skipped, "", "", "", "", "", "")
			continue
		}
		unit := " GB/s"
		if k.Bound == "arithmetic" {
			unit = " TFLOP/s"
		}
		ceiling := unlessZero(k.Ceiling, 1)
		if ceiling != "" {
			ceiling += unit
		}
		t.add(k.Model, k.Kernel, k.Shape, number(k.Median, 2), number(k.Least, 2), number(k.Most, 2), number(k.GBps, 1),
			unlessZero(k.TFLOPs, 3), ceiling, unlessZero(k.Share, 2))
	}
	if format == "csv" {
		return t.write(out, format)
	}
	c := r.Ceilings
	fmt.Fprintf(out, "%s: memory %.0f GB/s (elementwise pass, two reads and two writes)", r.Device, c.GBps)
	if c.TFLOPs > 0 {
		fmt.Fprintf(out, ", arithmetic %.2f TFLOP/s (float32 multiplications and additions)", c.TFLOPs)
	}
	word := "steady"
	if !c.Steady {
		word = "NOT STEADY"
	}
	fmt.Fprintf(out, "; clock check: %s, %.1f%% in %d looks\n", word, 100*c.Drift, len(c.Checks))
	fmt.Fprintf(out, "a kernel that memory bounds is put beside the pass over as many bytes; "+
		"each time is a median, with the least and the most\n\n")
	return t.write(out, format)
}
