package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"cera/gguf"
	"cera/kernelbench"
	"cera/tinymodel"
	"cera/weights"
)

// KernelShape returns the shape that kernels are measured in: of a published model, "1B", "8B" or, with experts,
// "8x7B" or "30B-A3B", or of the model in a file.
func KernelShape(model string) (kernelbench.Shape, error) {
	if s, ok := publishedShape(model); ok {
		if _, err := os.Stat(model); err != nil {
			return s, nil
		}
	}
	f, err := gguf.Open(model)
	if err != nil {
		return kernelbench.Shape{}, err
	}
	defer f.Close()
	r, err := Resolve(f)
	if err != nil {
		return kernelbench.Shape{}, err
	}
	c := r.Config
	b := c.Shapes[0]
	s := kernelbench.Shape{
		Name: filepath.Base(model), Dim: c.Embd, FF: b.FF, Heads: b.Heads, KVHeads: b.KVHeads, HeadDim: c.HeadDim,
		Vocab: c.Vocab, Act: c.Act,
	}
	if c.Experts > 0 {
		s.FF, s.Experts, s.ExpertsUsed = c.ExpertFF, c.Experts, c.ExpertsUsed
	}
	for _, t := range f.Tensors {
		if w, err := weights.FormatOf(t.Type); err == nil && len(t.Dims) > 1 && !slices.Contains(s.Main, w) {
			s.Main = append(s.Main, w)
		}
	}
	return s, nil
}

// publishedShape returns the shape of a published model by its name.
func publishedShape(name string) (kernelbench.Shape, bool) {
	if s, err := tinymodel.ShapeByName(name); err == nil {
		return kernelbench.Shape{
			Name: s.Name, Dim: s.Dim, FF: s.FF, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim, Vocab: s.Vocab,
		}, true
	}
	for _, s := range kernelbench.Mixtures() {
		if s.Name == name {
			return s, true
		}
	}
	return kernelbench.Shape{}, false
}

// BenchKernels measures kernels by themselves on the device that o asks for.
func BenchKernels(ctx context.Context, o Options, k kernelbench.Options) (*kernelbench.Report, error) {
	be, err := OpenDevice(o)
	if err != nil {
		return nil, err
	}
	defer be.Close()
	return kernelbench.Run(ctx, be, k)
}
