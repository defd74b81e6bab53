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
	for _, name := range []string{"blk.1.attn_norm.weight", "blk.1.attn_k.weight", "blk.1.attn_k.bias",
		"blk.1.ffn_down.weight"} {
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

// A model of another architecture, with heads of each block's own.
func ExampleFor() {
	o := tinymodel.For("gemma3")
	o.Layers, o.BlockHeads = 2, []int{4, 8}

	var buf bytes.Buffer
	n, err := tinymodel.Write(&buf, o)
	if err != nil {
		log.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), n)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"gemma3.attention.head_count", "gemma3.attention.sliding_window",
		"gemma3.rope.scaling.type"} {
		v, _, _ := f.Lookup(key)
		fmt.Println(key, "=", v)
	}
	for _, name := range []string{"blk.0.attn_q.weight", "blk.1.attn_q.weight", "blk.1.post_ffw_norm.weight"} {
		t, _ := f.Tensor(name)
		fmt.Println(t.Name, t.Dims, t.Type)
	}
	// Output:
	// gemma3.attention.head_count = [4 8]
	// gemma3.attention.sliding_window = 6
	// gemma3.rope.scaling.type = linear
	// blk.0.attn_q.weight [64 96] Q8_0
	// blk.1.attn_q.weight [64 192] Q8_0
	// blk.1.post_ffw_norm.weight [64] F32
}
