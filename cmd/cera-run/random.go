package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/trace"
)

func randomCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "random SHAPE TYPE OUT.gguf",
		Short: "Write a model of the 1B or 8B shape with random weights, for measurements",
		Long: `random writes a llama of the shape of Llama 3.2 1B or Llama 3.1 8B whose weights are random, in
F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4,
or Q4_K_M or Q5_K_M, llama.cpp's mixes with Q6_K: for bench.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(args[2]); err == nil {
				return fmt.Errorf("%s: it is there already", args[2])
			}
			return trace.WriteFile(args[2], func(w io.Writer) error {
				_, err := engine.WriteRandom(until{cmd.Context(), w}, args[0], args[1])
				return err
			})
		},
	}
}

// until is a writer that ends with a context.
type until struct {
	ctx context.Context
	w   io.Writer
}

func (u until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}
