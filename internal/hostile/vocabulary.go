package hostile

import (
	"fmt"
	"math"
	"strings"

	"cera/gguf"
)

// The metadata keys of tokenizers.
const (
	tokens    = "tokenizer.ggml."
	keyTokens = tokens + "tokens"
	keyTypes  = tokens + "token_type"
	keyScores = tokens + "scores"
	keyMerges = tokens + "merges"
	keyChat   = "tokenizer.chat_template"
)

// spell gives the model of 256 tokens a vocabulary: of pieces with scores, or of characters with merges.
func spell(m *edited, merges bool) {
	texts, types, scores := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}, make([]float32, 256)
	for i := len(texts); i < 256; i++ {
		texts, types = append(texts, string(rune(0x100+i))), append(types, 1)
	}
	m.set(keyTokens, texts)
	m.set(keyTypes, types)
	if merges {
		m.set(tokens+"model", "gpt2")
		m.set(tokens+"pre", "gpt-2")
		m.set(keyMerges, []string{"ă Ą"})
	} else {
		m.set(tokens+"model", "llama")
		m.set(keyScores, scores)
	}
}

// vocabularies are models without a usable tokenizer.
func vocabularies() []Row {
	row := func(merges bool, name string, edit func(m *edited), want ...string) Row {
		return change(Vocabulary, name, "llama", func(m *edited) { spell(m, merges); edit(m) }, want...)
	}
	set := func(merges bool, name, key string, value any, want ...string) Row {
		return row(merges, name, func(m *edited) { m.set(key, value) }, append(want, key)...)
	}
	value := func(m *edited, key string) any {
		for _, kv := range m.keys {
			if kv.Key == key {
				return kv.Value
			}
		}
		panic("no key " + key) // of a name in this package
	}
	rows := []Row{
		set(false, "no tokenizer", tokens+"model", nil, "missing"),
		set(false, "unknown tokenizer", tokens+"model", "magic", `"magic"`, "not known"),
		set(false, "tokenizer of 1 MiB", tokens+"model", strings.Repeat("x", 1<<20), "not known"),
		set(false, "no tokens", keyTokens, nil, "missing"),
		set(false, "zero tokens", keyTokens, []string{}, "has 0 tokens"),
		set(false, "tokens that are numbers", keyTokens, []int32{1, 2}, "array of 2 int32", "strings"),
		set(false, "too few tokens", keyTokens, []string{"a", "b"}, "has 2 tokens", "256", "token_embd.weight"),
		set(false, "scores of another length", keyScores, []float32{1}, "has 1 values", "256"),
		set(false, "no scores", keyScores, nil, "missing"),
		set(false, "scores that are text", keyScores, []string{"a"}, "array of 1 string"),
		set(false, "types of another length", keyTypes, []int32{1, 1}, "has 2 values", "256"),
		set(false, "types below 0", keyTypes, []int32{-1}, "non-negative"),
		set(true, "no merges", keyMerges, nil, "missing"),
		set(true, "merges that are numbers", keyMerges, []int32{1}, "array of 1 int32"),
		set(true, "merge of one part", keyMerges, []string{"a b", "ab"}, `"ab" as merge 1`, "two parts"),
		set(true, "empty merge", keyMerges, []string{""}, `"" as merge 0`),
		set(true, "merge of 1 MiB", keyMerges, []string{strings.Repeat("x", 1<<20)}, "merge 0", "two parts"),
		set(true, "unknown pre-tokenizer", tokens+"pre", "magic", `"magic"`, "not known"),
		set(true, "no pre-tokenizer", tokens+"pre", nil, "missing"),
		set(true, "BOS that is to be added and is not there", tokens+"add_bos_token", true, "add_bos_token"),
		set(true, "addition of BOS as number", tokens+"add_bos_token", uint8(1), "uint8 1", "bool"),
		row(false, "token twice", func(m *edited) { value(m, keyTokens).([]string)[9] = "<s>" }, keyTokens,
			`"<s>" twice`, "as 1 and as 9"),
		row(false, "long token twice", func(m *edited) {
			list := value(m, keyTokens).([]string)
			list[8] = strings.Repeat("x", 1<<20)
			list[9] = list[8]
		}, keyTokens, "twice", "as 8 and as 9"),
		row(false, "unknown type of token", func(m *edited) { value(m, keyTypes).([]int32)[9] = 7 }, keyTypes,
			"is 7 for token 9", "0 to 6"),
		row(false, "byte token that is none", func(m *edited) { value(m, keyTypes).([]int32)[9] = 6 }, keyTokens,
			"byte token 9", "<0x00> to <0xFF>"),
		row(false, "score that is NaN", func(m *edited) { value(m, keyScores).([]float32)[9] = nan }, keyScores,
			"NaN for token 9"),
	}
	for _, name := range []string{"bos", "eos", "eot", "eom", "unknown", "fim_pad"} {
		key := tokens + name + "_token_id"
		rows = append(rows,
			set(false, name+" token out of range", key, uint32(256), "uint32 256", "256 tokens"),
			set(false, name+" token of 2^63", key, uint64(1<<63), "uint64 9223372036854775808"),
			set(false, name+" token below 0", key, int32(-7), "int32 -7"),
		)
	}
	return append(rows,
		set(false, "BOS token as text", tokens+"bos_token_id", "<s>", `string "<s>"`),
		set(false, "BOS token of 2^32-2", tokens+"bos_token_id", uint32(math.MaxUint32-1), "uint32 4294967294"),
	)
}

