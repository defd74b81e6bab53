package grammar

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What each piece of the notation stands for.
func TestNotation(t *testing.T) {
	tests := []struct {
		name    string
		src     string
		in, out []string // texts of the grammar, and others
	}{
		{"literal", `root ::= "abc"`, []string{"abc"}, []string{"", "ab", "abcd", "Abc"}},
		{"empty literal", `root ::= ""`, []string{""}, []string{"a"}},
		{"nothing", "root ::=\n", []string{""}, []string{"a"}},
		{"sequence", `root ::= "a" "b"  "c"`, []string{"abc"}, []string{"a b", "ab"}},
		{"alternatives", `root ::= "a" | "b" | "cd"`, []string{"a", "b", "cd"}, []string{"", "c", "ab"}},
		{"empty alternative", `root ::= "a" | `, []string{"a", ""}, []string{"b"}},
		{"escapes", `root ::= "\n\t\r\\\"\[\]\x41\u00e9\U0001F600"`, []string{"\n\t\r\\\"[]Aé😀"}, []string{"n"}},
		{"escape of a code point", `root ::= "\xFF"`, []string{"ÿ"}, []string{"\xFF"}},
		{"zero", `root ::= "\x00"`, []string{"\x00"}, []string{""}},
		{"raw line end in a literal", "root ::= \"a\nb\"", []string{"a\nb"}, []string{"ab"}},
		{"class", `root ::= [a-cx0-9]`, []string{"a", "b", "c", "x", "0", "9"}, []string{"", "d", "-", "ax"}},
		{"negated", `root ::= [^a-c\n]`, []string{"d", "é", "😀", "\x00", "]"},
			[]string{"a", "b", "\n", "", "\xFF", "\xED\xA0\x80"}},
		{"minus at the end", `root ::= [a-]+`, []string{"a-", "-"}, []string{"b"}},
		{"minus at the front", `root ::= [-a]+`, []string{"a-"}, []string{"b"}},
		{"caret inside", `root ::= [a^]+`, []string{"a^"}, []string{"b"}},
		{"bracket escaped", `root ::= [\]\[\-]+`, []string{"][-"}, []string{"a", `\`}},
		{"quote in a class", `root ::= ["]`, []string{`"`}, []string{"a"}},
		{"range of others", `root ::= [ぁ-ゟ]+`, []string{"ぁあゟ"}, []string{"a", "ア"}},
		{"any", `root ::= .`, []string{"a", "\n", "é", "😀"},
			[]string{"", "ab", "\x80", "\xC0\x80", "\xF4\x90\x80\x80"}},
		{"rules", "root ::= a-1 B_2\na-1 ::= \"x\"\nB_2 ::= \"y\"", []string{"xy"}, []string{"x"}},
		{"rule before its definition", "b ::= a\na ::= \"x\"\nroot ::= b b", []string{"xx"}, []string{"x"}},
		{"rule of digits", "root ::= 1\n1 ::= \"x\"", []string{"x"}, []string{"1"}},
		{"group", `root ::= ("a" | "b") "c"`, []string{"ac", "bc"}, []string{"a", "c"}},
		{"group over lines", "root ::= (\n \"a\" # one\n | \"b\"\n)", []string{"a", "b"}, []string{"ab"}},
		{"empty group", `root ::= "a" () "b"`, []string{"ab"}, []string{"a"}},
		{"after |", "root ::= \"a\" |\n\n  \"b\"", []string{"a", "b"}, nil},
		{"after ::=", "root ::=\n  \"a\"", []string{"a"}, nil},
		{"comments", "# first\nroot ::= \"a\" # then\n# more\n", []string{"a"}, []string{"#"}},
		{"carriage returns", "root ::= a\r\na ::= \"x\"\r\n", []string{"x"}, nil},
		{"no blanks", `root::="a"|"b"`, []string{"a", "b"}, nil},
		{"star", `root ::= "ab"*`, []string{"", "ab", "abab"}, []string{"a", "aba"}},
		{"plus", `root ::= "ab"+`, []string{"ab", "abab"}, []string{"", "a"}},
		{"question mark", `root ::= "ab"?`, []string{"", "ab"}, []string{"abab"}},
		{"{m}", `root ::= "a"{3}`, []string{"aaa"}, []string{"aa", "aaaa"}},
		{"{m,}", `root ::= "a"{2,}`, []string{"aa", "aaaaa"}, []string{"a", ""}},
		{"{m,n}", `root ::= "a"{ 1 , 2 }`, []string{"a", "aa"}, []string{"", "aaa"}},
		{"{0,n}", `root ::= "a"{0,2}`, []string{"", "a", "aa"}, []string{"aaa"}},
		{"{0}", `root ::= "b" "a"{0}`, []string{"b"}, []string{"ba"}},
		{"many", `root ::= [a-z]{1048576}`, nil, []string{"a"}},
		{"repeated repetition", `root ::= "a"{2}{2}`, []string{"aaaa"}, []string{"aa", "aaa", "aaaaa"}},
		{"repetition of what may be nothing", `root ::= ("a"?)* "b"`, []string{"b", "aab"}, []string{"a"}},
		{"bounded, of what may be nothing", `root ::= ("a"? "b"?){2,3}`,
			[]string{"", "a", "ab", "ababab", "bbb", "abb"}, []string{"abababa", "bbbb"}},
		{"all but one may be nothing", "root ::= a b\na ::= \"x\"?\nb ::= a a \"y\" a", []string{"y", "xy", "xxxyx"},
			[]string{"xxxxy", "yxx"}},
		{"recursion", `root ::= "(" root ")" | "x"`, []string{"x", "((x))"}, []string{"((x)", "()"}},
		{"recursion at the end", "root ::= \"a\" root | \"b\"", []string{"b", "aaab"}, []string{"a"}},
		{"two recursions", "root ::= \"[\" (root (\",\" root)*)? \"]\"", []string{"[]", "[[],[[]]]"},
			[]string{"[,]", "[[]"}},
		{"ambiguous", `root ::= ("a" | "aa" | "a" "a")+ "b"`, []string{"ab", "aaaab"}, []string{"b"}},
		{"surrogates within a range", "root ::= [\\uD000-\\uE000]", []string{"\ud000", "\ue000"},
			[]string{"\xED\xA0\x80"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := mustParse(t, test.src)
			for _, text := range test.in {
				if !matches(g, text) {
					t.Errorf("%q is not matched", text)
				}
			}
			for _, text := range test.out {
				if matches(g, text) {
					t.Errorf("%q is matched", text)
				}
			}
		})
	}
}

func TestRejectGrammar(t *testing.T) {
	deep := func(n int) string {
		return "root ::= " + strings.Repeat("(", n) + `"a"` + strings.Repeat(")", n)
	}
	mustParse(t, deep(maxDepth))
	tests := []struct {
		name      string
		src       string
		line, col int
		want      string
	}{
		{"empty", "", 1, 1, `there is no rule "root"`},
		{"no root", "a ::= \"x\"", 1, 1, `there is no rule "root"`},
		{"unknown rule", "root ::= \"a\"\n  # é\nb ::= \"é\" c d\nd ::= \"\"", 3, 11, `there is no rule "c"`},
		{"defined twice", "root ::= \"a\"\n\nroot ::= \"b\"", 3, 1, `rule "root" is defined twice, first in line 1`},
		{"no name", "::= \"a\"", 1, 1, "found ':', expected the name of a rule"},
		{"no ::=", "root := \"a\"", 1, 6, "found ':', expected ::="},
		{"ends before ::=", "root", 1, 5, "the text ends, expected ::="},
		{"bar in a new line", "root ::= \"a\"\n| \"b\"", 2, 1, "goes on over the end of a line only after ::= or |"},
		{"stray )", "root ::= \"a\" )", 1, 14, "found ')', expected an item, | or the end of the line"},
		{"stray }", "root ::= \"a\" }", 1, 14, "found '}', expected an item"},
		{"missing )", "root ::= (\"a\"", 1, 14, "the text ends, expected an item, | or )"},
		{"literal open", `root ::= "abc`, 1, 14, "the text ends, expected a character"},
		{"class open", `root ::= [abc`, 1, 14, "the text ends, expected a character"},
		{"range open", `root ::= [a-`, 1, 13, "the text ends, expected a character"},
		{"class empty", `root ::= "x" []`, 1, 14, "the class has no characters"},
		{"negated class empty", `root ::= [^]`, 1, 10, "the class has no characters"},
		{"class of nothing", `root ::= [^\x00-\U0010FFFF]`, 1, 10, "no character is in this class"},
		{"class of surrogates", `root ::= [\uD800-\uDFFF]`, 1, 10, "no character is in this class"},
		{"range backwards", `root ::= [a-cz-x]`, 1, 14, "the range 'z' to 'x' runs backwards"},
		{"unknown escape", `root ::= "\q"`, 1, 12, `found 'q', expected one of n t r \ " [ ] - x u U`},
		{"escape at the end", `root ::= "\`, 1, 12, "the text ends, expected one of"},
		{"hexadecimal", `root ::= "\x4g"`, 1, 14, "found 'g', expected a hexadecimal digit"},
		{"hexadecimal open", `root ::= "\u00`, 1, 15, "the text ends, expected a hexadecimal digit"},
		{"past Unicode", `root ::= "\U00110000"`, 1, 11, `found \U00110000, expected at most U+10FFFF`},
		{"surrogate", `root ::= "a\uD800"`, 1, 12, "found the surrogate U+D800, expected a character"},
		{"nothing to repeat", `root ::= * "a"`, 1, 10, "found '*', expected an item before what repeats it"},
		{"nothing to repeat in a group", `root ::= "a" ({2})`, 1, 15, "found '{', expected an item"},
		{"nothing to repeat after |", `root ::= "a" | ?`, 1, 16, "found '?', expected an item"},
		{"no number", `root ::= "a"{}`, 1, 14, "found '}', expected a number"},
		{"no second number", `root ::= "a"{1,x}`, 1, 16, "found 'x', expected a number"},
		{"open {", `root ::= "a"{1`, 1, 15, "the text ends, expected }"},
		{"negative", `root ::= "a"{-1}`, 1, 14, "found '-', expected a number"},
		{"numbers backwards", `root ::= "a"{3,2}`, 1, 14,
			"found {3,2}, expected the second number not below the first"},
		{"too many", `root ::= "a"{1048577}`, 1, 14, "found 1048577 repetitions, expected at most 1048576"},
		{"far too many", `root ::= "a"{0,99999999999999999999999999}`, 1, 16,
			"found 99999999999999999999999999 repetitions"},
		{"token", `root ::= <think>`, 1, 10, "tokens cannot be named"},
		{"token by id", `root ::= "a" !<[7]>`, 1, 14, "tokens cannot be named"},
		{"not UTF-8", "root ::= \"a\" \xff", 1, 14, "found byte 0xff, expected UTF-8"},
		{"zero byte", "root ::= \"a\" \x00", 1, 14, "found a zero byte"},
		{"too deep", deep(maxDepth + 1), 1, 10 + maxDepth, "parentheses are nested more than 200 deep"},
		{"too long", "root ::= \"" + strings.Repeat("a", maxSource) + "\"", 1, 1, "bytes, expected at most 2097152"},
		{"too many items", "root ::= " + strings.Repeat("a ", maxItems+1), 1, 10 + 2*maxItems,
			"more than 262144 items"},
		{"left recursion", `root ::= root "a" | "b"`, 1, 1,
			`rule "root" begins with itself (left recursion): root -> root`},
		{"left recursion by way of others", "root ::= a\na ::= b? c\nb ::= \"x\"\nc ::= (\"y\"? a | \"z\")", 2, 1,
			`rule "a" begins with itself (left recursion): a -> c -> a`},
		{"left recursion behind nothing", `root ::= ""  ("x"*){2} root "a" | "b"`, 1, 1, "left recursion"},
		{"left recursion in a repetition", `root ::= (root "a")* "b"`, 1, 1, "left recursion"},
		{"left recursion of an unused rule", "root ::= \"a\"\nb ::= b \"x\" | \"y\"", 2, 1,
			`rule "b" begins with itself`},
		{"never ends", `root ::= "a" root`, 1, 1, `rule "root" never ends: root -> root`},
		{"two that never end", "root ::= \"a\" | b\nb ::= \"x\" c{2}\nc ::= \"y\" b", 2, 1,
			`rule "b" never ends: b -> c -> b`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.src)
			var e *SyntaxError
			if !errors.As(err, &e) || e.Line != test.line || e.Column != test.col ||
				!strings.Contains(e.Msg, test.want) {
				t.Fatalf("got %v, want line %d, column %d: %s", err, test.line, test.col, test.want)
			}
			if want := fmt.Sprintf("grammar: line %d, column %d: %s", e.Line, e.Column, e.Msg); err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}

// Grammars that are legal and would be large, or long in the making, if they were taken literally.
func TestHostileGrammars(t *testing.T) {
	var chain, back, ways strings.Builder
	const n = 20000
	for i := range n {
		fmt.Fprintf(&chain, "r%d ::= r%d\n", i, i+1)
	}
	for i := 5000; i > 0; i-- {
		fmt.Fprintf(&back, "r%d ::= r%d? \"x\"?\n", i, i-1)
	}
	for i := range 60 {
		fmt.Fprintf(&ways, "w%d ::= w%d \"a\" | w%d \"b\"\n", i, i+1, i+1)
	}
	tests := []struct {
		name, src string
		in        string
		hard      bool // may be refused while it is matched
	}{
		{"nested repetitions", `root ::= ((((("a"{1000}){1000}){1000}){1000}){1000}){1000}`, strings.Repeat("a", 5000),
			false},
		{"repetitions of what may be nothing", `root ::= ((((("a"*)*)*)*)*)*`, strings.Repeat("a", 500), false},
		{"question marks", `root ::= "a"` + strings.Repeat("?", 100000), "a", false},
		{"a long chain of rules", "root ::= r0\n" + chain.String() + fmt.Sprintf("r%d ::= \"x\"\n", n), "x", false},
		{"a chain defined backwards", "root ::= r5000\n" + back.String() + "r0 ::= \"x\"", "xxxx", false},
		{"2**60 derivations at once", "root ::= w0\n" + ways.String() + "w60 ::= \"x\"\n", "xab", true},
		{"2**60 ways to stand for nothing",
			"root ::= w0 \"x\"\n" + strings.NewReplacer(` "a"`, " w60 w60", ` "b"`, " w60").Replace(ways.String()) +
				"w60 ::= \"\"\n", "x", true},
		{"the same rule twice, 60 deep", "root ::= w0\n" +
			strings.NewReplacer(` "a"`, "", ` "b"`, "").Replace(ways.String()) + "w60 ::= \"x\"\n", "x", false},
		{"many optional items", "root ::= " + strings.Repeat(`"a"? `, 3000), strings.Repeat("a", 200), false},
		{"ambiguous repetition", `root ::= ("a"? "a"? "a"?)* "b"`, strings.Repeat("a", 300), false},
		{"many classes", "root ::= [" + manyRunes(30000) + "]+", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := mustParse(t, test.src).Matcher()
			err := m.Advance([]byte(test.in))
			if test.hard && !errors.Is(err, errTooComplex) {
				t.Errorf("got %v, want %v", err, errTooComplex)
			}
			if !test.hard && err != nil {
				t.Error(err)
			}
		})
	}
}

// manyRunes returns characters of which no two are neighbours.
func manyRunes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(0x10000 + 2*i))
	}
	return b.String()
}
