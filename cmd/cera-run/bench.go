package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/trace"
)

// benchSchema names the form of the JSON that bench prints.
const benchSchema = "cera-bench-1"

type benchLine struct {
	Model  string `json:"model"`
	Device string `json:"device"`
	engine.BenchResult
}

func benchCommand() *cobra.Command {
	var (
		o      runOptions
		b      engine.BenchOptions
		format string
	)
	cmd := &cobra.Command{
		Use:   "bench [MODEL...]",
		Short: "Measure prefill and decoding, in tokens a second",
		Long: `bench measures the prefill of a prompt and greedy decoding, each several times after a run that
warms up, and gives the median and the range. Without a model it measures the built-in one.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case b.Prompt < 0 || b.Generate < 0 || b.Depth < 0 || b.Prompt+b.Generate == 0:
				return fmt.Errorf("-p %d, -n %d, -d %d: expected numbers of tokens, and something to measure", b.Prompt, b.Generate, b.Depth)
			case b.Repetitions < 1:
				return fmt.Errorf("-r: %d is not at least 1", b.Repetitions)
			case format != "table" && format != "csv" && format != "json" && format != "markdown":
				return fmt.Errorf("--output: %q is not one of table, csv, json, markdown", format)
			}
			if !cmd.Flags().Changed("ctx") {
				o.ctx = max(b.Prompt, b.Depth+b.Generate) + 8
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
				l, err := bench(cmd, &o, b, model)
				if err != nil {
					return err
				}
				lines = append(lines, l...)
			}
			return writeBench(cmd.OutOrStdout(), format, lines)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVarP(&b.Prompt, "prompt", "p", 512, "tokens of a prefill; 0 leaves it out")
	f.IntVarP(&b.Generate, "generate", "n", 128, "tokens of a run of decoding; 0 leaves it out")
	f.IntVarP(&b.Depth, "depth", "d", 0, "tokens in the KV cache before a run of decoding")
	f.IntVarP(&b.Repetitions, "repetitions", "r", 5, "runs of each")
	f.StringVarP(&format, "output", "o", "table", "table, csv, json or markdown")
	return cmd
}

// bench measures one model.
func bench(cmd *cobra.Command, o *runOptions, b engine.BenchOptions, model []string) ([]benchLine, error) {
	e, _, err := o.open(cmd, model)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	name := engine.BuiltInName
	if len(model) > 0 {
		name = filepath.Base(model[0])
	}
	results, err := e.Bench(cmd.Context(), b, func(test string, run int) {
		if !o.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, run %d of %d\n", name, test, run, b.Repetitions)
		}
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
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	head := []string{"model", "device", "test", "tokens/s", "least", "most"}
	row := func(l benchLine) []string {
		return []string{l.Model, l.Device, l.Test, number(l.Median), number(l.Least), number(l.Most)}
	}
	switch format {
	case "json":
		return writeJSON(out, map[string]any{"schema": benchSchema, "results": lines})
	case "csv":
		w := csv.NewWriter(out)
		rows := [][]string{head}
		for _, l := range lines {
			rows = append(rows, row(l))
		}
		return w.WriteAll(rows)
	}
	left, between, right := "", "\t", ""
	if format == "markdown" {
		left, between, right = "| ", " | ", " |"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	print := func(cells []string) {
		fmt.Fprint(w, left)
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(w, between)
			}
			fmt.Fprint(w, c)
		}
		fmt.Fprintln(w, right)
	}
	print(head)
	if format == "markdown" {
		print([]string{"---", "---", "---", "---:", "---:", "---:"})
	}
	for _, l := range lines {
		print(row(l))
	}
	return w.Flush()
}

func randomCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "random SHAPE TYPE OUT.gguf",
		Short: "Write a model of the 1B or 8B shape with random weights, for measurements",
		Long: `random writes a llama of the shape of Llama 3.2 1B or Llama 3.1 8B whose weights are random, in
F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 or Q4_K: for bench.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(args[2]); err == nil {
				return fmt.Errorf("%s: it is there already", args[2])
			}
			return trace.WriteFile(args[2], func(w io.Writer) error {
				_, err := engine.WriteRandom(w, args[0], args[1])
				return err
			})
		},
	}
}
