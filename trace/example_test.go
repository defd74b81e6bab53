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
