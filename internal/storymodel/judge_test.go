package storymodel

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`Tom said, "I am here." He was.`, ""},
		{`Tom was  here.`, "doubled space"},
		{`Tom was here..`, "doubled mark"},
		{`Tom was here .`, "space before a mark"},
		{`Tom,you.`, "no space after a mark"},
		{`Tom was here. he sat.`, "small letter"},
		{`ToM was here.`, "capital in the middle"},
		{`Tom had a apple.`, "wrong article"},
		{`Tom had an pear.`, "wrong article"},
		{`Tom and and Ben.`, "doubled word"},
		{`Tom saw the him.`, "article before a pronoun"},
		{`Tom had {x}.`, "strange character"},
		{`Tom was`, "no sentence mark"},
		{`Tom said, "Yes"`, "no sentence mark"},
		{`Tom said, "Yes" and went.`, "closes without a mark"},
		{`Tom said, "Yes.`, "stays open"},
		{`Tom said, "Yes, "No."`, "opens within another"},
		{`Tom said, Yes."`, "that is not open"},
	} {
		got := strings.Join(Faults(tc.text), "; ")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%q: %q, expected %q", tc.text, got, tc.want)
		}
	}
}

func TestNamesOf(t *testing.T) {
	for _, tc := range []struct {
		text string
		want map[string]int
	}{
		{`Once there was a girl named Ida. Ida had a cat.`, map[string]int{"Ida": 2}},
		{`The cat was here. Then he sat.`, map[string]int{}},
		{`"Oh!" Tom cried. He saw Tom's mom. "I see, Mom," said Bo. "The end!" The cat ran.`,
			map[string]int{"Tom": 2, "Bo": 1}},
	} {
		if got := namesOf(tc.text); !maps.Equal(got, tc.want) {
			t.Errorf("%q: %v, expected %v", tc.text, got, tc.want)
		}
	}
}

func TestMeasure(t *testing.T) {
	j := NewJudge(1, 200)
	known := Story(trainSeed(1, 7))
	strange := `Once upon a time, Zog had a xylophone. zog sang to the house and the house sang to him.`
	m := j.Measure([]string{known, known, strange})
	n := len(strings.Fields(known))
	total, grams := 2*n+19, 2*(n-7)+12
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"stories", float64(m.Stories), 3},
		{"distinct", float64(m.Distinct), 2},
		{"words", m.MeanWords, float64(total) / 3},
		{"faultless", m.Faultless, 2.0 / 3},
		{"known words", m.KnownWords, float64(total-3) / float64(total)}, // Zog twice, and the xylophone
		{"copied", float64(m.CopiedWhole), 2},
		{"known grams", m.KnownGrams, float64(2*(n-7)) / float64(grams)},
		{"distinct grams", m.DistinctGram, 12 / float64(grams)},
	} {
		if math.Abs(tc.got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, expected %v", tc.name, tc.got, tc.want)
		}
	}
	if empty := j.Measure(nil); empty != (Measures{}) {
		t.Errorf("no stories measure %+v", empty)
	}
}

func TestCountGrammar(t *testing.T) {
	c := CountGrammar(1, 300)
	plotted := 0
	for _, n := range c.Plots {
		plotted += n
	}
	if c.Distinct != 300 || plotted != 300 || c.Words.Least < minWords || c.Words.Most > maxWords ||
		c.Words.All < 300*minWords {
		t.Errorf("counts %+v", c)
	}
	if !(c.Grams2 < c.Grams4 && c.Grams4 < c.Grams8 && c.Grams8 < c.Words.All) || !(c.New8 > 0.3 && c.New8 < 1) {
		t.Errorf("grams %d, %d, %d of %d words, %v of them new", c.Grams2, c.Grams4, c.Grams8, c.Words.All, c.New8)
	}
}

func TestFigures(t *testing.T) {
	dir := t.TempDir()
	if _, err := Figures(dir); err == nil || !strings.Contains(err.Error(), CountsName) {
		t.Errorf("error %v, expected one about %s", err, CountsName)
	}
	for name, text := range map[string]string{
		CountsName: `{"stories": 1234567, "words": 5, "tokens": 6}`,
		RunName:    `{"parameters": 1238656, "steps": 10, "seconds": 7.6, "held_out_perplexity": 1.5, "device": "a card"}`,
		JudgeName:  `{"temperature": 0.5, "ended": 9, "perplexity": 1.6, "file_bytes": 999, "model": {"stories": 11, "faultless": 0.5}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table, err := Figures(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1,238,656", "1,234,567 stories", "10 steps in 8 s on a card", "1.500", "1.600",
		"| 999 bytes |", "| 9 |", "50.0 %", "| 11 stories |"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	text, err := ReplaceFigures("a\n"+figuresBegin+"old\n"+figuresEnd+"b\n", table)
	if err != nil || text != "a\n"+figuresBegin+table+figuresEnd+"b\n" {
		t.Errorf("%q (%v)", text, err)
	}
	for _, bad := range []string{"", figuresBegin, figuresEnd} {
		if _, err := ReplaceFigures(bad, table); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
