package sample

import (
	"fmt"
	"math"
)

// Params choose the samplers. The zero value is greedy: the likeliest token, by the model's logits alone. Every field's
// zero value switches its sampler off, so that Params{Temperature: 1} draws from the model's own distribution. Default
// returns llama.cpp's values.
type Params struct {
	// Seed starts the random numbers. The same seed gives the same tokens.
	Seed uint64

	// Temperature divides the logits before the draw. 0 takes the likeliest candidate, the lower id among equals.
	Temperature float64

	// TopK keeps the k likeliest candidates. 0 keeps all.
	TopK int
	// TopP keeps the likeliest candidates whose probabilities add up to at least TopP. 0 and 1 keep all.
	TopP float64
	// MinP keeps candidates of at least MinP times the probability of the likeliest. 0 keeps all.
	MinP float64
	// TypicalP keeps the candidates whose surprise is nearest to the entropy, until their probabilities add up to more
	// than TypicalP. 0 and 1 keep all. Meister and others, 2022, "Locally Typical Sampling".
	TypicalP float64
	// TopNSigma keeps candidates whose logit is at most this many standard deviations of all candidates' logits below
	// the largest. 0 keeps all. Tang and others, 2024, "Top-nσ: Not All Logits Are You Need".
	TopNSigma float64
	// XTCProbability is how often XTC acts: it then removes all candidates of a probability of at least XTCThreshold
	// but the least likely of them. 0 is never, and so is a threshold above 0.5, which two candidates cannot reach.
	XTCProbability float64
	XTCThreshold   float64
	// MinKeep is the number of candidates that typical, top-p, min-p and XTC leave at least.
	MinKeep int

	// RepeatLastN is how many of the accepted tokens the three penalties look at. 0 switches them off, -1 takes all.
	RepeatLastN int
	// RepeatPenalty divides the logit of a token that is among them if it is positive, and multiplies it otherwise. 0
	// and 1 are off.
	RepeatPenalty float64
	// FrequencyPenalty is subtracted from its logit for each time it is there.
	FrequencyPenalty float64
	// PresencePenalty is subtracted once.
	PresencePenalty float64

	// DRYMultiplier scales the penalty on tokens that would prolong a repetition: the multiplier times DRYBase to the
	// power of (length - DRYAllowedLength), for a repetition of at least DRYAllowedLength tokens before that token. 0
	// is off.
	DRYMultiplier    float64
	DRYBase          float64 // at least 1
	DRYAllowedLength int     // in tokens
	// DRYPenaltyLastN is how many of the accepted tokens are searched for repetitions. 0 is off, -1 takes all.
	DRYPenaltyLastN int
	// DRYSequenceBreakers are texts of at most 40 bytes at which a repetition ends. They need Options.TokenText.
	DRYSequenceBreakers []string
	// DRYBreakerTokens are tokens at which a repetition ends.
	DRYBreakerTokens []int32

	// Mirostat is 0 for off, or 2 for version 2, which replaces penalties, DRY and truncation: it keeps candidates
	// whose surprise is below a bound and moves the bound so that the mean surprise of the drawn tokens becomes
	// MirostatTau. Basu and others, 2021, "Mirostat: A Neural Text Decoding Algorithm that Directly Controls
	// Perplexity".
	Mirostat    int
	MirostatTau float64 // bits
	MirostatEta float64 // learning rate

	// LogitBias is added to the logits of these tokens. -Inf bans a token.
	LogitBias map[int32]float32

	// TopLogProbs is how many of the likeliest tokens, by the model alone, Choice.Top lists.
	TopLogProbs int
}

// Default returns llama.cpp's default parameters, with seed 0.
func Default() Params {
	return Params{
		Temperature:         0.8,
		TopK:                40,
		TopP:                0.95,
		MinP:                0.05,
		TypicalP:            1,
		XTCThreshold:        0.1,
		RepeatLastN:         64,
		RepeatPenalty:       1,
		DRYBase:             1.75,
		DRYAllowedLength:    2,
		DRYPenaltyLastN:     -1,
		DRYSequenceBreakers: []string{"\n", ":", "\"", "*"},
		MirostatTau:         5,
		MirostatEta:         0.1,
	}
}

// maxBreaker is the length in bytes of the longest DRY sequence breaker.
const maxBreaker = 40

// smallest is the smallest positive parameter: with it and MaxFloat32 no product of a logit leaves float64.
const smallest = 0x1p-126

func (p *Params) usesPenalties() bool {
	return p.Mirostat == 0 && p.RepeatLastN != 0 &&
		(p.RepeatPenalty != 0 && p.RepeatPenalty != 1 || p.FrequencyPenalty != 0 || p.PresencePenalty != 0)
}

