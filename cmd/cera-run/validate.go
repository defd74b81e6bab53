package main

import (
	"fmt"
	"io"
	"strings"

	"cera/engine"
)

// printValidation says what a look at every element found.
func printValidation(out io.Writer, v *engine.Validation) error {
	for _, b := range v.Bad {
		fmt.Fprintf(out, "tensor %q, %s %v: %d NaN, %d infinite; first at element %d (row %d, column %d): %s\n",
			b.Tensor, b.Type, b.Dims, b.NaN, b.Infinite, b.First, uint64(b.First)/b.Dims[0], uint64(b.First)%b.Dims[0],
			b.Value)
	}
	for _, name := range v.Unchecked {
		fmt.Fprintf(out, "tensor %q: not looked at, for its type has no decoder\n", name)
	}
	verdict := "all finite"
	if len(v.Bad) > 0 {
		verdict = fmt.Sprintf("%d of the tensors have elements that are not", len(v.Bad))
	}
	_, err := fmt.Fprintf(out, "Looked at %d elements of %d tensors: %s.\n", v.Elements, v.Tensors, verdict)
	return err
}

// maxShown is how many characters of a value are shown unless all are asked for.
const maxShown = 80

var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// shown is a value of the metadata as one line of text that a terminal can do no more with than show it.
func shown(value any, all bool) string {
	const room = 4 * maxShown // a character has up to four bytes
	cut := func(s string) string {
		if !all && len(s) > room {
			return s[:room]
		}
		return s
	}
	var text string
	switch v := value.(type) {
	case string:
		text = cut(v)
	case []string: // short, but its strings need not be
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = cut(s)
		}
		text = fmt.Sprint(parts)
	default:
		text = fmt.Sprint(value)
	}
	text = oneLine.Replace(printable(text))
	if r := []rune(text); len(r) > maxShown && !all {
		text = string(r[:maxShown-1]) + "…"
	}
	return text
}
