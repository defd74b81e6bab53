package trace_test

import (
	"fmt"
	"os"
	"path/filepath"

	"cera/trace"
)

func Example() {
	dir, err := os.MkdirTemp("", "trace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	tr := trace.New()
	tr.Tokens = []int32{1, 403}
	// The rows of one token, then those of the next: [2, 3] in all.
	for _, row := range [][]float32{{1, 2, 3}, {4, 5, 6}} {
		if err := tr.Append("embd", 1, 3, row); err != nil {
			panic(err)
		}
	}
	path := filepath.Join(dir, "run.npz")
	if err := tr.Write(path); err != nil {
		panic(err)
	}
	back, err := trace.Read(path)
	if err != nil {
		panic(err)
	}
	for _, site := range back.Sites() {
		data, rows, n, _ := back.Data(site)
		fmt.Println(site, rows, n, data, "of tokens", back.Tokens)
	}
	// Output: embd 2 3 [1 2 3 4 5 6] of tokens [1 403]
}

func ExampleDiff() {
	ours, theirs := trace.New(), trace.New()
	for _, s := range []struct {
		tr   *trace.Trace
		site string
		data []float32
	}{
		{ours, "embd", []float32{1, 2}}, {ours, "attn_norm-0", []float32{3, 4}},
		{theirs, "model.embed_tokens", []float32{1, 2}}, {theirs, "model.layers.0.input_layernorm", []float32{3, 5}},
	} {
		if err := s.tr.Append(s.site, 1, 2, s.data); err != nil {
			panic(err)
		}
	}
	c, err := trace.Diff(ours, theirs, func(blocks int) float64 { return 1e-9 })
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Same(), "after", c.Last.Site, "comes", c.First.Site)
	fmt.Println(c.First.Reason)
	fmt.Printf("token %d, channel %d: %g for %g\n", c.First.Token, c.First.Channel, c.First.A, c.First.B)
	// Output:
	// false after embd comes attn_norm-0
	// NMSE 0.0294, tolerance 1e-09
	// token 0, channel 1: 4 for 5
}
