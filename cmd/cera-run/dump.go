package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
)

func dumpCommand() *cobra.Command {
	var (
		o     runOptions
		out   string
		sites []string
	)
	cmd := &cobra.Command{
		Use:   "dump MODEL --out trace.npz",
		Short: "Write the tensors of a run to an .npz file, by llama.cpp's site names",
		Long: `dump runs tokens through a model and writes what it captured to an .npz file: an array a site,
float32, a row a token; "logits", one row a token; the "tokens" themselves; and a "manifest",
JSON in a uint8 array that says which model ran where. Memory does not grow with the number of
tokens, and an interrupted dump leaves no file. Compare two with "cera-run diff".`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := siteFilter(sites)
			if err != nil {
				return err
			}
			if err := writable(out); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			e, tokens, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			defer e.Close()
			written, err := e.Dump(cmd.Context(), out, buildVersion(), tokens,
				func(site string) bool { return site == "logits" || want(site) })
			if err != nil {
				return err
			}
			if !o.quiet {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d sites, %d tokens\n", out, len(written), len(tokens))
			}
			return nil
		},
	}
	o.flags(cmd)
	o.textFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	cmd.Flags().StringSliceVar(&sites, "sites", nil,
		"only sites that match one of these globs, as `GLOB,...`, for instance 'ffn_norm-*'")
	cmd.MarkFlagRequired("out") //nolint:errcheck // the flag is defined above
	return cmd
}

// siteFilter returns a function that tells whether a site matches one of the globs; without globs every site does.
func siteFilter(globs []string) (func(site string) bool, error) {
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return nil, fmt.Errorf("--sites: %q: %w", strings.TrimSpace(g), err)
		}
	}
	return func(site string) bool {
		for _, g := range globs {
			if ok, _ := path.Match(g, site); ok {
				return true
			}
		}
		return len(globs) == 0
	}, nil
}
