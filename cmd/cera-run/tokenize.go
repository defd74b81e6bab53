package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cera/gguf"
	"cera/tokenizer"
)

// tokenizeOptions are the flags of tokenize.
type tokenizeOptions struct {
	ids, asJSON, decode, noBOS, noSpecial bool
	pre                                   string
}

func tokenizeCommand() *cobra.Command {
	var o tokenizeOptions
	cmd := &cobra.Command{
		Use:   "tokenize MODEL [TEXT|-]",
		Short: "Turn text into token ids, or ids into text",
		Long: `tokenize shows the tokens of a text by the vocabulary in a GGUF file, an id and a quoted piece
of the text a line. The text is the argument, or standard input, taken as it is, for "-" or
without one. BOS and EOS are added where the model wants them, and special tokens that stand
in the text are recognised. With --decode the input is ids.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: o.run,
	}
	f := cmd.Flags()
	f.BoolVar(&o.ids, "ids", false, "print the ids alone, on one line, with spaces between them")
	f.BoolVar(&o.asJSON, "json", false, "print as JSON, schema "+tokenizeSchema)
	f.BoolVar(&o.decode, "decode", false, "the input is ids, with spaces or commas between them; print their text")
	f.BoolVar(&o.noBOS, "no-bos", false, "add neither BOS nor EOS")
	f.BoolVar(&o.noSpecial, "no-special", false,
		"take the text of control tokens as ordinary text; with --decode, hide them")
	f.StringVar(&o.pre, "pre", "", "pre-tokenizer to use instead of the file's, by `NAME`")
	cmd.MarkFlagsMutuallyExclusive("ids", "json")
	cmd.MarkFlagsMutuallyExclusive("ids", "decode")
	cmd.MarkFlagsMutuallyExclusive("no-bos", "decode")
	return cmd
}

// tokenizeSchema names the form of the JSON that tokenize prints.
const tokenizeSchema = "cera-tokenize-1"

// tokenized is what tokenize prints as JSON.
type tokenized struct {
	Schema    string           `json:"schema"`
	File      string           `json:"file"`
	Tokenizer string           `json:"tokenizer"`     // tokenizer.ggml.model
	Pre       string           `json:"pre_tokenizer"` // empty where the tokenizer has none
	Text      string           `json:"text"`          // with U+FFFD for bytes that are not UTF-8
	IDs       []int32          `json:"ids"`
	Tokens    []tokenizedToken `json:"tokens"`
}

type tokenizedToken struct {
	ID    int32  `json:"id"`
	Text  string `json:"text"`  // what it stands for, with U+FFFD for part of a character
	Token string `json:"token"` // as the vocabulary spells it
}

func (o *tokenizeOptions) run(cmd *cobra.Command, args []string) error {
	f, err := gguf.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := tokenizer.New(f, tokenizer.Options{Pre: o.pre})
	if err != nil {
		return err
	}
	text, err := inputText(cmd, args[1:])
	if err != nil {
		return err
	}
	var ids []int32
	if o.decode {
		if ids, err = parseTokens(strings.Join(strings.Fields(text), " ")); err != nil {
			return fmt.Errorf("--decode: %w", err)
		}
		for _, id := range ids {
			if int(id) >= t.Len() {
				return fmt.Errorf("--decode: token %d is not in the vocabulary of %d", id, t.Len())
			}
		}
		text = t.Decode(ids, tokenizer.DecodeOptions{ShowSpecial: !o.noSpecial})
	} else {
		encode := tokenizer.EncodeOptions{AddSpecial: !o.noBOS, Parse: tokenizer.ParseAll}
		if o.noSpecial {
			encode.Parse = tokenizer.ParseUserDefined
		}
		ids = t.Encode(text, encode)
	}
	out := cmd.OutOrStdout()
	switch {
	case o.asJSON:
		return writeJSON(out, describeTokens(f, t, text, ids))
	case o.decode:
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err = io.WriteString(out, text)
	case o.ids:
		_, err = fmt.Fprintln(out, strings.Trim(fmt.Sprint(ids), "[]"))
	default:
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, id := range ids {
			fmt.Fprintf(w, "%d\t%s\n", id, strconv.Quote(string(piece(t, id))))
		}
		err = w.Flush()
	}
	return err
}

func describeTokens(f *gguf.File, t *tokenizer.Tokenizer, text string, ids []int32) tokenized {
	d := tokenized{
		Schema: tokenizeSchema, File: f.Path, Tokenizer: t.Model(), Pre: t.Pre(), Text: text, IDs: []int32{},
		Tokens: []tokenizedToken{},
	}
	for _, id := range ids {
		d.IDs = append(d.IDs, id)
		d.Tokens = append(d.Tokens, tokenizedToken{id, string(piece(t, id)), t.Token(id)})
	}
	return d
}

// piece returns the bytes that a token stands for in the middle of a text.
func piece(t *tokenizer.Tokenizer, id int32) []byte {
	return t.AppendBytes(nil, []int32{id}, tokenizer.DecodeOptions{ShowSpecial: true, Continues: true})
}

// inputText returns the argument, or what standard input holds.
func inputText(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return args[0], nil
	}
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); ok && len(args) == 0 && term.IsTerminal(int(f.Fd())) {
		return "", errors.New(`no text: give it as an argument, pipe it in, or type it after "-"`)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return string(b), nil
}
