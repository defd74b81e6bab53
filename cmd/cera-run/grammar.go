package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/grammar"
	"cera/sample"
	"cera/tokenizer"
)

// maxGrammar is how many bytes a file with a grammar or a schema may have.
const maxGrammar = 4 << 20

// grammarFlags say what generated text must look like.
type grammarFlags struct {
	gbnf, gbnfFile     string
	schema, schemaFile string
}

// The flags' names, in the order in which they are looked at.
const (
	grammarFlag     = "grammar"
	grammarFileFlag = "grammar-file"
	schemaFlag      = "json-schema"
	schemaFileFlag  = "json-schema-file"
)

func (g *grammarFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.gbnf, grammarFlag, "", "what is written must match this grammar, `GBNF` as llama.cpp has it")
	f.StringVar(&g.gbnfFile, grammarFileFlag, "", "the same from a `FILE`")
	f.StringVar(&g.schema, schemaFlag, "", "what is written is JSON that is valid by this `SCHEMA`; {} is any JSON")
	f.StringVar(&g.schemaFile, schemaFileFlag, "", "the same from a `FILE`")
}

// compile reads the grammar that the flags ask for; nil if they ask for none.
func (g *grammarFlags) compile(cmd *cobra.Command) (*grammar.Grammar, error) {
	given := ""
	for _, name := range []string{grammarFlag, grammarFileFlag, schemaFlag, schemaFileFlag} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if given != "" {
			return nil, fmt.Errorf("--%s and --%s: one of them says what may be written", given, name)
		}
		given = name
	}
	var (
		compiled *grammar.Grammar
		text     []byte
		where    string // the file, for messages
		err      error
	)
	switch given {
	case "":
		return nil, nil
	case grammarFlag:
		text = []byte(g.gbnf)
	case schemaFlag:
		text = []byte(g.schema)
	case grammarFileFlag:
		text, err = readLimited(g.gbnfFile, maxGrammar)
		where = g.gbnfFile + ": "
	case schemaFileFlag:
		text, err = readLimited(g.schemaFile, maxGrammar)
		where = g.schemaFile + ": "
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", given, err)
	}
	if given == schemaFlag || given == schemaFileFlag {
		compiled, err = grammar.JSONSchema(text)
	} else {
		compiled, err = grammar.Parse(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %s%w", given, where, err)
	}
	return compiled, nil
}

// readLimited reads a file of at most so many bytes.
func readLimited(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s: it has more than %d bytes", path, most)
	}
	return b, nil
}

// constraint follows a model's tokens through a grammar.
func (o *runOptions) constraint(e *engine.Engine, g *grammar.Grammar) (sample.Constraint, error) {
	tok, err := o.tokenizer(e)
	if err != nil {
		return nil, err
	}
	texts := make([]string, tok.Len())
	var buf []byte
	for id := range texts {
		buf = tok.AppendBytes(buf[:0], []int32{int32(id)}, tokenizer.DecodeOptions{Continues: true})
		texts[id] = string(buf)
	}
	v, err := grammar.NewVocabulary(texts, tok.EOG())
	if err != nil {
		return nil, err
	}
	return sample.Constrain(g.Constrain(v)), nil
}
