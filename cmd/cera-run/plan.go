package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/engine"
)

// errPlanned ends a command that was asked for its plan alone, which fits.
var errPlanned = errors.New("planned")

// memoryFlags are the flags about the memory of the device.
func (o *runOptions) memoryFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.gpuMemory, "gpu-memory", "",
		"refuse a model that needs more than `SIZE` of the GPU's memory, as 8GiB or 500MB")
	f.BoolVar(&o.dryRun, "dry-run", false, "print how much memory the model would take, and load nothing")
}

// plan prints the plan of the model at args[0], or the built-in one: as JSON where the command prints JSON. What it
// returns ends the command.
func (o *runOptions) plan(cmd *cobra.Command, args []string, opts engine.Options) error {
	f, err := openFile(args)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := engine.NewPlan(f, opts)
	if err != nil {
		return err
	}
	asJSON := false
	if flag := cmd.Flags().Lookup("json"); flag != nil {
		asJSON = flag.Value.String() == "true"
	}
	if asJSON {
		err = writeJSON(cmd.OutOrStdout(), p)
	} else {
		err = printPlan(cmd.OutOrStdout(), p)
	}
	switch {
	case err != nil:
		return err
	case !p.Fits:
		return &engine.DeviceError{Err: &engine.MemoryError{Plan: p}}
	}
	return errPlanned
}

func printPlan(out io.Writer, p *engine.Plan) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", p.Model)
	fmt.Fprintf(w, "device\t%s: %s\n", p.Device.Backend, p.Device.Adapter)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	line := func(what string, bytes int64, note string) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", what, engine.Size(bytes), bytes, note)
	}
	fmt.Fprintln(w, "memory\tsize\tbytes\t")
	line("weights", p.Weights, "as the device holds them")
	line("KV cache", p.KV, fmt.Sprintf("%d positions, %s", p.Ctx, p.KVType))
	line("activations", p.Activations, fmt.Sprintf("batches of up to %d tokens", p.UBatch))
	line("working memory", p.Working, "at most")
	line("total", p.Total, "")
	line("while loading", p.Loading, "at most")
	if p.Budget > 0 {
		verdict := "it fits"
		if !p.Fits {
			verdict = "too small"
		}
		line("budget", p.Budget, verdict)
	}
	return w.Flush()
}

// byteUnits are what a size may end in.
var byteUnits = map[string]float64{
	"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30,
	"TIB": 1 << 40,
}

// parseSize reads a number of bytes, as 8GiB, 1.5G, 500MB or 4096.
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGTIbkmgti ")
	unit, known := byteUnits[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	v, err := strconv.ParseFloat(number, 64)
	if bytes := v * unit; err == nil && known && bytes >= 1 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size, such as 8GiB, 500MB or a number of bytes", text)
}
