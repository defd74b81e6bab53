package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/gguf"
	"cera/trace"
)

func quantizeCommand() *cobra.Command {
	var (
		o     engine.QuantizeOptions
		quiet bool
	)
	types := strings.Join(engine.QuantizeTypes(), ", ")
	cmd := &cobra.Command{
		Use:   "quantize IN.gguf OUT.gguf TYPE",
		Short: "Write a model with its weight matrices in another format",
		Long: `quantize re-encodes the weight matrices of a model as TYPE: ` + types + `.

Norms, biases, routers of a mixture, rope factors and metadata stay as they are. A matrix whose
rows are no whole number of blocks becomes F16, and is named. The new file appears whole or not
at all, and one tensor of it at a time is held in memory.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, out := args[0], args[1]
			o.Type = args[2]
			if err := trace.Writable(out); err != nil {
				return err
			}
			f, err := gguf.Open(in)
			if err != nil {
				return err
			}
			defer f.Close()
			var before, after uint64
			for _, t := range f.Tensors {
				before += t.Size
			}
			stderr := cmd.ErrOrStderr()
			o.Progress = func(t engine.QuantizedTensor) {
				after += t.Bytes
				became := ""
				if t.To != t.From {
					became = " -> " + t.To
				}
				switch line := fmt.Sprintf("[%*d/%d] %s %v %s%s", len(fmt.Sprint(t.All)), t.Index+1, t.All, t.Name,
					t.Dims, t.From, became); {
				case t.Reason != "":
					fmt.Fprintf(stderr, "%s: %s\n", line, t.Reason)
				case !quiet:
					fmt.Fprintln(stderr, line)
				}
			}
			err = engine.Quantize(cmd.Context(), f, out, o)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%w: --force replaces it", err)
			}
			if err != nil {
				return err
			}
			if !quiet {
				fmt.Fprintf(stderr, "%s: %d tensors, %s instead of %s\n", out, len(f.Tensors), engine.Size(after),
					engine.Size(before))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "replace OUT.gguf if it exists")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "name only the matrices that become F16 for the length of their rows")
	return cmd
}
