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
	Model   string `json:"model"`
	Device  string `json:"device"`
	Library string `json:"library,omitempty"` // that drives the GPU, with its version or revision
	engine.BenchResult
}

// benchLoad is what loading one model took.
type benchLoad struct {
	Model  string `json:"model"`
	Device string `json:"device"`
	engine.LoadResult
}

// benchRecord is what bench prints as JSON.
type benchRecord struct {
	Schema  string      `json:"schema"`
	Loads   []benchLoad `json:"loads"`
	Results []benchLine `json:"results"`
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
warms up, and gives the median and the range. Without a model it measures the built-in one. A line
"load" before them says at what rate the weights of the file came onto the device, once, and how long
it was from opening the file to a first token; with -p 0 -n 0 that is all.

--profile FILE runs the same once with every command timed by the device: a table of where the time
goes, by op and by layer, and a trace in FILE for ui.perfetto.dev or chrome://tracing.

--kernels measures kernels by themselves, in the shapes of the models given or of "1B" and "8B" ("8x7B"
and "30B-A3B" have experts), beside what the device does at most in the same run: an elementwise pass for
memory, a loop of multiplications for arithmetic. --only 'GLOB' picks some, as '8B/matvec/Q4_*'.`,
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
	profile := cmd.Flags().Changed("profile")
	switch {
	case o.Prompt < 0 || o.Generate < 0 || o.Depth < 0:
		return fmt.Errorf("-p %d, -n %d, -d %d: expected numbers of tokens", o.Prompt, o.Generate, o.Depth)
	case o.profile != "" && o.Prompt+o.Generate == 0:
		return errors.New("--profile, -p 0, -n 0: there is nothing to measure")
	case o.Repetitions < 1:
		return fmt.Errorf("-r: %d is not at least 1", o.Repetitions)
	case !slices.Contains([]string{"table", "csv", "json", "markdown"}, o.format):
		return fmt.Errorf("--output: %q is not one of table, csv, json, markdown", o.format)
	case o.kernelsFlag && profile:
		return errors.New("--kernels and --profile: one at a time")
	case o.kernelsFlag && o.dryRun:
		return errors.New("--kernels and --dry-run: kernels are measured without a model in memory")
	case o.only != "" && !o.kernelsFlag:
		return errors.New("--only: it picks from --kernels")
	case profile && len(args) > 1:
		return fmt.Errorf("--profile: found %d models, expected one for a trace", len(args))
	}
	if o.kernelsFlag {
		return o.benchKernels(cmd, args)
	}
	if !cmd.Flags().Changed("ctx") {
		o.ctx = max(o.Prompt, o.Depth+o.Generate) + 8
	}
	if profile {
		return o.runProfile(cmd, args)
	}
	all := benchRecord{Schema: benchSchema, Results: []benchLine{}}
	models := [][]string{nil}
	if len(args) > 0 {
		models = nil
		for _, a := range args {
			models = append(models, []string{a})
		}
	}
	for _, model := range models {
		if err := o.bench(cmd, model, &all); err != nil {
			return err
		}
	}
	return writeBench(cmd.OutOrStdout(), o.format, &all)
}

// modelName is what the lines of a model are called.
func modelName(args []string) string {
	if len(args) == 0 {
		return engine.BuiltInName
	}
	return filepath.Base(args[0])
}

// bench measures one model.
func (o *benchOptions) bench(cmd *cobra.Command, model []string, all *benchRecord) error {
	e, _, err := o.open(cmd, model)
	if err != nil {
		return err
	}
	defer e.Close()
	name, device := modelName(model), e.Info().Adapter
	o.progressLine(cmd, name, "a first token")
	load, err := e.BenchLoad(cmd.Context())
	if err != nil {
		return err
	}
	all.Loads = append(all.Loads, benchLoad{name, device, load})
	results, err := e.Bench(cmd.Context(), o.BenchOptions, func(test string, run int) {
		o.progressLine(cmd, name, fmt.Sprintf("%s, run %d of %d", test, run, o.Repetitions))
	})
	if err != nil {
		return err
	}
	for _, r := range results {
		all.Results = append(all.Results, benchLine{name, device, e.Info().Library, r})
	}
	return nil
}

// writeBench prints a model's load before what was measured of it.
func writeBench(out io.Writer, format string, all *benchRecord) error {
	if format == "json" {
		return writeJSON(out, all)
	}
	t := textTable{head: []string{"model", "device", "test", "tokens/s", "least", "most", "commands", "load GB/s", "load s", "first token s"}, left: 3}
	for i, l := range all.Loads {
		t.add(l.Model, l.Device, "load", "", "", "", "", number(l.Rate, 2), number(l.Open, 2), number(l.FirstToken, 2))
		tests := len(all.Results) / len(all.Loads) // the same of every model
		for _, l := range all.Results[i*tests : (i+1)*tests] {
			t.add(l.Model, l.Device, l.Test, number(l.Median, 2), number(l.Least, 2), number(l.Most, 2), unlessZero(l.Commands, 0), "", "", "")
		}
	}
	return t.write(out, format)
}

// profiled is a profile as it is printed.
type profiled struct {
	Model   string `json:"model"`
	Device  string `json:"device"`
	Library string `json:"library,omitempty"` // that drives the GPU, with its version or revision
	*engine.Profile
}

// progressLine says on stderr what is measured.
func (o *benchOptions) progressLine(cmd *cobra.Command, words ...string) {
	if !o.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), strings.Join(words, ": "))
	}
}
