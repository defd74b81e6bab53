package storymodel_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/engine"
	"cera/internal/storymodel"
	"cera/sample"
	"cera/tokenizer"
)

// builtIn loads the built-in model.
func builtIn(t *testing.T) (*engine.Engine, *tokenizer.Tokenizer) {
	t.Helper()
	f, err := storymodel.Open()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Load(f, engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	tok, err := e.Tokenizer(tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e, tok
}

// readJSON reads a file of the model's folder.
func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("model", name))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type run struct {
	Parameters int     `json:"parameters"`
	Loss       float64 `json:"held_out_loss"`
	Perplexity float64 `json:"held_out_perplexity"`
}

// The file is what its figures say.
func TestModelFile(t *testing.T) {
	const limit = 1_500_000
	info, err := os.Stat(filepath.Join("model", storymodel.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var v storymodel.Verdict
	readJSON(t, storymodel.JudgeName, &v)
	if info.Size() > limit || info.Size() != v.FileBytes {
		t.Errorf("%d bytes, expected at most %d, and the %d of %s", info.Size(), limit, v.FileBytes,
			storymodel.JudgeName)
	}
	f, err := storymodel.Open()
	if err != nil {
		t.Fatal(err)
	}
	elements := 0
	for i := range f.Tensors {
		elements += f.Tensors[i].N() * f.Tensors[i].Rows()
	}
	var r run
	readJSON(t, storymodel.RunName, &r)
	if elements != r.Parameters {
		t.Errorf("%d parameters, %s has %d", elements, storymodel.RunName, r.Parameters)
	}
	if math.Abs(math.Exp(r.Loss)-r.Perplexity) > 1e-9*r.Perplexity {
		t.Errorf("%s has loss %v and perplexity %v", storymodel.RunName, r.Loss, r.Perplexity)
	}
	b, err := os.Open(filepath.Join("model", storymodel.CurveName))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	curve, err := csv.NewReader(b).ReadAll()
	if err != nil || len(curve) < 2 {
		t.Fatalf("%s: %d lines (%v)", storymodel.CurveName, len(curve), err)
	}
	last := curve[len(curve)-1]
	if got, want := last[len(last)-1], fmt.Sprintf("%.5f", r.Loss); got != want {
		t.Errorf("%s ends with a held-out loss of %s, %s has %s", storymodel.CurveName, got, storymodel.RunName, want)
	}
}

func TestReadmeHasFigures(t *testing.T) {
	table, err := storymodel.Figures("model")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := storymodel.ReplaceFigures(string(b), table)
	if err != nil || want != string(b) {
		t.Errorf("README.md does not have the figures of the model's folder (%v): run make figures", err)
	}
}

// The perplexity that PyTorch measured is the one that Cera measures, but for the choice of a few stories and Q8_0.
func TestModelPerplexity(t *testing.T) {
	e, tok := builtIn(t)
	var data storymodel.Counts
	readJSON(t, storymodel.CountsName, &data)
	var r run
	readJSON(t, storymodel.RunName, &r)
	sum, n := 0.0, 0
	for _, text := range storymodel.HeldOut(data.Seed, 16) {
		ids := storymodel.EncodeStory(tok, text)
		e.Reset()
		logits, err := e.Logits(context.Background(), ids[:len(ids)-1])
		if err != nil {
			t.Fatal(err)
		}
		for p, id := range ids[1:] {
			row := logits[p*tok.Len() : (p+1)*tok.Len()]
			top, all := float64(slices.Max(row)), 0.0
			for _, v := range row {
				all += math.Exp(float64(v) - top)
			}
			sum += math.Log(all) + top - float64(row[id])
			n++
		}
	}
	if got := math.Exp(sum / float64(n)); !(math.Abs(got-r.Perplexity) <= 0.1*r.Perplexity) {
		t.Errorf("perplexity %.4f on 16 held-out stories, %s has %.4f", got, storymodel.RunName, r.Perplexity)
	}
}

// What it writes has about as few faults as the figures say.
func TestModelWrites(t *testing.T) {
	e, tok := builtIn(t)
	s, err := e.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var v storymodel.Verdict
	readJSON(t, storymodel.JudgeName, &v)
	const stories = 8
	faultless, ended := 0.0, 0.0
	for i := range uint64(stories) {
		var b strings.Builder
		o := engine.GenerateOptions{Sample: sample.Params{Temperature: v.Temperature, Seed: 1000 + i}}
		why, _, err := s.Generate(context.Background(), tok, []int32{tok.BOS()}, o, func(g engine.Generated) error {
			b.WriteString(g.Text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if why == engine.FinishEnd {
			ended++
		}
		text := strings.TrimSpace(b.String())
		if faults := storymodel.Faults(text); len(faults) == 0 {
			faultless++
		} else {
			t.Logf("%v in: %s", faults, text)
		}
	}
	// A third less than the share of all is beyond chance where nearly all are without faults.
	if faultless/stories < v.Model.Faultless-1.0/3 || ended/stories < float64(v.Ended)/float64(v.Model.Stories)-1.0/3 {
		t.Errorf("%v of %d stories are without faults and %v end, the figures say %.2f and %d of %d",
			faultless, stories, ended, v.Model.Faultless, v.Ended, v.Model.Stories)
	}
}
