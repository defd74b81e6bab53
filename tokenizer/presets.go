package tokenizer

import "slices"

// preTokenizer is a row of the table: how a text is split before pieces are merged, and what goes with that.
type preTokenizer struct {
	name   string // the one in use, of a row's names
	stages []stage

	ignoreMerges bool // a piece that is a token is taken whole, whatever the merges say
	addBOS       bool // unless add_bos_token says otherwise
	forceBOS     bool // whatever add_bos_token says
	chars        bool // merges are of characters, spaces are U+2581, and what is left becomes <0xNN>; else of bytes
}

// stage splits every piece that the stage before has made. What the pattern matches are pieces, and so is what lies
// between matches.
type stage struct {
	pattern string // what split does, as a regular expression: the tests hold split to it
	split   splitter
}

// splitter appends the ends of the pieces of s, counted from base, to ends.
type splitter interface {
	split(s string, base int, ends []int) []int
}

// The patterns are those of the models' own tokenizers, with llama.cpp's changes, since its ids are the measure: \p{L}
// for cased letters in gpt-4o, white space never in a set of letters or punctuation.
const (
	contractions = `'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]`
	whiteSpace   = `|\s*[\r\n]+|\s+(?!\S)|\s+`

	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?:` + contractions + `)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` +
		whiteSpace
	patternQwen2  = `(?:` + contractions + `)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` + whiteSpace
	patternQwen35 = `(?:` + contractions + `)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*` +
		whiteSpace

	upper         = `[^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])*((?=\p{L})[^A-Z])+`
	lower         = `[^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])+((?=\p{L})[^A-Z])*`
	punctuated    = `| ?[^\s\p{L}\p{N}]+[\r\n/]*` + whiteSpace
	patternGPT4o  = upper + `(?:` + contractions + `)?|` + lower + `(?:` + contractions + `)?|\p{N}{1,3}` + punctuated
	patternTekken = upper + `|` + lower + `|\p{N}` + punctuated

	setFalcon  = "$+<=>^`|~"
	setDefault = "$+<=>^|~"
	// Cased letters.
	setCased = "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373" +
		"\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F" +
		"\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77" +
		"\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D" +
		"\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4" +
		"\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139" +
		"\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D" +
		"\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A" +
		"\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2" +
		"\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943"
	setPunct = "!-/:-~\u2018-\u201F\u3000-\u3002\uFF01-\uFF0F\uFF1A-\uFF5E"
	// Everything from U+0800 to the ideographs, and Hangul.
	setCJK = "\u0800-\u9FA5\uAC00-\uD7FF"
)

var (
	stageGPT2   = stage{patternGPT2, words{contract: contractLower, digits: 0}}
	stageLlama3 = stage{patternLlama3,
		words{contract: contractBefore, anyLead: true, digits: 3, tail: "\r\n", newlines: true}}
	stageQwen2 = stage{patternQwen2,
		words{contract: contractBefore, anyLead: true, digits: 1, tail: "\r\n", newlines: true}}
	stageQwen35 = stage{patternQwen35,
		words{contract: contractBefore, anyLead: true, marks: true, digits: 1, tail: "\r\n", newlines: true}}
	stageGPT4o = stage{patternGPT4o,
		words{contract: contractAfter, anyLead: true, cased: true, digits: 3, tail: "\r\n/", newlines: true}}
	stageTekken  = stage{patternTekken, words{anyLead: true, cased: true, digits: 1, tail: "\r\n/", newlines: true}}
	stageNumber  = stage{`\p{N}`, runs{class: number, most: 1}}
	stageNumbers = stage{`\p{N}+`, runs{class: number}}
	stageDigits3 = stage{`[0-9][0-9][0-9]`, runs{set: newSet("0-9"), least: 3, most: 3}}
	stageNewline = stage{`[\r\n]`, runs{set: newSet("\n\r"), most: 1}}
	stageCJK     = stage{`(?:(?!\s)[` + setCJK + `])+`, runs{set: newSet(setCJK)}}
)

// presets are the pre-tokenizers by name. The pattern of a stage stands beside the code that splits, and TestPatterns
// compares the two.
var presets = []struct {
	names []string
	pre   preTokenizer
}{
	{[]string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "trillion", "granite-docling"},
		preTokenizer{stages: []stage{stageGPT2}}},
	{[]string{"starcoder", "refact", "smollm", "command-r", "codeshell", "exaone", "minerva-7b"},
		preTokenizer{stages: []stage{stageNumber, stageGPT2}}},
	{[]string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2"},
		preTokenizer{stages: []stage{stageLlama3}, ignoreMerges: true, addBOS: true}},
	{[]string{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, preTokenizer{stages: []stage{stageLlama3}}},
	{[]string{"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan"},
		preTokenizer{stages: []stage{stageQwen2}}},
	{[]string{"qwen35"}, preTokenizer{stages: []stage{stageQwen35}}},
	{[]string{"gpt-4o", "llama4"}, preTokenizer{stages: []stage{stageGPT4o}}},
	{[]string{"tekken"}, preTokenizer{stages: []stage{stageTekken}, ignoreMerges: true, addBOS: true}},
	{[]string{"falcon"}, preTokenizer{stages: []stage{
		{`[\p{P}$+<=>^~|` + "`]+", runs{class: punct, set: newSet(setFalcon)}}, stageGPT2, stageDigits3}}},
	{[]string{"deepseek-llm"}, preTokenizer{stages: []stage{
		stageNewline,
		{`\s?[` + setCased + `]+`, runs{set: newSet(setCased), lead: true}},
		{`\s?(?:(?!\s)[` + setPunct + `])+`, runs{set: newSet(setPunct), lead: true}},
		{`\s+$`, trailing{}},
		stageCJK, stageNumbers}}},
	{[]string{"deepseek-coder"}, preTokenizer{stages: []stage{
		stageNewline,
		{`\s?\p{L}+`, runs{class: letter, lead: true}},
		{`\s?\p{P}+`, runs{class: punct, lead: true}},
		stageCJK, stageNumber}}},
	{[]string{"gemma4"}, preTokenizer{stages: []stage{{`[^\n]+|\n+`, lines{}}}, chars: true, forceBOS: true}},
	{[]string{"default"}, preTokenizer{stages: []stage{
		{`[\p{P}$+<=>^~|]+`, runs{class: punct, set: newSet(setDefault)}}, stageGPT2, stageNumbers, stageDigits3}}},
}

// PreTokenizers returns the names of the pre-tokenizers that are known, in alphabetical order.
func PreTokenizers() []string {
	var names []string
	for _, row := range presets {
		names = append(names, row.names...)
	}
	slices.Sort(names)
	return names
}

func presetByName(name string) *preTokenizer {
	for _, row := range presets {
		if slices.Contains(row.names, name) {
			pre := row.pre
			pre.name = name
			return &pre
		}
	}
	return nil
}
