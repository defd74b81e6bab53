package engine

import (
	"errors"
	"fmt"

	"cera/gguf"
	"cera/internal/storymodel"
	"cera/layers"
	"cera/weights"
)

// Resolved is a file matched with the architecture table.
type Resolved struct {
	Config  layers.Config
	Binding *weights.Binding
	model   *layers.Model
}

// Property is one line of a model's description; see layers.Config.
type Property = layers.Property

// Resolve finds the architecture of a file and binds its tensors to the model's slots, without reading weights. The
// result is nil where the metadata do not resolve; where they do and only tensors are wrong, it comes with the error.
func Resolve(f *gguf.File) (*Resolved, error) {
	vocab := 0
	if t, ok := f.Tensor(layers.NameTokEmbd); ok {
		vocab = t.Rows()
	}
	c, err := layers.ReadConfig(f, vocab, maxBlocks(len(f.Tensors)))
	if err != nil {
		// An error of a key's type names the file itself.
		if key := (*gguf.KeyError)(nil); errors.As(err, &key) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	m := layers.NewModel(c)
	b := weights.Bind(f, m.Slots())
	m.Bound()
	r := &Resolved{c, b, m}
	if err := b.Err(); err != nil {
		return r, fmt.Errorf("%s: %w", f.Path, err)
	}
	return r, nil
}

// maxBlocks bounds the blocks of a file with so many tensors, since each takes memory before the tensors are looked
// for. A block has six or more, but where there are few blocks, the list of what is missing says more than that they
// are too many.
func maxBlocks(tensors int) int {
	const few = 256
	return min(tensors, max(few, tensors/6))
}

// BuiltInName names the model that BuiltIn returns.
const BuiltInName = storymodel.Name

// BuiltIn returns the model that is part of the program: a small trained llama that writes stories.
func BuiltIn() (*gguf.File, error) { return storymodel.Open() }
