package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/tokenizer"
)

// runOptions are the flags of every command that runs a model.
type runOptions struct {
	device  string
	adapter int
	ubatch  int
	ctx     int
	norms   string
	kv      string
	kernels string
	tokens  string
	prompt  string
	pre     string
	text    bool // the command has textFlags

	gpuMemory string
	dryRun    bool

	tok   *tokenizer.Tokenizer // of the model, once something asked for it
	quiet bool
}

func (o *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	device := "auto"
	switch cmd.Name() {
	case "cera-run", "check", "dump": // they are after the numbers, the others after what a model says
		device = engine.CheckedDevice()
	}
	f.StringVar(&o.device, "device", device, "gpu (the best adapter, software included), cpu (exact), cpu-fast, or auto (a hardware GPU, else cpu-fast)")
	f.IntVar(&o.adapter, "adapter", -1, "number of the GPU adapter, as `N` in \"cera-run devices\"")
	f.IntVar(&o.ubatch, "ubatch", 512, "tokens a forward pass takes at most; longer inputs run in chunks")
	f.IntVar(&o.ctx, "ctx", 0, fmt.Sprintf("positions in the KV cache (default the model's, at most %d)", engine.DefaultCtx))
	f.StringVar(&o.norms, "norms", "auto", "which fused norm kernel runs: batch, arena, or auto for what the model needs")
	f.StringVar(&o.kv, "kv", "f32", "type of the KV cache's values: f32 or f16, which takes half the memory")
	kernels := "kernels"
	if cmd.Name() == "bench" { // where --kernels measures them
		kernels = "kernel-dir"
	}
	f.StringVar(&o.kernels, kernels, "", "use the WGSL files in `DIR` in place of the kernels of the same name")
	o.memoryFlags(cmd)
	f.BoolVar(&o.quiet, "quiet", false, "no progress, and no table where everything passed")
}

// textFlags are the flags of what is run.
func (o *runOptions) textFlags(cmd *cobra.Command) {
	o.text = true
	f := cmd.Flags()
	f.StringVarP(&o.prompt, "prompt", "p", "", "`TEXT` to run; its tokens, and the one that begins a text where the model has one")
	f.StringVar(&o.pre, "pre", "", "pre-tokenizer to use in place of the file's, as `NAME`")
	f.StringVar(&o.tokens, "tokens", "", "token ids, as `1,2,3` (default 16 spread over the vocabulary)")
}

// open loads the model at args[0], or the built-in one, and the tokens to run.
func (o *runOptions) open(cmd *cobra.Command, args []string) (*engine.Engine, []int32, error) {
	norms, err := engine.ParseNorms(o.norms)
	if err != nil {
		return nil, nil, fmt.Errorf("--norms: %w", err)
	}
	kv, err := engine.ParseKV(o.kv)
	if err != nil {
		return nil, nil, fmt.Errorf("--kv: %w", err)
	}
	if o.ubatch < 1 {
		return nil, nil, fmt.Errorf("--ubatch: %d is not at least 1", o.ubatch)
	}
	if o.ctx < 0 {
		return nil, nil, fmt.Errorf("--ctx: %d is negative", o.ctx)
	}
	tokens, err := parseTokens(o.tokens)
	if err != nil {
		return nil, nil, fmt.Errorf("--tokens: %w", err)
	}
	opts := engine.Options{UBatch: o.ubatch, Ctx: o.ctx, Norms: norms, KV: kv}
	o.chooseDevice(cmd, &opts)
	if o.gpuMemory != "" {
		if opts.GPUMemory, err = parseSize(o.gpuMemory); err != nil {
			return nil, nil, fmt.Errorf("--gpu-memory: %w", err)
		}
	}
	if o.dryRun {
		return nil, nil, o.plan(cmd, args, opts)
	}
	bar := newProgress(cmd.ErrOrStderr(), o.quiet)
	opts.Progress = bar.update
	defer bar.finish()
	e, err := openModel(cmd.Context(), args, opts)
	if err != nil {
		return nil, nil, err
	}
	for _, note := range e.Notes() {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s, for the %s has no decoder for them\n", note, e.Info().Backend)
	}
	if o.text && cmd.Flags().Changed("prompt") {
		if tokens != nil {
			e.Close()
			return nil, nil, errors.New("--prompt and --tokens: one of them says what to run")
		}
		tok, err := o.tokenizer(e)
		if err == nil {
			tokens = tok.Encode(o.prompt, tokenizer.EncodeOptions{AddSpecial: true, Parse: tokenizer.ParseAll})
			if len(tokens) == 0 {
				err = errors.New("--prompt: it is empty, and the model has no token that begins a text")
			}
		}
		if err != nil {
			e.Close()
			return nil, nil, err
		}
	}
	if tokens == nil {
		c := e.Config()
		tokens = engine.DefaultTokens(c.Vocab, min(16, c.Ctx))
	}
	return e, tokens, nil
}

// chooseDevice puts what the flags say of the device into opts.
func (o *runOptions) chooseDevice(cmd *cobra.Command, opts *engine.Options) {
	opts.Device, opts.Kernels = o.device, o.kernels
	if cmd.Flags().Changed("adapter") {
		opts.Adapter = &o.adapter
	}
	if !cmd.Flags().Changed("device") && o.device == "auto" && (opts.Adapter != nil || o.kernels != "") {
		opts.Device = "gpu" // it is the GPU that was asked for, a software one too
	}
}

// tokenizer returns the model's tokenizer, which is made once.
func (o *runOptions) tokenizer(e *engine.Engine) (*tokenizer.Tokenizer, error) {
	if o.tok != nil {
		return o.tok, nil
	}
	tok, err := e.Tokenizer(tokenizer.Options{Pre: o.pre})
	if err != nil {
		return nil, err
	}
	o.tok = tok
	return tok, nil
}

func openModel(ctx context.Context, args []string, opts engine.Options) (*engine.Engine, error) {
	if len(args) > 0 {
		return engine.OpenContext(ctx, args[0], opts)
	}
	f, err := engine.BuiltIn()
	if err != nil {
		return nil, err
	}
	return engine.LoadContext(ctx, f, opts)
}

// parseTokens reads ids separated by commas or spaces; an empty text gives nil.
func parseTokens(text string) ([]int32, error) {
	var tokens []int32
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		id, err := strconv.ParseInt(field, 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("%q is not a token id", field)
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