// templates are models that run, but whose chat template is none.
func templates() []Row {
	set := func(name string, value any, want ...string) Row {
		return change(Template, name, "llama", func(m *edited) { spell(m, false); m.set(keyChat, value) }, want...)
	}
	return []Row{
		set("no chat template", nil, "no chat template", keyChat),
		set("chat template as number", uint32(1), keyChat, "uint32 1", "want a string"),
		set("chat template as array", []string{"a"}, keyChat, "array of 1 string"),
		set("chat template of bad syntax", "{% for %}", keyChat, "line 1"),
		set("chat template that does not end", strings.Repeat("{% if x %}", 1000), keyChat),
		set("chat template 100000 parentheses deep",
			"{{ "+strings.Repeat("(", 100_000)+strings.Repeat(")", 100_000)+" }}", keyChat,
			"names, numbers, signs and texts"),
		set("chat template 10000 parentheses deep", "{{ "+strings.Repeat("(", 10_000)+strings.Repeat(")", 10_000)+" }}",
			keyChat, "within one another"),
		set("chat template 100000 blocks deep", strings.Repeat("{% if x %}", 100_000), keyChat,
			"names, numbers, signs and texts"),
		set("chat template of 2 MiB", strings.Repeat("x", 2<<20), keyChat, "2097152 bytes", "at most"),
		set("chat template of 60 MB", strings.Repeat("{{ x }} \n", 60_000_000/9), keyChat, "bytes", "at most"),
	}
}

// values are models with an element that is not a number, or not finite: in a value, or in the scale of a block.
func values() []Row {
	row := func(name, where string, typ gguf.Type, at int, b []byte, want ...string) Row {
		return change(Values, name, "llama", func(m *edited) {
			t := m.tensor(where)
			dims := t.dims
			m.remove(where)
			copy(m.add(where, typ, dims...).data[at:], b)
		}, append(want, fmt.Sprintf("tensor %q", where))...)
	}
	const q, norm = "blk.1.attn_q.weight", "blk.2.ffn_norm.weight"
	return []Row{
		row("NaN in F32", norm, gguf.F32, 4*5, []byte{0, 0, 0xc0, 0x7f}, "1 NaN", "first at element 5"),
		row("infinity in F32", norm, gguf.F32, 4*63, []byte{0, 0, 0x80, 0xff}, "1 infinite", "first at element 63"),
		row("NaN in F16", q, gguf.F16, 2*(64*3+2), []byte{0, 0x7e}, "1 NaN", "first at element 194"),
		row("infinity in BF16", q, gguf.BF16, 2*64, []byte{0x80, 0x7f}, "1 infinite", "first at element 64"),
		row("NaN as the scale of Q8_0", q, gguf.Q8_0, 34*3, []byte{0, 0x7e}, "32 NaN", "first at element 96"),
		row("infinity as the scale of Q8_0", q, gguf.Q8_0, 34*3, []byte{0, 0x7c, 1, 2}, "2 infinite", "30 NaN",
			"first at element 96"),
		row("NaN as the minimum of Q5_1", q, gguf.Q5_1, 24*7+2, []byte{1, 0x7c}, "32 NaN", "first at element 224"),
	}
}
