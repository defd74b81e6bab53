package hostile

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// headers are files whose first bytes are wrong.
func headers() []Row {
	return []Row{
		broken("empty file", nil, "the file is empty"),
		broken("one byte", raw("G"), "truncated", "1 bytes"),
		broken("magic alone", raw("GGUF"), "truncated", "4 bytes", "24"),
		broken("half a header", header(3, 0, 0)[:13], "truncated", "13 bytes"),
		broken("other magic", raw("PK\x03\x04").zeros(100), `"PK\x03\x04"`, `"GGUF"`),
		broken("reversed magic", raw("FUGG").u32(3).u64(0).u64(0), "reversed", "FUGG"),
		broken("text", raw(strings.Repeat("Once upon a time. ", 50)), "not a GGUF file", `"Once"`),
		broken("pointer to a large file", raw("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
			"Git LFS pointer", "git lfs pull"),
		broken("format before GGUF", raw("tjgg").zeros(100), "before GGUF", "convert the model again"),
		broken("version 0", header(0, 0, 0), "unknown version 0", "2 or 3"),
		broken("version 1", header(1, 0, 0), "version 1", "2 or 3"),
		broken("version of the future", header(1_000_000, 0, 0), "unknown version 1000000", "2 or 3"),
		broken("version with the sign bit", header(math.MaxUint32, 0, 0), "unknown version 4294967295"),
		broken("big-endian", raw("GGUF").bytes(0, 0, 0, 3).zeros(16), "big-endian", "version 3"),
		broken("tensor count without tensors", header(3, 1, 0), "tensor count 1", "0 bytes left"),
		broken("tensor count of 2^60", header(3, 1<<60, 0).zeros(100), "tensor count 1152921504606846976"),
		broken("tensor count of -1", header(3, math.MaxUint64, 0).zeros(100), "tensor count 18446744073709551615"),
		broken("tensor count one too many", header(3, 2, 0).tensor("w", tensorF32, 0, 8).data(32, 32), "tensor 2 of 2"),
		broken("key count without keys", header(3, 0, 1), "key count 1", "0 bytes left"),
		broken("key count of 2^40", header(3, 0, 1<<40).zeros(100), "key count 1099511627776"),
		broken("key count of -1", header(3, 0, math.MaxUint64).zeros(100), "key count 18446744073709551615"),
		broken("key count one too many", header(3, 0, 2).number("a", 1), "key count 2", "17 bytes left"),
	}
}

// keys are files with wrong metadata.
func keys() []Row {
	return []Row{
		broken("key size of 2^62", header(3, 0, 1).u64(1<<62).zeros(20), "name of key 1 of 1",
			"4611686018427387904 bytes"),
		broken("key size of -1", header(3, 0, 1).u64(math.MaxUint64).zeros(20), "18446744073709551615 bytes"),
		broken("key of 64 KiB", header(3, 0, 1).number(strings.Repeat("k", 1<<16), 1), "65536 bytes", "65535"),
		broken("empty key", header(3, 0, 1).number("", 1).zeros(9), "key 1 of 1", "empty name"),
		broken("value type", header(3, 0, 1).key("some.key", 13).zeros(9), `key "some.key"`, "unknown value type 13"),
		broken("value type of -1", header(3, 0, 1).key("some.key", math.MaxUint32).zeros(9),
			"unknown value type 4294967295"),
		broken("duplicate key", header(3, 0, 2).number("some.key", 1).number("some.key", 2), `key "some.key"`, "twice"),
		broken("value cut", header(3, 0, 1).key("k", typeUint64).bytes(1, 2, 3), `key "k"`, "8 bytes needed, 3 left"),
		broken("bool of 2", header(3, 0, 1).key("k", typeBool).bytes(2), `key "k"`, "bool is 2"),
		broken("string of 2^63", header(3, 0, 1).key("k", typeString).u64(1<<63).zeros(40), `key "k"`,
			"9223372036854775808 bytes"),
		broken("string of -1", header(3, 0, 1).key("k", typeString).u64(math.MaxUint64).zeros(40), `key "k"`,
			"18446744073709551615 bytes"),
		broken("string longer than the file by one", header(3, 0, 1).key("k", typeString).u64(41).zeros(40), `key "k"`,
			"41 bytes", "40 bytes left"),
		broken("array of 2^63 bytes", header(3, 0, 1).array("k", typeUint8, 1<<63).zeros(40), `key "k"`,
			"9223372036854775808 uint8"),
		broken("array of 2^61 words", header(3, 0, 1).array("k", typeUint64, 1<<61).zeros(40), `key "k"`,
			"2305843009213693952 uint64"),
		broken("array of 2^63 strings", header(3, 0, 1).array("k", typeString, 1<<63).zeros(40), `key "k"`,
			"9223372036854775808 string"),
		broken("array of 2^63 arrays", header(3, 0, 1).array("k", typeArray, 1<<63).zeros(40), `key "k"`,
			"9223372036854775808 array"),
		broken("array of -1 bools", header(3, 0, 1).array("k", typeBool, math.MaxUint64).zeros(40), `key "k"`,
			"18446744073709551615 bool"),
		broken("array of an unknown type", header(3, 0, 1).array("k", 99, 1).zeros(40), `key "k"`,
			"unknown value type 99"),
		broken("array with a string of 2^63", header(3, 0, 1).array("k", typeString, 2).text("a").u64(1<<63).zeros(40),
			`key "k"`, "9223372036854775808 bytes"),
		broken("arrays 100000 deep", header(3, 0, 1).key("k", typeArray).repeat(100_000, func(r raw, _ int) raw {
			return r.u32(typeArray).u64(1)
		}).u32(typeUint8).u64(0), `key "k"`, "more than 4 deep"),
		sparse("chat template that claims 100 MB",
			header(3, 0, 1).key("tokenizer.chat_template", typeString).u64(100_000_000), 4096,
			`key "tokenizer.chat_template"`, "100000000 bytes", "bytes left"),
		sparse("chat template of 100 MB", header(3, 0, 1).key("tokenizer.chat_template", typeString).u64(100_000_000),
			100_000_100,
			`key "tokenizer.chat_template"`, "100000000 bytes", "at most"),
		sparse("vocabulary that claims 10^9 tokens", header(3, 0, 1).array("tokenizer.ggml.tokens", typeString, 1e9),
			1<<20,
			`key "tokenizer.ggml.tokens"`, "1000000000 string"),
		broken("alignment of 0", header(3, 0, 1).number("general.alignment", 0), "general.alignment", "is 0",
			"power of two"),
		broken("alignment of 24", header(3, 0, 1).number("general.alignment", 24), "general.alignment", "is 24",
			"power of two"),
		broken("alignment as uint64", header(3, 0, 1).key("general.alignment", typeUint64).u64(32), "general.alignment",
			"uint64 32", "want uint32"),
		broken("alignment as int32", header(3, 0, 1).key("general.alignment", typeInt32).u32(32), "general.alignment",
			"int32 32", "want uint32"),
		broken("alignment as text", header(3, 0, 1).key("general.alignment", typeString).text("32"),
			"general.alignment", `string "32"`),
		broken("alignment as array", header(3, 0, 1).array("general.alignment", typeUint32, 1).u32(32),
			"general.alignment", "array of 1 uint32"),
	}
}

// one is the header and the only entry of a file with one tensor.
func one(t uint32, offset uint64, dims ...uint64) raw {
	return header(3, 1, 0).tensor("w", t, offset, dims...)
}

// tensors are files with wrong entries of tensors.
func tensors() []Row {
	return []Row{
		broken("tensor name size of 2^40", header(3, 1, 0).u64(1<<40).zeros(100), "name of tensor 1 of 1",
			"1099511627776 bytes"),
		broken("tensor name of 64 KiB", header(3, 1, 0).tensor(strings.Repeat("w", 1<<16), tensorF32, 0, 8).data(32,
			32), "65536 bytes", "65535"),
		broken("tensor without a name", header(3, 1, 0).tensor("", tensorF32, 0, 8).data(32, 32), "tensor 1 of 1",
			"empty name"),
		broken("no dimensions", one(tensorF32, 0).data(32, 32), `tensor "w"`, "0 dimensions"),
		broken("five dimensions", one(tensorF32, 0, 1, 1, 1, 1, 1).data(32, 32), `tensor "w"`, "5 dimensions"),
		broken("2^32-1 dimensions", header(3, 1, 0).text("w").u32(math.MaxUint32).zeros(100), `tensor "w"`,
			"4294967295 dimensions"),
		broken("dimension of zero", one(tensorF32, 0, 8, 0).data(32, 32), `tensor "w"`, "dimension 1", "zero"),
		broken("dimension of -1", one(tensorF32, 0, math.MaxUint64).data(32, 32), `tensor "w"`, "overflow"),
		broken("shape of part of a block", one(tensorQ4_0, 0, 33, 2).data(32, 64), `tensor "w"`, "33 elements",
			"Q4_0 blocks of 32"),
		broken("shape of half a superblock", one(tensorQ6_K, 0, 128, 2).data(32, 512), `tensor "w"`, "128 elements",
			"Q6_K blocks of 256"),
		broken("too many elements", one(tensorF32, 0, 1<<32, 1<<32).data(32, 32), `tensor "w"`, "overflow"),
		broken("elements that wrap to 0", one(tensorI8, 0, 1<<63, 2, 1, 1).data(32, 32), `tensor "w"`, "overflow"),
		broken("too many bytes", one(tensorF64, 0, 1<<62).data(32, 32), `tensor "w"`, "overflow"),
		broken("bytes that wrap to 0", one(tensorF32, 0, 1<<31, 1<<31).data(32, 32), `tensor "w"`, "overflow"),
		broken("tensor type", one(43, 0, 32).data(32, 256), `tensor "w"`, "unknown tensor type 43"),
		broken("tensor type of -1", one(math.MaxUint32, 0, 32).data(32, 256), `tensor "w"`,
			"unknown tensor type 4294967295"),
		broken("removed tensor type", one(4, 0, 32).data(32, 256), `tensor "w"`, "Q4_2", "removed"),
		broken("offset that is not aligned", one(tensorF32, 16, 8).data(32, 96), `tensor "w"`, "offset 16",
			"alignment 32"),
		broken("offset outside", one(tensorF32, 1<<40, 8).data(32, 32), `tensor "w"`, "offset 1099511627776",
			"32 bytes in this file"),
		broken("offset that wraps", one(tensorF32, math.MaxUint64-31, 16).data(32, 64), `tensor "w"`,
			"offset 18446744073709551584"),
		broken("offset of 2^63", one(tensorF32, 1<<63, 8).data(32, 32), `tensor "w"`, "offset 9223372036854775808"),
		broken("duplicate tensor", header(3, 2, 0).tensor("w", tensorF32, 0, 8).tensor("w", tensorF32, 32, 8).data(32,
			64), `tensor "w"`, "twice"),
		broken("offset for another alignment",
			header(3, 1, 1).number("general.alignment", 64).tensor("w", tensorF32, 32, 8).data(64, 96),
			`tensor "w"`, "offset 32", "alignment 64"),
		broken("data for another alignment",
			header(3, 2, 1).number("general.alignment", 1<<16).tensor("a", tensorF32, 0, 8).
				tensor("b", tensorF32, 1<<16, 8).data(32, 1<<16), `tensor "b"`, "offset 65536"),
		broken("alignment of 2^31", header(3, 1, 1).number("general.alignment", 1<<31).tensor("w", tensorF32, 0,
			8).data(32, 32),
			`tensor "w"`, "0 bytes in this file"),
		broken("too little data", one(tensorF32, 0, 8).data(32, 31), `tensor "w"`, "32 bytes at offset 0",
			"31 bytes in this file"),
		broken("no data", one(tensorF32, 0, 8), `tensor "w"`, "0 bytes in this file"),
		broken("data of 2^62 bytes", one(tensorI8, 0, 1<<62).data(32, 32), `tensor "w"`, "4611686018427387904 bytes"),
		broken("entry cut", header(3, 1, 0).text("weight").u32(4).u64(1).zeros(16), `tensor "weight"`,
			"8 bytes needed"),
		broken("overlapping tensors", header(3, 2, 0).tensor("a", tensorF32, 0, 9).tensor("b", tensorF32, 32,
			8).data(32, 64), `tensor "b"`, `overlaps tensor "a"`),
		broken("two tensors in one place",
			header(3, 2, 0).tensor("a", tensorF32, 0, 8).tensor("b", tensorF32, 0, 8).data(32, 64), "overlaps"),
		broken("a tensor within another",
			header(3, 2, 0).tensor("a", tensorF32, 0, 64).tensor("b", tensorF32, 64, 8).data(32, 256),
			`overlaps tensor "a"`),
	}
}

// floods are files with as much of something as fits, and one fault at the end: what a reader takes until it sees that.
func floods() []Row {
	return []Row{
		broken("20000 keys", header(3, 0, 20_001).repeat(20_000, func(r raw, i int) raw {
			return r.key(fmt.Sprintf("%05d", i), typeUint8).bytes(1)
		}).number("00007", 1), `key "00007"`, "twice"),
		broken("10000 tensors", header(3, 10_001, 0).repeat(10_000, func(r raw, i int) raw {
			return r.tensor(fmt.Sprintf("%05d", i), tensorI8, uint64(i)*32, 1)
		}).tensor("00007", tensorI8, 0, 1).data(32, 320_000), `tensor "00007"`, "twice"),
		broken("50000 empty strings", header(3, 0, 1).array("k", typeString, 50_001).repeat(50_000,
			func(r raw, _ int) raw { return r.text("") }).u64(1),
			`key "k"`, "string of 1 bytes"),
		broken("50000 empty arrays", header(3, 0, 1).array("k", typeArray, 50_001).repeat(50_000,
			func(r raw, _ int) raw {
				return r.u32(typeUint8).u64(0)
			}).u32(99).u64(0), `key "k"`, "unknown value type 99"),
		broken("a million bools", header(3, 0, 1).array("k", typeBool,
			1_000_000).bytes(bytes.Repeat([]byte{1}, 999_999)...).bytes(7), `key "k"`, "bool is 7"),
		broken("a string of 8 MiB", header(3, 0, 2).key("k", typeString).u64(8<<20).zeros(8<<20).number("k", 1),
			`key "k"`, "twice"),
		broken("a key with control characters", header(3, 0, 1).key("\x1b]0;title\x07\x1b[2J", 13).zeros(9),
			`\x1b]0;title`, "unknown value type 13"),
	}
}
