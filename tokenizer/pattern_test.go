package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

// patternSplit splits by a regular expression: what the hand-made splitters must do.
func patternSplit(t testing.TB, re *regexp2.Regexp, text string) []string {
	var out []string
	runes := []rune(text)
	done := 0
	m, err := re.FindRunesMatch(runes)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		if m.Index > done {
			out = append(out, string(runes[done:m.Index]))
		}
		if done = m.Index + m.Length; m.Length > 0 {
			out = append(out, string(runes[m.Index:done]))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if done < len(runes) {
		out = append(out, string(runes[done:]))
	}
	return out
}

func handSplit(s splitter, text string) []string {
	var out []string
	start := 0
	for _, end := range s.split(text, 0, nil) {
		out = append(out, text[start:end])
		start = end
	}
	return out
}

// patterns are the different stages of all presets.
func patterns(t testing.TB) map[string]stage {
	loadClasses()
	all := map[string]stage{}
	for _, row := range presets {
		for _, s := range row.pre.stages {
			all[s.pattern] = s
		}
	}
	if len(all) < 15 {
		t.Fatalf("%d patterns", len(all))
	}
	return all
}

func compile(pattern string) *regexp2.Regexp {
	re := regexp2.MustCompile(pattern, regexp2.None)
	re.MatchTimeout = 30 * time.Second
	return re
}

// newer tells apart what Go's tables, and so the reference, do not have; TestClasses is about these.
func newer(r rune) rune {
	if r >= 0x2FFC && r <= 0x2FFF || r == 0x31EF || r >= 0x2EBF0 && r <= 0x2EE5D {
		return '?'
	}
	return r
}

func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for pattern, s := range patterns(t) {
		re := compile(pattern)
		for range 1500 {
			text := strings.Map(newer, randomFragments(r, 12))
			if got, want := handSplit(s.split, text), patternSplit(t, re, text); !slices.Equal(got, want) {
				t.Errorf("%s\n%q:\n got %q\nwant %q", pattern, text, got, want)
				break
			}
		}
	}
}

// Every character below the ideographs, and beyond them those at which a class begins or ends, between others.
func TestPatternsOfCharacters(t *testing.T) {
	loadClasses()
	var texts []string
	var b strings.Builder
	for c := rune(0); c < 0x20000; c++ {
		if c >= 0xD800 && c <= 0xDFFF || newer(c) != c {
			continue
		}
		if c >= 0x3400 && c%512 != 511 && classOf(c) == classOf(c-1) && classOf(c) == classOf(c+1) {
			continue
		}
		for _, x := range []string{"x", " ", "1", ".", "\n "} {
			b.WriteString(x)
			b.WriteRune(c)
		}
		b.WriteRune(c)
		if c%512 == 511 {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	for pattern, s := range patterns(t) {
		re := compile(pattern)
		for _, text := range texts {
			got, want := handSplit(s.split, text), patternSplit(t, re, text)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s: %q, want %q", pattern, got[i], want[i])
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %d pieces, want %d", pattern, len(got), len(want))
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range fragments {
		f.Add(s + "a  b" + s + s + "1" + s)
	}
	stages := patterns(f)
	compiled := map[string]*regexp2.Regexp{}
	for pattern := range stages {
		compiled[pattern] = compile(pattern)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.Map(newer, text)
		for pattern, s := range stages {
			if got, want := handSplit(s.split, text),
				patternSplit(t, compiled[pattern], text); !slices.Equal(got, want) {
				t.Errorf("%s\n%q:\n got %q\nwant %q", pattern, text, got, want)
			}
		}
	})
}

// All stages of a preset, on texts whose pieces can be told by eye.
func TestPresets(t *testing.T) {
	loadClasses()
	tests := []struct{ name, text, want string }{ // want: the pieces, with | between them
		{"gpt-2", "I'M don't  go 12345\n\n x", "I|'|M| don|'t| | go| 12345|\n\n| x"},
		{"smollm", "a 123 b  9", "a| |1|2|3| b|  |9"},
		{"llama-bpe", "I'M 1234567 \r\n\r\n  x\t\ty!?\n", "I|'M| |123|456|7| \r\n\r\n| | x|\t|\ty|!?\n"},
		{"dbrx", "a_b 12", "a|_b| |12"},
		{"qwen2", "I'll 123 (x)\r\n", "I|'ll| |1|2|3| (|x|)\r\n"},
		{"stablelm2", "'re 'RE", "'re| '|RE"},
		{"qwen35", "हिन्दी e\u0301a", "हिन्दी| e\u0301a"},
		{"qwen2", "हिन्दी", "ह|िन|्द|ी"},
		{"gpt-4o", "CamelCase HTTPServer don't DON'T 1234 a/b//\n",
			"Camel|Case| HTTPServer| don't| DON'T| |123|4| a|/b|//\n"},
		{"gpt-4o", "ÉAB aÉ", "É|AB| aÉ"},
		{"tekken", "don't 12", "don|'t| |1|2"},
		{"falcon", "a<=b 12345, 'tis", "a|<=|b| |123|45|,| |'|tis"},
		{"deepseek-llm", "Hello Wörld 123, 中文\n  ", "Hello| W|ö|rld| |123|,| |中文|\n|  "},
		{"deepseek-llm", "5£  ", "5|£|  "},
		{"deepseek-coder", " foo(12)\r\nв中", " foo|(|1|2|)|\r|\n|в|中"},
		{"gemma4", "a b\n\nc\n", "a b|\n\n|c|\n"},
		{"default", "x+y 12345", "x|+|y| |123|45"},
		{"olmo", "", ""},
	}
	for _, c := range tests {
		pieces := []string{c.text}
		for _, s := range presetByName(c.name).stages {
			var next []string
			for _, p := range pieces {
				next = append(next, handSplit(s.split, p)...)
			}
			pieces = next
		}
		if got := strings.Join(pieces, "|"); got != c.want {
			t.Errorf("%s, %q:\n got %q\nwant %q", c.name, c.text, got, c.want)
		}
	}
}

// The table of classes does not follow the toolchain unseen: other numbers here mean that other text is split
// otherwise.
func TestClasses(t *testing.T) {
	loadClasses()
	got := map[class]int{}
	for r := rune(0); r <= 0x10FFFF; r++ {
		has := classOf(r)
		for c := letter; c <= space; c <<= 1 {
			if has&c != 0 {
				got[c]++
			}
		}
	}
	want := map[class]int{letter: 136726, number: 1831, mark: 2450, punct: 842, symbol: 7775, space: 25} // of Unicode 15.1
	for c, n := range want {
		if got[c] != n {
			t.Errorf("class %#x has %d characters, want %d", c, got[c], n)
		}
	}
	for r, c := range map[rune]class{'a': letter, 'É': letter, '中': letter, '7': number, '½': number, '\u0301': mark,
		'.': punct, '$': symbol,
		'\u00a0': space, '\u3000': space, '\u0085': space, '\u200b': 0, '\u0378': 0, '\x1c': 0, 0x2EBF0: letter,
		0x2EE5E: 0, 0x31EF: symbol, 0x20000: letter} {
		if classOf(r) != c {
			t.Errorf("class of %U is %#x, want %#x", r, classOf(r), c)
		}
	}
}

// What the hand-made splitter is for.
func BenchmarkSplit(b *testing.B) {
	loadClasses()
	text := megabyte(prose)
	b.Run("by hand", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			stageLlama3.split.split(text, 0, nil)
		}
	})
	b.Run("regexp2", func(b *testing.B) {
		re := compile(stageLlama3.pattern)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			patternSplit(b, re, text)
		}
	})
}
