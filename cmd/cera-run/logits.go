package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/sample"
	"cera/tokenizer"
)

// Names of the forms of JSON that these commands print.
const (
	logitsSchema = "cera-logits-1"
	embedSchema  = "cera-embed-1"
)

type nextToken struct {
	ID      int32   `json:"id"`
	Text    *string `json:"text"` // null where the model has no vocabulary
	Logit   float32 `json:"logit"`
	LogProb float64 `json:"logprob"`
	Prob    float64 `json:"probability"`
}

func writeLogits(out io.Writer, e *engine.Engine, o *runOptions, logits []float32, top []sample.Alternative,
	asJSON bool) error {
	tok, err := o.tokenizer(e)
	if err != nil {
		tok = nil // ids alone
	}
	var list []nextToken
	for _, a := range top {
		t := nextToken{ID: a.ID, Logit: logits[a.ID], LogProb: a.LogProb, Prob: math.Exp(a.LogProb)}
		if tok != nil {
			text := tok.Token(a.ID)
			t.Text = &text
		}
		list = append(list, t)
	}
	if asJSON {
		return writeJSON(out, map[string]any{"schema": logitsSchema, "next": list})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\ttoken\tlogit\tprobability")
	for _, t := range list {
		text := "-"
		if t.Text != nil {
			text = strconv.Quote(*t.Text)
		}
		fmt.Fprintf(w, "%d\t%s\t%.4f\t%.4f\n", t.ID, text, t.Logit, t.Prob)
	}
	return w.Flush()
}

func perplexityCommand() *cobra.Command {
	var (
		o     runOptions
		chunk int
	)
	cmd := &cobra.Command{
		Use:   "perplexity MODEL FILE",
		Short: "How well a model foretells a text",
		Long: `perplexity cuts a text into chunks of -c tokens and scores the second half of each, as llama.cpp
does: exp of the mean negative log-likelihood, with its standard error.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chunk < 4 {
				return fmt.Errorf("-c: %d is not at least 4", chunk)
			}
			text, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			o.ctx = chunk
			e, _, err := o.open(cmd, args[:1])
			if err != nil {
				return err
			}
			defer e.Close()
			tok, err := o.tokenizer(e)
			if err != nil {
				return err
			}
			bar := newProgress(cmd.ErrOrStderr(), o.quiet)
			r, err := e.Perplexity(cmd.Context(), tok.Encode(string(text), tokenizer.EncodeOptions{AddSpecial: true}),
				chunk, tok, bar.update)
			bar.finish()
			if err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "perplexity %.4f ± %.4f over %d tokens in %d chunks of %d\n",
				r.Perplexity, r.Error, r.Scored, r.Chunks, chunk)
			return err
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.pre, "pre", "", "pre-tokenizer to use in place of the file's, as `NAME`")
	cmd.Flags().IntVarP(&chunk, "chunk", "c", 512, "tokens of a chunk")
	return cmd
}

func embedCommand() *cobra.Command {
	var (
		o               runOptions
		mean, normalize bool
	)
	cmd := &cobra.Command{
		Use:   "embed [MODEL]",
		Short: "The last norm's output for each token of a prompt, as JSON",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, tokens, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			defer e.Close()
			rows, err := e.Embed(cmd.Context(), tokens, mean, normalize)
			if err != nil {
				return err
			}
			return writeJSON(cmd.OutOrStdout(),
				map[string]any{"schema": embedSchema, "tokens": tokens, "mean": mean, "normalized": normalize,
					"rows": rows})
		},
	}
	o.flags(cmd)
	o.textFlags(cmd)
	cmd.Flags().BoolVar(&mean, "mean", false, "one row, the mean over the tokens")
	cmd.Flags().BoolVar(&normalize, "normalize", false, "rows of length 1")
	return cmd
}
