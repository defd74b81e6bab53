// Package storymodel holds the model that Cera runs when it is given none: a small llama that was trained from nothing
// to write short stories for children. The package has everything that it was made with: the grammar that wrote the
// stories to train on, the vocabulary's training, the conversion of the trained weights, and the measures of the
// result.
package storymodel

import (
	_ "embed" // for the model's file
	"strings"

	"cera/gguf"
)

// The file is a string so that it stays where the program has it.
//
//go:embed model/story.gguf
var file string

// Name is the Path of the file that Open returns.
const Name = "built-in story model"

// Reader reads the model's file.
func Reader() *strings.Reader { return strings.NewReader(file) }

// Open opens the built-in model.
func Open() (*gguf.File, error) {
	f, err := gguf.NewFile(Reader(), int64(len(file)))
	if err != nil {
		return nil, err
	}
	f.Path = Name
	return f, nil
}
