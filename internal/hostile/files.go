package hostile

import (
	"bytes"
	"fmt"
	"os"

	"cera/gguf"
)

// splitName is the name of part no, from 1, of a set of count files.
func splitName(no, count int) string { return fmt.Sprintf("set-%05d-of-%05d.gguf", no, count) }

// splitPart is part no, from 0, of a set of count files with total tensors; its own is called tensor.
func splitPart(no, count, total int, tensor string) []byte {
	w := gguf.NewWriter()
	w.Set("general.architecture", "llama")
	w.Set("split.no", uint16(no))
	w.Set("split.count", uint16(count))
	w.Set("split.tensors.count", int32(total))
	w.Add(tensor, gguf.I8, []uint64{4}, make([]byte, 4))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		panic(err) // nothing in it comes from outside
	}
	return b.Bytes()
}

// set is a row of a set of files; nil parts are left out. It is opened at the first.
func set(name string, parts [][]byte, want ...string) Row {
	return Row{name, Format, want, func(dir string) (string, error) {
		for i, b := range parts {
			if b == nil {
				continue
			}
			if _, err := write(dir, splitName(i+1, len(parts)), b); err != nil {
				return "", err
			}
		}
		return dir + string(os.PathSeparator) + splitName(1, len(parts)), nil
	}}
}

// splits are sets of files that do not belong together.
func splits() []Row {
	return []Row{
		set("set with a missing part", [][]byte{splitPart(0, 3, 3, "a"), nil, splitPart(2, 3, 3, "c")}, "1 of 3 parts",
			splitName(2, 3)),
		set("set of 60000 missing parts", func() [][]byte {
			parts := make([][]byte, 60_000)
			parts[0] = splitPart(0, 60_000, 3, "a")
			return parts
		}(), "at least 1000 of 60000 parts", "and 992 more"),
		set("set with a doubled part", [][]byte{splitPart(0, 2, 2, "a"), splitPart(0, 2, 2, "a")}, "split.no", "is 0",
			"want 1", splitName(2, 2)),
		set("set with a tensor twice", [][]byte{splitPart(0, 2, 2, "a"), splitPart(1, 2, 2, "a")},
			`tensor "a" is also in part 1`, splitName(2, 2)),
		set("set with a part of a larger set", [][]byte{splitPart(0, 2, 2, "a"), splitPart(1, 3, 2, "b")},
			"split.count", "is 3", "want 2", splitName(2, 2)),
		set("set with a part of another model", [][]byte{splitPart(0, 2, 2, "a"), splitPart(1, 2, 9, "b")},
			"split.tensors.count", "is 9", "want 2", splitName(2, 2)),
		set("set with another total", [][]byte{splitPart(0, 2, 7, "a"), splitPart(1, 2, 7, "b")}, "split.tensors.count",
			"is 7", "hold 2 tensors"),
		set("set with a part that is no GGUF",
			[][]byte{splitPart(0, 2, 2, "a"), []byte("Once upon a time there was a file.")}, splitName(2, 2),
			"not a GGUF file"),
		set("set with an empty part", [][]byte{splitPart(0, 2, 2, "a"), {}}, splitName(2, 2), "the file is empty"),
		broken("part under another name", splitPart(0, 2, 2, "a"), "split.count", "-00001-of-00002.gguf"),
		broken("set of 2^63 files", header(3, 0, 1).key("split.count", typeUint64).u64(1<<63), "split.no",
			"is missing"),
		broken("set of -1 files", header(3, 0, 1).key("split.count", typeInt64).u64(1<<64-1), "split.count",
			"int64 -1"),
		broken("set of half a file", header(3, 0, 1).key("split.count", typeFloat32).u32(0x3f000000), "split.count",
			"float32 0.5"),
	}
}

// notFiles are names of something else.
func notFiles() []Row {
	return []Row{
		{"folder", Format, []string{"a folder, not a regular file"}, func(dir string) (string, error) {
			path := dir + string(os.PathSeparator) + fileName
			return path, os.Mkdir(path, 0o700)
		}},
	}
}
