// Package tokenizer turns text into token ids and ids into text, from a GGUF file's metadata alone.
//
//	f, err := gguf.Open("model.gguf")
//	...
//	t, err := tokenizer.New(f, tokenizer.Options{})
//	if err != nil {
//		return err // names the file, the key, what was found and what was expected
//	}
//	ids := t.Encode("Hello, world", tokenizer.EncodeOptions{AddSpecial: true, Parse: tokenizer.ParseAll})
//	text := t.Decode(ids, tokenizer.DecodeOptions{})
//
// The measure is llama.cpp: the same ids for the same text.
//
// # Kinds
//
// tokenizer.ggml.model says how text is cut:
//
//   - "llama" is SentencePiece's BPE. Spaces become U+2581, a space goes in front (tokenizer.ggml.add_space_prefix),
//     and neighbours merge, the highest score first, the leftmost of equals. What is in no token becomes byte tokens.
//   - "gpt2" is byte-level BPE. A pre-tokenizer (tokenizer.ggml.pre) splits the text into pieces; within a piece
//     neighbours merge in the order of tokenizer.ggml.merges. The table in presets.go lists what is known.
//   - "gemma4" is BPE by a list of merges, on characters as in "llama".
//
// Others ("bert", "t5", "rwkv", "plamo2", ...) are refused by name, as are files without a vocabulary.
//
// # Differences from llama.cpp
//
// Where a file is at fault this package is stricter: an unknown or missing pre-tokenizer, arrays of different lengths
// and ids out of range are errors and not warnings, and a BPE file without bos_token_id has no BOS, instead of token
// 11. A second BOS or EOS is not added to a text that has one, unless asked for. Bytes that are not UTF-8 count as one
// U+FFFD each in the BPE kinds; the "llama" kind keeps them, each on its own. Decoding gives back what was encoded:
// spaces before punctuation stay, and the space that encoding puts in front is taken off.
//
// # Cost
//
// Encoding takes time in proportion to the text, but for the logarithm of a heap in long pieces, whatever the text. A
// Tokenizer may be used by several goroutines at a time.
package tokenizer
