package tokenizer_test

import (
	"bytes"
	"fmt"
	"log"

	"cera/gguf"
	"cera/tokenizer"
)

// A vocabulary of a few pieces, as SentencePiece makes them.
func Example() {
	w := gguf.NewWriter()
	w.Set("tokenizer.ggml.model", "llama")
	w.Set("tokenizer.ggml.tokens", []string{"<unk>", "<s>", "</s>", "▁", "H", "i", "▁H", "▁Hi", "<0xC3>", "<0xA9>"})
	w.Set("tokenizer.ggml.scores", []float32{0, 0, 0, -9, -9, -9, -1, -2, 0, 0})
	w.Set("tokenizer.ggml.token_type", []int32{2, 3, 3, 1, 1, 1, 1, 1, 6, 6})
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		log.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		log.Fatal(err)
	}
	t, err := tokenizer.New(f, tokenizer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("Hi é", tokenizer.EncodeOptions{AddSpecial: true})
	fmt.Println(ids, t.Token(ids[1]))
	fmt.Printf("%q\n", t.Decode(ids, tokenizer.DecodeOptions{}))
	d := t.NewDecoder(tokenizer.DecodeOptions{})
	for _, id := range ids {
		fmt.Printf("%q ", d.Next(id)) // é comes when its second byte is there
	}
	fmt.Printf("%q\n", d.Flush())
	// Output:
	// [1 7 3 8 9] ▁Hi
	// "Hi é"
	// "" "Hi" " " "" "é" ""
}
