package shaders

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// files makes a file system of name, text pairs.
func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func TestSource(t *testing.T) {
	tests := []struct {
		name    string
		defines map[string]string
		text    string
		want    string // blank lines left out
	}{
		{"plain", nil, "a\nb", "a|b"},
		{"carriage returns", nil, "#define A 1\r\nA;\r\nb\r\n", "1;|b"},
		{"define", nil, "#define A 1\nA A+A B", "1 1+1 B"},
		{"define without value", nil, "#define A\n[A]", "[]"},
		{"define with comment", nil, "#define A 1 // one /* */\n#define B 2 /* two */ + 2\nA B", "1 2   + 2"},
		{"whole names only", nil, "#define A 1\nAA A_ _A xA A1 1A 0xA 1.A é A", "AA A_ _A xA A1 1A 0xA 1.A é 1"},
		{"number suffix", nil, "#define u 9\n#define e5 7\n1u u 1e5 e5", "1u 9 1e5 7"},
		{"chain", nil, "#define A B\n#define B C\n#define C 3\nA", "3"},
		{"defined later", nil, "A\n#define A 1\nA", "A|1"},
		{"undef", nil, "#define A 1\n#undef A\n#undef A\nA", "A"},
		{"redefined alike", nil, "#define A 1\n#define A  1\nA", "1"},
		{"self-reference", nil, "#define A A + 1\nA", "A + 1"},
		{"mutual reference", nil, "#define A B x\n#define B A y\nA B", "A y x B x y"},
		{"caller wins", map[string]string{"A": "7"}, "#define A 1\n#undef A\n#define A 2\nA", "7"},
		{"ifdef", map[string]string{"A": ""}, "#ifdef A\n1\n#else\n2\n#endif\n#ifndef A\n3\n#else\n4\n#endif", "1|4"},
		{"spaced directives", map[string]string{"A": "1"}, "  #  ifdef   A // why\n1\n\t#endif // A", "1"},
		{"elif takes the first", map[string]string{"A": "2"},
			"#if A == 1\n1\n#elif A == 2\n2\n#elif A == 2\n3\n#else\n4\n#endif", "2"},
		{"else", map[string]string{"A": "9"}, "#if A == 1\n1\n#elif A == 2\n2\n#else\n4\n#endif", "4"},
		{"nested", map[string]string{"A": "1"}, "#ifdef A\n#ifdef B\n1\n#else\n2\n#endif\n3\n#endif", "2|3"},
		{"nested in what is left out", nil, "#ifdef A\n#if 1/0\n1\n#elif 1/0\n2\n#else\n3\n#endif\n#endif\n4", "4"},
		{"elif after a taken branch is not evaluated", nil, "#if 1\n1\n#elif 1/0\n2\n#endif", "1"},
		{"left out defines", nil, "#ifdef A\n#define B 1\n#undef C\n#include \"none\"\n#endif\nB", "B"},
		{"comments are not expanded", nil, "#define A 1\nA // A\nA /* A\nA /* A */ A */ A", "1 // A|1 /* A|A /* A */ A */ 1"},
		{"no directive in a comment", nil, "/*\n#define A 1\n*/\nA", "/*|#define A 1|*/|A"},
		{"no comment in what is left out", nil, "#if 0\n/*\n#endif\n1", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := SourceFS(files("main", tt.text), Program{File: "main", Defines: tt.defines})
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(s.WGSL, "\n"), "\n")
			if want := strings.Count(strings.TrimSuffix(tt.text, "\n"), "\n") + 1; len(lines) != want {
				t.Errorf("%d lines, want %d as in the template", len(lines), want)
			}
			var kept []string
			for _, line := range lines {
				if line != "" {
					kept = append(kept, line)
				}
			}
			if d := cmp.Diff(tt.want, strings.Join(kept, "|")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	defines := map[string]string{"ONE": "1", "SIX": "(2 * THREE)", "THREE": "3", "EMPTY": "", "HEX": "0x10u"}
	tests := []struct {
		expr string
		want bool
	}{
		{"1", true}, {"0", false}, {"-1", true}, {"!1", false}, {"!0", true}, {"!!5", true}, {"UNKNOWN", false},
		{"ONE", true}, {"ONE - 1", false}, {"2 + 3 * 4 == 14", true}, {"(2 + 3) * 4 == 20", true},
		{"10 - 3 - 2 == 5", true}, {"100 / 10 / 5 == 2", true}, {"7 % 4 == 3", true}, {"-7 / 2 == -3", true},
		{"1 < 2", true}, {"2 < 1", false}, {"2 <= 2", true}, {"3 > 2", true}, {"2 >= 3", false}, {"1 != 1", false},
		{"1 == 1 == 1", true}, {"3 > 2 > 1", false},
		{"0 || 1 && 0", false}, {"1 || 0 && 0", true}, {"(1 || 0) && 0", false},
		{"1 || 1/0", true}, {"0 && 1%0", false}, {"0 && (1 || 1/0)", false},
		{"SIX == 6", true}, {"SIX/THREE==2", true}, {"HEX == 16", true}, {"0xFFu == 255", true}, {"12i == 12", true},
		{"defined(ONE)", true}, {"defined ONE", true}, {"defined ( UNKNOWN )", false}, {"!defined UNKNOWN", true},
		{"defined(EMPTY) && !defined(UNKNOWN)", true}, {"defined(ONE)+defined(SIX) == 2", true},
		{"--1 == 1", true}, {"+2 == 2", true}, {"1 // 0", true}, {"1 /* + */ - 1", false},
		{"9223372036854775807 + 1 < 0", true}, // wraps
	}
	for _, tt := range tests {
		text := fmt.Sprintf("#if %s\ntrue\n#else\nfalse\n#endif\n", tt.expr)
		s, err := SourceFS(files("main", text), Program{File: "main", Defines: defines})
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		if got := strings.TrimSpace(s.WGSL); got != fmt.Sprint(tt.want) {
			t.Errorf("%s is %s, want %v", tt.expr, got, tt.want)
		}
	}
}

func TestSourceRejects(t *testing.T) {
	deep := []string{"main", `#include "d1"`}
	for i := 1; i < 40; i++ {
		deep = append(deep, fmt.Sprintf("d%d", i), fmt.Sprintf(`#include "d%d"`, i+1))
	}
	var doubling, wide strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, "#define A%d A%d A%d\n", i, i+1, i+1)
	}
	for range 300 {
		wide.WriteString("#include \"x\"\n")
	}
	tests := []struct {
		name  string
		files fs.FS
		where string
		what  string
	}{
		{"unknown directive", files("main", "\n#pragma once"), "main:2", "unknown directive #pragma"},
		{"unknown directive left out", files("main", "#if 0\n#edif\n#endif"), "main:2", "unknown directive #edif"},
		{"bare hash", files("main", "#"), "main:1", "unknown directive"},
		{"unterminated if", files("main", "a\n#if 1\n#ifdef B\n#endif\n"), "main:2", "without #endif"},
		{"unterminated in include", files("main", `#include "x"`, "x", "\n#ifdef A"), "x:2", "without #endif"},
		{"stray endif", files("main", "#endif"), "main:1", "#endif without #if"},
		{"stray else", files("main", "#else"), "main:1", "#else without #if"},
		{"stray elif", files("main", "#elif 1"), "main:1", "#elif without #if"},
		{"two elses", files("main", "#if 1\n#else\n#else\n#endif"), "main:3", "after the #else"},
		{"elif after else", files("main", "#if 1\n#else\n#elif 1\n#endif"), "main:3", "after the #else"},
		{"text after endif", files("main", "#if 1\n#endif X"), "main:2", `"X" after #endif`},
		{"text after else", files("main", "#if 1\n#else X\n#endif"), "main:2", `"X" after #else`},
		{"ifdef without name", files("main", "#ifdef\n#endif"), "main:1", "one name"},
		{"ifdef of two names", files("main", "#ifdef A B\n#endif"), "main:1", "one name"},
		{"open comment", files("main", "a\n/* b\n/* c */\n"), "main:2", "comment without end"},
		{"define without name", files("main", "#define"), "main:1", "wants a name"},
		{"define of a number", files("main", "#define 1 2"), "main:1", "wants a name"},
		{"define of defined", files("main", "#define defined 1"), "main:1", "wants a name"},
		{"function-like", files("main", "#define F(x) x"), "main:1", "parameters"},
		{"no space", files("main", "#define A+1"), "main:1", "no space"},
		{"redefined", files("main", "#define A 1\n\n#define A 2"), "main:3", "since main:1"},
		{"undef without name", files("main", "#undef"), "main:1", "one name"},
		{"missing include", files("main", "a\n#include \"none\""), "main:2", "none"},
		{"include without quotes", files("main", "#include <x>"), "main:1", "wants a \"file\""},
		{"include of a path outside", files("main", `#include "../x"`), "main:1", "wants a \"file\""},
		{"include inside a function", files("main", "fn f() {\n#include \"x\"\n}", "x", ""), "main:2", "inside a declaration"},
		{"include of itself", files("main", "#include \"main\""), "main:1", "includes itself"},
		{"include in a ring", files("main", `#include "x"`, "x", "\n#include \"main\""), "x:2", "main > x > main"},
		{"deep includes", files(deep...), "d15:1", "deeper than 16"},
		{"many includes", files("main", wide.String(), "x", ""), "main:257", "more than 256"},
		{"division by zero", files("main", "#if 1 / 0\n#endif"), "main:1", "division by zero"},
		{"remainder by zero", files("main", "#if 0\n#elif 1 % (1 - 1)\n#endif"), "main:2", "division by zero"},
		{"empty condition", files("main", "#if\n#endif"), "main:1", "missing at the end"},
		{"dangling operator", files("main", "#if 1 +\n#endif"), "main:1", "missing at the end"},
		{"two values", files("main", "#if 1 2\n#endif"), "main:1", `"2" after the end`},
		{"open parenthesis", files("main", "#if (1\n#endif"), "main:1", "( without )"},
		{"stray parenthesis", files("main", "#if 1)\n#endif"), "main:1", "after the end"},
		{"unknown operator", files("main", "#if 1 & 2\n#endif"), "main:1", "after the end"},
		{"no value", files("main", "#if * 2\n#endif"), "main:1", "missing before"},
		{"fraction", files("main", "#if 1.5\n#endif"), "main:1", "not an integer"},
		{"too large", files("main", "#if 9223372036854775808\n#endif"), "main:1", "not an integer"},
		{"defined without name", files("main", "#if defined()\n#endif"), "main:1", "wants a name"},
		{"defined without )", files("main", "#if defined(A\n#endif"), "main:1", "without )"},
		{"defined from a macro", files("main", "#define D defined\n#if D X\n#endif"), "main:2", "out of a macro"},
		{"deep condition", files("main", "#if "+strings.Repeat("(", 1000)+"\n#endif"), "main:1", "nested deeper"},
		{"deep conditionals", files("main", strings.Repeat("#if 1\n", 100)), "main:65", "nested deeper"},
		{"doubling macros", files("main", doubling.String()+"A0"), "main:61", "expands past"},
		{"doubling in a condition", files("main", doubling.String()+"#if A0\n#endif"), "main:61", "expands past"},
		{"long output", files("main", strings.Repeat("x\n", 1<<20)), "main:524289", "grows past"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := SourceFS(tt.files, Program{File: "main"})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want an *Error", err)
			}
			if !strings.HasPrefix(err.Error(), tt.where+": ") || !strings.Contains(err.Error(), tt.what) {
				t.Errorf("error %q, want %s: ...%s...", err, tt.where, tt.what)
			}
		})
	}
}

