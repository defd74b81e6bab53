package storymodel

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Files of a model's folder beside the GGUF file.
const (
	FileName  = "story.gguf"
	RunName   = "run.json"   // by train.py
	CurveName = "loss.csv"   // by train.py
	JudgeName = "judge.json" // by make judge
)

// run is what Figures takes from run.json.
type run struct {
	Parameters  int     `json:"parameters"`
	Steps       int     `json:"steps"`
	Tokens      int     `json:"tokens"`
	Seconds     float64 `json:"seconds"`
	Loss        float64 `json:"held_out_loss"`
	Perplexity  float64 `json:"held_out_perplexity"`
	BitsPerByte float64 `json:"held_out_bits_per_byte"`
	Device      string  `json:"device"`
	Torch       string  `json:"torch"`
}

// Verdict is what judge.json holds.
type Verdict struct {
	Temperature float64  `json:"temperature"`
	Ended       int      `json:"ended"` // stories that the model ended by itself
	Model       Measures `json:"model"`
	HeldOut     Measures `json:"held_out"`      // of the grammar's own, for comparison
	Perplexity  float64  `json:"perplexity"`    // of the held-out stories
	Scored      int      `json:"scored_tokens"` // of them
	FileBytes   int64    `json:"file_bytes"`
}

// Figures returns a table of what the files of a model's folder say: data.json, run.json, loss.csv and judge.json.
func Figures(dir string) (string, error) {
	var c Counts
	var r run
	var v Verdict
	for _, file := range []struct {
		name string
		into any
	}{{CountsName, &c}, {RunName, &r}, {JudgeName, &v}} {
		path := filepath.Join(dir, file.name)
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(b, file.into); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	var t strings.Builder
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&t, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	t.WriteString("| figure | value |\n|---|---|\n")
	row("parameters", "%s", thousands(r.Parameters))
	row("file", "%s bytes", thousands(int(v.FileBytes)))
	row("trained on", "%s stories, %s words, %s tokens; the run read %s tokens", thousands(c.Stories),
		thousands(c.Words), thousands(c.Tokens), thousands(r.Tokens))
	row("run", "%s steps in %.0f s on %s, PyTorch %s", thousands(r.Steps), r.Seconds, r.Device, r.Torch)
	row("held-out stories", "%s stories, %s tokens", thousands(c.HeldOutStories), thousands(c.HeldOutTokens))
	row("held-out perplexity a token", "%.3f (loss %.4f, %.4f bits a byte) in PyTorch", r.Perplexity, r.Loss,
		r.BitsPerByte)
	row("the same of "+FileName+" in Cera", "%.3f on %d stories", v.Perplexity, v.HeldOut.Stories)
	row("loss curve", "%s", CurveName)
	fmt.Fprintf(&t, "\n| %d stories | by the model, temperature %g | by the grammar, held out |\n|---|---|---|\n",
		v.Model.Stories, v.Temperature)
	both := func(what string, f func(Measures) string) {
		fmt.Fprintf(&t, "| %s | %s | %s |\n", what, f(v.Model), f(v.HeldOut))
	}
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	fmt.Fprintf(&t, "| end by themselves | %d | |\n", v.Ended)
	both("words a story", func(m Measures) string { return fmt.Sprintf("%.0f", math.Round(m.MeanWords)) })
	both("nothing wrong in form", func(m Measures) string { return percent(m.Faultless) })
	both("words that training stories have", func(m Measures) string { return percent(m.KnownWords) })
	both("names a story", func(m Measures) string { return fmt.Sprintf("%.2f", m.NamesAStory) })
	both("stories with a name that comes once", func(m Measures) string { return percent(m.StrayNames) })
	both("8-grams that training stories have", func(m Measures) string { return percent(m.KnownGrams) })
	both("copies of a training story", func(m Measures) string { return fmt.Sprint(m.CopiedWhole) })
	return t.String(), nil
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The marks between which README.md has the table.
const (
	figuresBegin = "<!-- figures: written by make figures -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// ReplaceFigures puts a table between the marks of a text.
func ReplaceFigures(text, table string) (string, error) {
	before, rest, ok := strings.Cut(text, figuresBegin)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(figuresBegin))
	}
	_, after, ok := strings.Cut(rest, figuresEnd)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(figuresEnd))
	}
	return before + figuresBegin + table + figuresEnd + after, nil
}