func (p *Params) usesDRY() bool {
	return p.Mirostat == 0 && p.DRYMultiplier != 0 && p.DRYPenaltyLastN != 0
}

func (p *Params) usesXTC() bool { return p.XTCProbability > 0 && p.XTCThreshold <= 0.5 }

func (p *Params) usesTypical() bool { return p.TypicalP > 0 && p.TypicalP < 1 }

// validate returns an error for the first parameter that is out of its range.
func (p *Params) validate(vocab int, o Options) error {
	inf := math.Inf(1)
	tau, eta, base := 0.0, 0.0, 0.0
	if p.Mirostat != 0 {
		tau = smallest
	}
	if p.usesDRY() {
		base = 1
	}
	for _, f := range []struct {
		name   string
		v      float64
		lo, hi float64
		zero   bool // 0 is allowed as well
	}{
		{"Temperature", p.Temperature, smallest, math.MaxFloat32, true},
		{"TopP", p.TopP, 0, 1, false},
		{"MinP", p.MinP, 0, 1, false},
		{"TypicalP", p.TypicalP, 0, 1, false},
		{"TopNSigma", p.TopNSigma, 0, math.MaxFloat32, false},
		{"XTCProbability", p.XTCProbability, 0, 1, false},
		{"XTCThreshold", p.XTCThreshold, 0, 1, false},
		{"RepeatPenalty", p.RepeatPenalty, smallest, math.MaxFloat32, true},
		{"FrequencyPenalty", p.FrequencyPenalty, -math.MaxFloat32, math.MaxFloat32, false},
		{"PresencePenalty", p.PresencePenalty, -math.MaxFloat32, math.MaxFloat32, false},
		{"DRYMultiplier", p.DRYMultiplier, 0, math.MaxFloat32, false},
		{"DRYBase", p.DRYBase, base, math.MaxFloat32, false},
		{"MirostatTau", p.MirostatTau, tau, math.MaxFloat32, false},
		{"MirostatEta", p.MirostatEta, eta, math.MaxFloat32, false},
		{"TopK", float64(p.TopK), 0, inf, false},
		{"MinKeep", float64(p.MinKeep), 0, inf, false},
		{"RepeatLastN", float64(p.RepeatLastN), -1, inf, false},
		{"DRYAllowedLength", float64(p.DRYAllowedLength), 0, inf, false},
		{"DRYPenaltyLastN", float64(p.DRYPenaltyLastN), -1, inf, false},
		{"TopLogProbs", float64(p.TopLogProbs), 0, float64(vocab), false},
	} {
		if f.v >= f.lo && f.v <= f.hi || f.zero && f.v == 0 {
			continue
		}
		or := ""
		if f.zero {
			or = "0 or "
		}
		if f.hi == inf {
			return fmt.Errorf("sample: %s is %v, expected at least %v", f.name, f.v, f.lo)
		}
		return fmt.Errorf("sample: %s is %v, expected %s%.4g to %.4g", f.name, f.v, or, f.lo, f.hi)
	}
	if p.Mirostat != 0 && p.Mirostat != 2 {
		return fmt.Errorf("sample: Mirostat is %d, expected 0 or 2", p.Mirostat)
	}
	return p.validateTokens(vocab, o)
}

// validateTokens checks what names tokens or texts.
func (p *Params) validateTokens(vocab int, o Options) error {
	for i, text := range p.DRYSequenceBreakers {
		if len(text) == 0 || len(text) > maxBreaker {
			return fmt.Errorf("sample: DRYSequenceBreakers[%d] is %q of %d bytes, expected 1 to %d", i, text, len(text),
				maxBreaker)
		}
	}
	if p.usesDRY() && len(p.DRYSequenceBreakers) > 0 && o.TokenText == nil {
		return fmt.Errorf("sample: DRYSequenceBreakers are %q, expected none, or Options.TokenText to find them with",
			p.DRYSequenceBreakers)
	}
	for i, id := range p.DRYBreakerTokens {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("sample: DRYBreakerTokens[%d] is %d, expected 0 to %d", i, id, vocab-1)
		}
	}
	for _, b := range sortedBias(p.LogitBias) {
		if b.id < 0 || int(b.id) >= vocab {
			return fmt.Errorf("sample: LogitBias is for token %d, expected 0 to %d", b.id, vocab-1)
		}
		if math.IsNaN(b.value) || math.IsInf(b.value, 1) {
			return fmt.Errorf("sample: LogitBias[%d] is %v, expected a finite number or -Inf", b.id, b.value)
		}
	}
	return nil
}
