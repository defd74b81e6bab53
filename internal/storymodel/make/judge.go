package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"cera/engine"
	"cera/internal/storymodel"
	"cera/sample"
	"cera/tokenizer"
)

func judge(args []string) error {
	f := flag.NewFlagSet("judge", flag.ContinueOnError)
	model := f.String("model", "", "GGUF `file`")
	out := f.String("out", "", "`folder` for judge.json and samples.txt")
	n := f.Int("n", 200, "how many `stories` to write and to score")
	known := f.Int("known", 100_000, "how many training `stories` to compare with")
	seed := f.Uint64("seed", storymodel.DefaultData().Seed, "of the data")
	temperature := f.Float64("temperature", 0.7, "of the draw")
	device := f.String("device", "cpu", "auto, cpu or gpu")
	if err := parse(f, args); err != nil {
		return err
	}
	if *model == "" || *out == "" || *n < 1 || *known < 1 {
		return errors.New("judge: expected -model and -out, and at least one story; see judge -h")
	}
	info, err := os.Stat(*model)
	if err != nil {
		return err
	}
	e, err := engine.Open(*model, engine.Options{Device: *device})
	if err != nil {
		return err
	}
	defer e.Close()
	tok, err := e.Tokenizer(tokenizer.Options{})
	if err != nil {
		return err
	}
	v := storymodel.Verdict{Temperature: *temperature, FileBytes: info.Size()}
	texts, ended, err := write(e, tok, *n, *temperature)
	if err != nil {
		return err
	}
	held := storymodel.HeldOut(*seed, *n)
	v.Ended = ended
	if v.Perplexity, v.Scored, err = perplexity(e, tok, held); err != nil {
		return err
	}
	j := storymodel.NewJudge(*seed, *known)
	v.Model, v.HeldOut = j.Measure(texts), j.Measure(held)
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	all := strings.Join(texts, "\n\n") + "\n"
	if err := os.WriteFile(filepath.Join(*out, "samples.txt"), []byte(all), 0o666); err != nil {
		return err
	}
	if err := storymodel.WriteJSON(filepath.Join(*out, storymodel.JudgeName), v); err != nil {
		return err
	}
	return printJSON(v)
}

// write lets the model write n stories, each from the token that begins a text to the one that ends it.
func write(e *engine.Engine, tok *tokenizer.Tokenizer, n int, temperature float64) (texts []string, ended int,
	err error) {
	s, err := e.NewSession(0)
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	for i := range n {
		var b strings.Builder
		o := engine.GenerateOptions{Sample: sample.Params{Temperature: temperature, Seed: uint64(i) + 1}}
		why, _, err := s.Generate(context.Background(), tok, []int32{tok.BOS()}, o, func(g engine.Generated) error {
			b.WriteString(g.Text)
			return nil
		})
		if err != nil {
			return nil, 0, fmt.Errorf("story %d: %w", i, err)
		}
		if why == engine.FinishEnd {
			ended++
		}
		texts = append(texts, strings.TrimSpace(b.String()))
	}
	return texts, ended, nil
}

// perplexity scores every token of the stories but the first, each story alone.
func perplexity(e *engine.Engine, tok *tokenizer.Tokenizer, texts []string) (perplexity float64, scored int,
	err error) {
	var sum float64
	for i, text := range texts {
		ids := storymodel.EncodeStory(tok, text)
		e.Reset()
		logits, err := e.Logits(context.Background(), ids[:len(ids)-1])
		if err != nil {
			return 0, 0, fmt.Errorf("held-out story %d: %w", i, err)
		}
		vocab := tok.Len()
		for p, id := range ids[1:] {
			sum += surprise(logits[p*vocab:(p+1)*vocab], int(id))
			scored++
		}
	}
	return math.Exp(sum / float64(scored)), scored, nil
}

// surprise is the negative logarithm of a token's probability.
func surprise(logits []float32, id int) float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = math.Max(top, float64(v))
	}
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return math.Log(sum) + top - float64(logits[id])
}
