package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/engine"
)

func devicesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPU adapters, their limits, and which one would be picked",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := engine.ListDevices()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), d)
			}
			return printDevices(cmd.OutOrStdout(), d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON, schema "+engine.DevicesSchema)
	return cmd
}

func printDevices(out io.Writer, d *engine.Devices) error {
	picks := func(i int) string {
		switch {
		case i == d.Auto && i == d.GPU:
			return "auto, gpu"
		case i == d.Auto:
			return "auto"
		case i == d.GPU:
			return "gpu"
		}
		return ""
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "N\tADAPTER\tTYPE\tAPI\tDRIVER\tBINDING\tBUFFER\tSHARED\tTHREADS\tPICKED BY --device")
	for i, a := range d.Adapters {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", a.Index, a.Name, a.Type, a.API, a.Driver,
			limit(a.Limits.MaxBinding), limit(a.Limits.MaxBuffer), engine.Size(a.Limits.WorkgroupStorage),
			a.Limits.Invocations, picks(i))
	}
	fast := "cpu-fast"
	if d.Auto < 0 {
		fast = "auto, cpu-fast"
	}
	fmt.Fprintf(w, "-\t%s\tcpu\t-\t%s\t-\t-\t-\t-\t%s\n", d.CPUFast.Adapter, d.CPUFast.Driver, fast)
	fmt.Fprintf(w, "-\t%s\tcpu\t-\t%s\t-\t-\t-\t-\tcpu\n", d.CPU.Adapter, d.CPU.Driver)
	if err := w.Flush(); err != nil {
		return err
	}
	if d.Problem != "" {
		fmt.Fprintf(out, "\nNo GPU adapter: %s\n", d.Problem)
	}
	return nil
}

// limit formats a limit in bytes; drivers without one say an absurd number.
func limit(bytes int64) string {
	if bytes >= 1<<50 {
		return "no limit"
	}
	return engine.Size(bytes)
}