func TestSourceRejectsProgram(t *testing.T) {
	tests := []struct {
		name string
		p    Program
		what string
	}{
		{"missing file", Program{File: "none"}, "none"},
		{"number as define", Program{File: "main", Defines: map[string]string{"1A": ""}}, "not a name"},
		{"define with parameters", Program{File: "main", Defines: map[string]string{"A(x)": ""}}, "not a name"},
		{"value of two lines", Program{File: "main", Defines: map[string]string{"A": "1\n2"}}, "spans lines"},
		{"value with comment", Program{File: "main", Defines: map[string]string{"A": "1 /*"}}, "comment"},
	}
	for _, tt := range tests {
		if _, err := SourceFS(files("main", ""), tt.p); err == nil || !strings.Contains(err.Error(), tt.what) {
			t.Errorf("%s: error %v, want ...%s...", tt.name, err, tt.what)
		}
	}
}

// nested has includes in the middle of both files, one of which sets what the rest of the main file depends on.
var nested = files(
	"main.wgsl", "first\n#include \"x.tmpl\"\nB\n#ifdef B\nlast\n#endif\n",
	"x.tmpl", "x1\n#include \"y.tmpl\"\nx3 B\n",
	"y.tmpl", "#define B 5\n\ny3\n",
)

func TestIncludeAndOrigin(t *testing.T) {
	s, err := SourceFS(nested, Program{File: "main.wgsl"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("first\n\n5\n\nlast\n\nx1\n\nx3 5\n\n\ny3\n", s.WGSL); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	tests := []struct {
		line int
		file string
		want int
	}{
		{1, "main.wgsl", 1}, {3, "main.wgsl", 3}, {6, "main.wgsl", 6}, {7, "x.tmpl", 1}, {9, "x.tmpl", 3},
		{10, "y.tmpl", 1}, {12, "y.tmpl", 3}, {13, "", 0}, {0, "", 0}, {-1, "", 0},
	}
	for _, tt := range tests {
		if file, line := s.Origin(tt.line); file != tt.file || line != tt.want {
			t.Errorf("Origin(%d) = %s:%d, want %s:%d", tt.line, file, line, tt.file, tt.want)
		}
	}
}

func TestExplain(t *testing.T) {
	s, err := SourceFS(nested, Program{File: "main.wgsl"})
	if err != nil {
		t.Fatal(err)
	}
	message := `Shader 'a' parsing error: no definition in scope for identifier: 'y3'
   ┌─ wgsl:12:1
   │
12 │ y3
   │ ^^ unknown identifier

 see wgsl:3:2, wgsl:99:1 and xwgsl:1:1
`
	want := `Shader 'a' parsing error: no definition in scope for identifier: 'y3'
   ┌─ y.tmpl:3:1
   │
 3 │ y3
   │ ^^ unknown identifier

 see main.wgsl:3:2, wgsl:99:1 and xwgsl:1:1
`
	if d := cmp.Diff(want, s.Explain(message)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func ExampleSource() {
	s, err := Source(FusedResidualRMSNorm{Tee: true}.Program())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Explain("unknown identifier at wgsl:55:5"))
	// Output: unknown identifier at fused_residual_rms_norm.wgsl:55:5
}

// FuzzSource: no template makes the preprocessor panic, loop or grow without bound, and every line of output has
// an origin.
func FuzzSource(f *testing.F) {
	f.Add("#define A B\n#define B A\n#if A || defined(C) && !C\nA\n#else\nB\n#endif\n", "x\n", "1")
	f.Add("#include \"x\"\n#include \"x\"\n", "#ifndef X\n#define X 1 + 2 * (3 / V)\n#endif\n", "0")
	f.Add("/* /* */\n#if -V % 3 >= 0x1u\n*/ //\n", "#elif", "2")
	f.Add("#define A A0 A0\n#define A0 A1 A1\n#define A1 V V\nA\n", "{\n#include \"main\"\n}", "A V")
	f.Fuzz(func(t *testing.T, text, include, value string) {
		p := Program{File: "main", Defines: map[string]string{"V": value}}
		s, err := SourceFS(files("main", text, "x", include), p)
		if err != nil {
			return
		}
		lines := strings.Count(s.WGSL, "\n")
		if len(s.WGSL) > maxOutput {
			t.Fatalf("%d bytes", len(s.WGSL))
		}
		for i := 1; i <= lines; i++ {
			file, line := s.Origin(i)
			if file != "main" && file != "x" || line < 1 {
				t.Fatalf("line %d of %d comes from %q:%d", i, lines, file, line)
			}
		}
		if file, _ := s.Origin(lines + 1); file != "" {
			t.Fatalf("line %d of %d comes from %s", lines+1, lines, file)
		}
		if again, err := SourceFS(files("main", text, "x", include), p); err != nil || again.WGSL != s.WGSL {
			t.Fatalf("a second run differs, error %v", err)
		}
	})
}
