package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/trace"
)

// maxReport is how many bytes a report may have: one of every op of a large model has a few million.
const maxReport = 256 << 20

func mergeCommand() *cobra.Command {
	var (
		asJSON bool
		out    string
	)
	cmd := &cobra.Command{
		Use:   "merge REPORT.json...",
		Short: "Merge reports of many checkpoints into one",
		Long: `merge reads reports that "cera-run check --json" printed, one of a checkpoint each, and says how many
passed, and of each that did not what is wrong first. The exit code is 0 if all passed, 1 if one
failed or was not measured, and 2 if one cannot be read: a report that is missing is no pass.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			toFile := cmd.Flags().Changed("output")
			if toFile {
				if err := writable(out); err != nil {
					return fmt.Errorf("--output: %w", err)
				}
			}
			m, err := mergeReports(args)
			if err != nil {
				return err
			}
			write := m.WriteTable
			if asJSON {
				write = func(w io.Writer) error { return writeJSON(w, m) }
			}
			if toFile {
				err = trace.WriteFile(out, write)
			} else {
				err = write(cmd.OutOrStdout())
			}
			if err == nil && m.ExitCode() != 0 {
				err = errFailed
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, schema "+check.MergeSchema)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `FILE` in place of standard output")
	return cmd
}

// mergeReports reads reports. All that cannot be read are named.
func mergeReports(paths []string) (*check.Merged, error) {
	m := check.NewMerged()
	var bad []error
	for _, path := range paths {
		text, err := readLimited(path, maxReport)
		if err == nil {
			if err = m.Add(path, text); err != nil {
				err = fmt.Errorf("%s: %w", printable(path), err)
			}
		}
		bad = append(bad, err)
	}
	return m, errors.Join(bad...)
}
