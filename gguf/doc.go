// Package gguf reads and writes GGUF, the file format of ggml models: typed metadata, and a directory of tensors whose
// data can be used where it lies.
//
// # Reading
//
// [Open] maps a file into memory and reads its metadata; opening costs as much as the metadata is long, whatever the
// size of the tensors. [NewFile] does the same through an io.ReaderAt, where there is no file or no mmap.
//
//	f, err := gguf.Open("model.gguf")
//	if err != nil {
//		return err // names the file, the byte, and the key or tensor
//	}
//	defer f.Close()
//	arch, err := f.String("general.architecture")
//	...
//	t, ok := f.Tensor("token_embd.weight") // t.Type, t.N() elements a row, t.Rows() rows
//	data, err := f.Data(t)                 // rows of blocks, as in the file
//
// Versions 2 and 3 are read, little-endian. A big-endian file, version 1, a reversed magic, a Git LFS pointer, the
// formats before GGUF, and an empty or truncated file are told apart in the error.
//
// # Metadata
//
// [File.Keys] holds all entries in file order; keys may come in any order. Typed getters ([File.String], [File.Uint],
// [File.Float], [File.Strings], ...) return a [*KeyError] that says which key, what was wanted and what was found;
// errors.Is(err, [ErrMissing]) tells an absent key from a wrong one. [File.Uint] takes any integer type, since
// converters disagree about them. Arrays become typed slices ([]float32, []string, ...), arrays of arrays []any of
// those, at most 4 deep. Text is kept as it is, valid UTF-8 or not: vocabularies hold pieces of characters.
//
// # Tensors
//
// Dimensions are in ggml's order: Dims[0] is the row length, whose elements are contiguous. A [Type] knows its name,
// how many elements a block encodes and in how many bytes; this package does not decode blocks. Every tensor type that
// ggml defines up to number 42 is known. Types that ggml has removed are refused by name.
//
// # Split sets
//
// A model in several files is named "name-00001-of-00003.gguf" and so on; [Open] takes the first and opens all, or
// says what is missing or does not agree (split.no counts from 0, split.count, split.tensors.count over all parts).
// The metadata is that of the first part; [Tensor.Part] says where a tensor lies.
//
// # Hostile files
//
// Nothing in a file makes this package panic, read outside it, or allocate out of proportion to its size. Counts and
// lengths are checked against the bytes left before memory is taken, sizes are multiplied with overflow checks. Refused
// with a [*FormatError]: offsets that are not aligned, tensors that overlap or leave the file, duplicate keys or
// tensors, more than 4 dimensions or a zero one, rows that are not a whole number of blocks, unknown types, bools other
// than 0 and 1, an alignment that is not a power of two, arrays nested more than 4 deep, strings of more than 64 MiB.
// Gaps between tensors, tensors in any order, and names longer than ggml's own limit of 63 bytes are accepted. Folders
// and pipes are refused before they are opened. A file that shrinks while it is open is an error of [File.Data], and
// within [File.View] also where it shrinks at that moment.
//
// # Writing
//
// [Writer] makes version 3 files for tests and tools. What it writes, this package reads back to equal values.
package gguf
