package engine

import (
	"context"
	"fmt"

	"cera/gguf"
	"cera/weights"
)

// Validation is what a look at every element of a file found.
type Validation struct {
	Tensors   int         `json:"tensors"`   // whose elements were looked at
	Elements  uint64      `json:"elements"`  // of them
	Bad       []BadTensor `json:"bad"`       // in the file's order
	Unchecked []string    `json:"unchecked"` // tensors in types without a decoder
}

// BadTensor is a tensor with elements that are no finite numbers.
type BadTensor struct {
	Tensor   string   `json:"tensor"`
	Type     string   `json:"type"`
	Dims     []uint64 `json:"dims"`     // GGUF order, row length first
	NaN      int      `json:"nan"`      // how many are not a number
	Infinite int      `json:"infinite"` // how many are infinite
	First    int      `json:"first"`    // the first of both, counted in the file's order
	Value    string   `json:"value"`    // of the first
}

// Validate decodes every tensor of a file and looks for elements that are no finite numbers, which the scale of a block
// may make of all its elements. What it finds is no error; a file that cannot be read is one.
func Validate(ctx context.Context, f *gguf.File) (*Validation, error) {
	v := &Validation{Bad: []BadTensor{}, Unchecked: []string{}}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := weights.FormatOf(t.Type); err != nil {
			v.Unchecked = append(v.Unchecked, t.Name)
			continue
		}
		found, err := weights.Scan(f, t)
		if err != nil {
			return nil, err
		}
		v.Tensors++
		v.Elements += uint64(t.N()) * uint64(t.Rows())
		if found.Any() {
			v.Bad = append(v.Bad, BadTensor{t.Name, t.Type.String(), t.Dims, found.NaN, found.Inf, found.First,
				fmt.Sprint(found.Value)})
		}
	}
	return v, nil
}
