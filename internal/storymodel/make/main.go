// Command make makes the built-in story model: the text, the training data, the GGUF file from the trained weights, and
// the figures about it. README.md in internal/storymodel has the order of the steps.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cera/gguf"
	"cera/internal/storymodel"
	"cera/trace"
)

// commands are the subcommands; each takes its flags from the arguments.
var commands = []struct {
	name, help string
	run        func(args []string) error
}{
	{"text", "print stories", text},
	{"stats", "count what the grammar makes, as JSON", stats},
	{"data", "write token ids to train on and to hold out, and the vocabulary", data},
	{"convert", "turn trained weights into a GGUF file", convert},
	{"judge", "let Cera write stories with a GGUF file, and measure them", judge},
	{"figures", "write the figures of a model's folder into README.md", figures},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "make:", err)
		}
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(args[1:])
			}
		}
	}
	words := "usage: make COMMAND [flags]; make COMMAND -h lists its flags\n"
	for _, c := range commands {
		words += fmt.Sprintf("  %-8s %s\n", c.name, c.help)
	}
	return errors.New(words)
}

// parse parses flags, which take no further arguments.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s: %q is no flag", f.Name(), f.Arg(0))
	}
	return nil
}

func text(args []string) error {
	f := flag.NewFlagSet("text", flag.ContinueOnError)
	n := f.Int("n", 5, "how many `stories`")
	seed := f.Uint64("seed", 0, "of the first one")
	if err := parse(f, args); err != nil {
		return err
	}
	for i := range *n {
		fmt.Printf("%s\n\n", storymodel.Story(*seed+uint64(i)))
	}
	return nil
}

func stats(args []string) error {
	f := flag.NewFlagSet("stats", flag.ContinueOnError)
	n := f.Int("n", 50_000, "how many `stories`")
	seed := f.Uint64("seed", storymodel.DefaultData().Seed, "of the data")
	if err := parse(f, args); err != nil {
		return err
	}
	return printJSON(storymodel.CountGrammar(*seed, *n))
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func data(args []string) error {
	o := storymodel.DefaultData()
	f := flag.NewFlagSet("data", flag.ContinueOnError)
	out := f.String("out", "", "`folder` to write to")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "selects the stories")
	f.IntVar(&o.Stories, "stories", o.Stories, "how many to train on")
	f.IntVar(&o.HeldOut, "heldout", o.HeldOut, "how many to hold out")
	f.IntVar(&o.VocabSize, "vocab", o.VocabSize, "`tokens` of the vocabulary")
	f.IntVar(&o.VocabFrom, "vocab-from", o.VocabFrom, "how many `stories` the vocabulary is learned from")
	if err := parse(f, args); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("data: -out is missing")
	}
	counts, err := storymodel.WriteData(*out, o)
	if err != nil {
		return err
	}
	return printJSON(counts)
}

// formats are the encodings that convert offers.
var formats = map[string]gguf.Type{"f32": gguf.F32, "f16": gguf.F16, "q8_0": gguf.Q8_0, "q4_0": gguf.Q4_0,
	"q5_1": gguf.Q5_1}

func convert(args []string) error {
	f := flag.NewFlagSet("convert", flag.ContinueOnError)
	runDir := f.String("run", "", "`folder` that train.py wrote")
	dataDir := f.String("data", "", "`folder` with the vocabulary that the data was made with")
	out := f.String("out", "", "GGUF `file` to write")
	format := f.String("format", "q8_0", "of the matrices: f32, f16, q8_0, q5_1 or q4_0")
	if err := parse(f, args); err != nil {
		return err
	}
	typ, ok := formats[*format]
	if !ok || *runDir == "" || *dataDir == "" || *out == "" {
		return errors.New("convert: expected -run, -data, -out and one of the formats; see convert -h")
	}
	c, err := storymodel.ReadConfig(filepath.Join(*runDir, "config.json"))
	if err != nil {
		return err
	}
	weights := filepath.Join(*runDir, "model.safetensors")
	t, err := trace.Open(weights)
	if err != nil {
		return err
	}
	v, err := openVocabulary(filepath.Join(*dataDir, storymodel.VocabName))
	if err != nil {
		return err
	}
	return trace.WriteFile(*out, func(w io.Writer) error {
		if err := storymodel.Convert(w, t, c, v, typ); err != nil {
			return fmt.Errorf("%s: %w", weights, err)
		}
		return nil
	})
}

func openVocabulary(path string) (*storymodel.Vocabulary, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return storymodel.ReadVocabulary(f)
}

func figures(args []string) error {
	f := flag.NewFlagSet("figures", flag.ContinueOnError)
	dir := f.String("dir", "internal/storymodel/model", "the model's `folder`")
	readme := f.String("readme", "internal/storymodel/README.md",
		"`file` with the two marks between which the figures stand")
	if err := parse(f, args); err != nil {
		return err
	}
	table, err := storymodel.Figures(*dir)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(*readme)
	if err != nil {
		return err
	}
	text, err := storymodel.ReplaceFigures(string(old), table)
	if err != nil {
		return fmt.Errorf("%s: %w", *readme, err)
	}
	return os.WriteFile(*readme, []byte(text), 0o666)
}
