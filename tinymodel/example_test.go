package tinymodel_test

import (
	"bytes"
	"fmt"
	"log"

	"cera/gguf"
	"cera/tinymodel"
)

// A model of two layers with biases, written to memory and opened from there.
func ExampleWrite() {
	o := tinymodel.Default()
	o.Layers = 2
	o.QKVBias = true
	o.Format = gguf.Q4_0

	var buf bytes.Buffer
	n, err := tinymodel.Write(&buf, o)
	if err != nil {
		log.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(f.Tensors), "tensors")
	for _, name := range []string{"blk.1.attn_norm.weight", "blk.1.attn_k.weight", "blk.1.attn_k.bias", "blk.1.ffn_down.weight"} {
		t, _ := f.Tensor(name)
		fmt.Println(t.Name, t.Dims, t.Type)
	}
	// Output:
	// 27 tensors
	// blk.1.attn_norm.weight [64] F32
	// blk.1.attn_k.weight [64 32] Q4_0
	// blk.1.attn_k.bias [32] F32
	// blk.1.ffn_down.weight [80 64] F16
}
