package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/grammar"
	"cera/sample"
	"cera/tokenizer"
)

// generateSchema names the form of the JSON lines that generate prints.
const generateSchema = "cera-generate-1"

func generateCommand() *cobra.Command {
	var (
		o      runOptions
		g      generateOptions
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "generate [MODEL]",
		Short: "Go on from a prompt, token by token",
		Long: `generate writes what the model makes of a prompt, as it comes. Ctrl-C ends it with what there is.
The same seed gives the same text. Numbers about speed go to stderr.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.check(cmd); err != nil {
				return err
			}
			if o.prompt == "" && o.tokens == "" {
				// An empty prompt is the token that begins a text.
				if err := cmd.Flags().Set("prompt", ""); err != nil {
					return err
				}
			}
			e, prompt, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			defer e.Close()
			if err := g.constrain(&o, e); err != nil {
				return err
			}
			g.LogProbs = asJSON
			return generate(cmd, e, &o, g.GenerateOptions, prompt, asJSON)
		},
	}
	o.flags(cmd)
	o.textFlags(cmd)
	f := cmd.Flags()
	f.IntVarP(&g.Max, "max", "n", 128, "tokens at most; 0: until the model ends or the context is full")
	f.BoolVar(&asJSON, "json", false,
		"print a JSON record a token, with its probability, and one at the end; schema "+generateSchema)
	g.flags(cmd)
	return cmd
}

// generateOptions say how text is generated. A command has its own flag for Max.
type generateOptions struct {
	engine.GenerateOptions
	form  grammarFlags
	rules *grammar.Grammar // what form asks for; nil: nothing
}

func (g *generateOptions) flags(cmd *cobra.Command) {
	g.Sample = sample.Default()
	f := cmd.Flags()
	f.StringArrayVar(&g.Stop, "stop", nil, "`TEXT` that ends the generation; may be given several times")
	f.BoolVar(&g.IgnoreEnd, "ignore-end", false, "go on past tokens that end a text")
	f.BoolVar(&g.Shift, "shift", false, "when the context is full, forget the older half and go on")
	f.IntVar(&g.Keep, "keep", 0, "tokens at the beginning that --shift never forgets")
	samplerFlags(cmd, &g.Sample)
	g.form.flags(cmd)
}

// check finds what is wrong with the flags before a model is loaded.
func (g *generateOptions) check(cmd *cobra.Command) (err error) {
	if g.Max < 0 {
		return fmt.Errorf("-n: %d is negative", g.Max)
	}
	g.rules, err = g.form.compile(cmd)
	return err
}

// constrain makes what is generated follow the grammar, if there is one.
func (g *generateOptions) constrain(o *runOptions, e *engine.Engine) (err error) {
	if g.rules != nil {
		g.Constraint, err = o.constraint(e, g.rules)
	}
	return err
}

// samplerFlags are llama.cpp's, by its names.
func samplerFlags(cmd *cobra.Command, p *sample.Params) {
	f := cmd.Flags()
	f.Float64Var(&p.Temperature, "temp", p.Temperature, "divides the logits; 0 takes the likeliest token")
	f.Uint64Var(&p.Seed, "seed", p.Seed, "of the random numbers")
	f.IntVar(&p.TopK, "top-k", p.TopK, "keep the likeliest `K`; 0: all")
	f.Float64Var(&p.TopP, "top-p", p.TopP, "keep the likeliest whose probabilities add up to this; 0 or 1: all")
	f.Float64Var(&p.MinP, "min-p", p.MinP, "keep those of at least this share of the likeliest's probability; 0: all")
	f.Float64Var(&p.TypicalP, "typical", p.TypicalP, "locally typical sampling; 0 or 1: off")
	f.Float64Var(&p.TopNSigma, "top-nsigma", p.TopNSigma,
		"keep logits within this many standard deviations of the largest; 0: all")
	f.Float64Var(&p.XTCProbability, "xtc-probability", p.XTCProbability, "how often XTC removes the likeliest")
	f.Float64Var(&p.XTCThreshold, "xtc-threshold", p.XTCThreshold, "probability from which XTC removes")
	f.IntVar(&p.RepeatLastN, "repeat-last-n", p.RepeatLastN, "tokens that the penalties look at; -1: all")
	f.Float64Var(&p.RepeatPenalty, "repeat-penalty", p.RepeatPenalty,
		"divides the logit of a token that was there; 0 or 1: off")
	f.Float64Var(&p.FrequencyPenalty, "frequency-penalty", p.FrequencyPenalty,
		"taken off for each time a token was there")
	f.Float64Var(&p.PresencePenalty, "presence-penalty", p.PresencePenalty, "taken off once for a token that was there")
	f.Float64Var(&p.DRYMultiplier, "dry-multiplier", p.DRYMultiplier, "penalty on going on with a repetition; 0: off")
	f.Float64Var(&p.DRYBase, "dry-base", p.DRYBase, "to what power the penalty grows with the length of the repetition")
	f.IntVar(&p.DRYAllowedLength, "dry-allowed-length", p.DRYAllowedLength, "tokens that may repeat without a penalty")
	f.IntVar(&p.DRYPenaltyLastN, "dry-penalty-last-n", p.DRYPenaltyLastN,
		"tokens that are searched for repetitions; 0: off, -1: all")
	f.Var(&breakerFlag{list: &p.DRYSequenceBreakers}, "dry-sequence-breaker",
		"`TEXT` at which a repetition ends, in place of the defaults; may be given several times; none: no such text")
	f.Var(biasFlag{&p.LogitBias}, "logit-bias",
		"added to a token's logit, as `ID+BIAS` or ID-BIAS; ID-inf bans it; may be given several times")
	f.IntVar(&p.Mirostat, "mirostat", p.Mirostat, "2 for Mirostat 2.0, 0 for off")
	f.Float64Var(&p.MirostatTau, "mirostat-tau", p.MirostatTau, "surprise to aim at, in bits")
	f.Float64Var(&p.MirostatEta, "mirostat-eta", p.MirostatEta, "learning rate")
	f.IntVar(&p.TopLogProbs, "logprobs", p.TopLogProbs, "likeliest tokens to give with each, in --json")
}

// generateEnd is the last record.
type generateEnd struct {
	Schema   string        `json:"schema"`
	Finish   engine.Finish `json:"finish"`
	Prompt   int           `json:"prompt_tokens"`
	Tokens   int           `json:"tokens"`
	First    float64       `json:"seconds_to_first_token"`
	Decoding float64       `json:"decode_tokens_per_s"`
	Prefill  float64       `json:"prefill_tokens_per_s"`
}

func generate(cmd *cobra.Command, e *engine.Engine, o *runOptions, g engine.GenerateOptions, prompt []int32,
	asJSON bool) error {
	tok, err := o.tokenizer(e)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	start, tokens := time.Now(), 0
	var first time.Duration
	why, reused, err := e.Session().Generate(cmd.Context(), tok, prompt, g, func(t engine.Generated) error {
		if tokens == 0 {
			first = time.Since(start)
		}
		if t.ID != tokenizer.None {
			tokens++
		}
		if asJSON {
			return encoder.Encode(t)
		}
		_, err := io.WriteString(out, t.Text)
		return err
	})
	took := time.Since(start)
	if err != nil {
		return err
	}
	end := generateEnd{Schema: generateSchema, Finish: why, Prompt: len(prompt), Tokens: tokens, First: first.Seconds()}
	if first > 0 {
		end.Prefill = float64(len(prompt)-reused) / first.Seconds()
	}
	if rest := took - first; tokens > 1 && rest > 0 {
		end.Decoding = float64(tokens-1) / rest.Seconds()
	}
	if asJSON {
		return encoder.Encode(end)
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"%s after %d tokens; prompt of %d tokens, first token after %.3f s, prefill %.1f tokens/s, decode "+
				"%.1f tokens/s\n",
			why, tokens, end.Prompt, end.First, end.Prefill, end.Decoding)
	}
	return nil
}

func logitsCommand() *cobra.Command {
	var (
		o      runOptions
		top    int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "logits [MODEL]",
		Short: "The likeliest next tokens after a prompt, with their probabilities",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return fmt.Errorf("--top: %d is not at least 1", top)
			}
			e, tokens, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			defer e.Close()
			logits, err := e.Eval(cmd.Context(), tokens)
			if err != nil {
				return err
			}
			s, err := sample.New(sample.Params{TopLogProbs: min(top, len(logits))}, len(logits), sample.Options{})
			if err != nil {
				return err
			}
			choice, err := s.Sample(logits)
			if err != nil {
				return err
			}
			return writeLogits(cmd.OutOrStdout(), e, &o, logits, choice.Top, asJSON)
		},
	}
	o.flags(cmd)
	o.textFlags(cmd)
	cmd.Flags().IntVarP(&top, "top", "k", 10, "how many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, schema "+logitsSchema)
	return cmd
}
