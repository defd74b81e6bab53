package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"cera/gguf"
)

func Example() {
	w := gguf.NewWriter()
	w.Set("general.architecture", "llama")
	w.Set("llama.embedding_length", uint32(2))
	w.Add("output_norm.weight", gguf.F32, []uint64{2}, []byte{0, 0, 128, 63, 0, 0, 0, 64})
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.NewFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	n, err := f.Uint("llama.embedding_length")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("width", n)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		data, err := f.Data(t)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Name, t.Type, t.Dims, data)
	}
	_, err = f.Uint("llama.block_count")
	fmt.Println(err, errors.Is(err, gguf.ErrMissing))

	_, err = gguf.NewFile(bytes.NewReader(file.Bytes()[:150]), 150)
	fmt.Println(err)
	// Output:
	// width 2
	// output_norm.weight F32 [2] [0 0 128 63 0 0 0 64]
	// gguf: key "llama.block_count" is missing, want a non-negative integer true
	// gguf: at byte 149: tensor "output_norm.weight": the file ends in the middle: 8 bytes needed, 1 left
}
