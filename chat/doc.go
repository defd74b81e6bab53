// Package chat writes a conversation as the text that a model was trained on, by the template that its file carries.
//
//	t, err := chat.FromFile(f, "") // or chat.New(name, text), chat.BuiltIn("chatml")
//	if err != nil {
//		return err // names the template, its line and what is wrong
//	}
//	text, err := t.Render(messages, chat.Options{AddGenerationPrompt: true, BOS: "<s>", EOS: "</s>"})
//
// # Templates
//
// A template is written in the language of Jinja, as Hugging Face's tokenizers set it up: trim_blocks and lstrip_blocks
// are on, nothing is escaped, and the objects of a conversation cannot be changed. This package has an interpreter of
// its own for what chat templates use, since the libraries there are for Go (gonja v2.9.1 was tried) can be ended
// neither by a loop of 10^9 turns nor by a macro that calls itself, which overflows the stack and with it ends the
// program:
//
//   - for (with else, if, break and continue), if, set (also of a block and of a namespace), macro, filter, raw, generation
//   - all expressions: conditions within expressions, slices with steps, chained comparisons, tests, filters, calls
//   - the variables messages, add_generation_prompt, bos_token, eos_token; tools and documents, which are none
//   - the functions raise_exception, strftime_now, namespace, range, dict
//   - the filters, tests and methods of strings, lists and dicts that the tables in filters.go, tests.go and methods.go list
//
// Statements that read other files (include, import, extends) do not exist here, and neither do block, call, with, do
// and trans: they are errors that say so.
//
// # Limits
//
// A template comes from a file that nobody has looked at. It has at most [MaxTemplate] bytes; what it writes, at most
// [MaxOutput]; its steps, the bytes that it makes on the way and its depth are counted, so that a template that does
// not end is an error, the same one on every machine. Nothing in a template or in a conversation makes the program
// panic.
//
// # Special tokens
//
// The text of a conversation holds control tokens as text, which the tokenizer is to recognise. What a user writes must
// not become one: [Shield] and [Unshield] keep the two apart.
package chat
