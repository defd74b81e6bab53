// Command cera-run loads a GGUF checkpoint, runs it on the GPU or the cpu, and checks every norm of the path that
// really ran, layer by layer, against float64.
//
// Exit codes: 0 all passed, 1 a numeric failure, 2 bad usage or a bad file, 3 no usable device.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cera/engine"
)

const (
	exitFailed = 1
	exitUsage  = 2
	exitDevice = 3
)

// errFailed ends a command whose report has said already what failed.
var errFailed = errors.New("check failed")

func main() {
	ctx, g := watch(context.Background())
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	g.stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	out := &output{w: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	lost := out.failed()
	if lost != nil {
		err = lost // what did not arrive is no outcome
	}
	var device *engine.DeviceError
	switch {
	case errors.Is(lost, syscall.EPIPE):
		return exitUsage // who reads has seen enough, as "head" does
	case err == nil || errors.Is(err, errPlanned):
		return 0
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, interrupted)
		return exitUsage
	}
	fmt.Fprintf(stderr, "cera-run: %v\n", strings.TrimSpace(err.Error()))
	if errors.As(err, &device) {
		if errors.Is(err, engine.ErrNoDevice) {
			fmt.Fprintln(stderr, "Without a GPU: run with --device cpu.")
		}
		return exitDevice
	}
	return exitUsage
}

func rootCommand() *cobra.Command {
	var o checkOptions
	root := &cobra.Command{
		Use:   "cera-run [MODEL]",
		Short: "Run a GGUF model and prove its numbers",
		Long: `cera-run loads a GGUF checkpoint, runs tokens through it on the GPU or the cpu, and checks
every norm of the path that really ran, layer by layer, against float64.

"cera-run MODEL" is "cera-run check MODEL"; without a model it checks a tiny one that is
built in. Exit codes: 0 all passed, 1 a numeric failure, 2 bad usage or a bad file,
3 no usable device.`,
		Args:          cobra.MaximumNArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.flags(root)
	root.AddCommand(checkCommand(), dumpCommand(), diffCommand(), quantizeCommand(), inspectCommand(),
		tokenizeCommand(), generateCommand(), chatCommand(), logitsCommand(), perplexityCommand(), embedCommand(),
		benchCommand(), randomCommand(), devicesCommand(), mergeCommand(), versionCommand())
	return root
}
