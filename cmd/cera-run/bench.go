package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cera/engine"
)

// benchSchema names the form of the JSON that bench prints.
const benchSchema = "cera-bench-1"

type benchLine struct {
	Model  string `json:"model"`
	Device string `json:"device"`
	engine.BenchResult
}

// benchOptions are the flags of bench.
type benchOptions struct {
	runOptions
	engine.BenchOptions
	format      string
	kernelsFlag bool
	only        string
	profile     string
}

func benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [MODEL...]",
		Short: "Measure prefill and decoding, in tokens a second, or kernels by themselves",
		Long: `bench measures the prefill of a prompt and greedy decoding, each several times after a run that
warms up, and gives the median and the range. Without a model it measures the built-in one.

--profile FILE runs the same once with every command timed by the device: a table of where the time
goes, by op and by layer, and a trace in FILE for ui.perfetto.dev or chrome://tracing.

--kernels measures kernels by themselves, in the shapes of the models given or of "1B" and "8B", beside
what the device does at most in the same run: an elementwise pass for memory, a loop of multiplications
for arithmetic. --only 'GLOB' picks some, as '8B/matvec/Q4_*'.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVarP(&o.Prompt, "prompt", "p", 512, "tokens of a prefill; 0 leaves it out")
	f.IntVarP(&o.Generate, "generate", "n", 128, "tokens of a run of decoding; 0 leaves it out")
	f.IntVarP(&o.Depth, "depth", "d", 0, "tokens in the KV cache before a run of decoding")
	f.IntVarP(&o.Repetitions, "repetitions", "r", 5, "runs of each")
	f.StringVarP(&o.format, "output", "o", "table", "table, csv, json or markdown")
	f.BoolVar(&o.kernelsFlag, "kernels", false, "measure kernels by themselves")
	f.StringVar(&o.only, "only", "", "with --kernels, those whose name matches `GLOB`")
	f.StringVar(&o.profile, "profile", "", "time every command on the device, and write a trace to `FILE`")
	return cmd
}

func (o *benchOptions) run(cmd *cobra.Command, args []string) error {
	switch {
	case o.Prompt < 0 || o.Generate < 0 || o.Depth < 0 || o.Prompt+o.Generate == 0:
		return fmt.Errorf("-p %d, -n %d, -d %d: expected numbers of tokens, and something to measure", o.Prompt, o.Generate, o.Depth)
	case o.Repetitions < 1:
		return fmt.Errorf("-r: %d is not at least 1", o.Repetitions)
	case !slices.Contains([]string{"table", "csv", "json", "markdown"}, o.format):
		return fmt.Errorf("--output: %q is not one of table, csv, json, markdown", o.format)
	case o.kernelsFlag && o.profile != "":
		return errors.New("--kernels and --profile: one at a time")
	case o.kernelsFlag && o.dryRun:
		return errors.New("--kernels and --dry-run: kernels are measured without a model in memory")
	case o.only != "" && !o.kernelsFlag:
		return errors.New("--only: it picks from --kernels")
	case o.profile != "" && len(args) > 1:
		return fmt.Errorf("--profile: found %d models, expected one for a trace", len(args))
	}
	if o.kernelsFlag {
		return o.benchKernels(cmd, args)
	}
	if !cmd.Flags().Changed("ctx") {
		o.ctx = max(o.Prompt, o.Depth+o.Generate) + 8
	}
	if o.profile != "" {
		return o.runProfile(cmd, args)
	}
	var lines []benchLine
	models := [][]string{nil}
	if len(args) > 0 {
		models = nil
		for _, a := range args {
			models = append(models, []string{a})
		}
	}
	for _, model := range models {
		l, err := o.bench(cmd, model)
		if err != nil {
			return err
		}
		lines = append(lines, l...)
	}
	return writeBench(cmd.OutOrStdout(), o.format, lines)
}

// modelName is what the lines of a model are called.
func modelName(args []string) string {
	if len(args) == 0 {
		return engine.BuiltInName
	}
	return filepath.Base(args[0])
}

// bench measures one model.
func (o *benchOptions) bench(cmd *cobra.Command, model []string) ([]benchLine, error) {
	e, _, err := o.open(cmd, model)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	name := modelName(model)
	results, err := e.Bench(cmd.Context(), o.BenchOptions, func(test string, run int) {
		o.progressLine(cmd, name, fmt.Sprintf("%s, run %d of %d", test, run, o.Repetitions))
	})
	if err != nil {
		return nil, err
	}
	var lines []benchLine
	for _, r := range results {
		lines = append(lines, benchLine{name, e.Info().Adapter, r})
	}
	return lines, nil
}

func writeBench(out io.Writer, format string, lines []benchLine) error {
	if format == "json" {
		return writeJSON(out, map[string]any{"schema": benchSchema, "results": lines})
	}
	t := textTable{head: []string{"model", "device", "test", "tokens/s", "least", "most", "commands"}, left: 3}
	for _, l := range lines {
		t.add(l.Model, l.Device, l.Test, number(l.Median, 2), number(l.Least, 2), number(l.Most, 2), unlessZero(l.Commands, 0))
	}
	return t.write(out, format)
}

// profiled is a profile as it is printed.
type profiled struct {
	Model  string `json:"model"`
	Device string `json:"device"`
	*engine.Profile
}

// progressLine says on stderr what is measured.
func (o *benchOptions) progressLine(cmd *cobra.Command, words ...string) {
	if !o.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), strings.Join(words, ": "))
	}
}
