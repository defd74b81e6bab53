package check

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/trace"
)

// TestPathsBound holds the sum of two runs at the edge of drift, one on each side, against the bound, and that half
// precision on one path is beyond it.
func TestPathsBound(t *testing.T) {
	half := 0x1p-11 / math.Sqrt(12)
	for _, blocks := range []int{0, 1, 2, 8, 19} {
		off := math.Sqrt(DriftBound(blocks))
		a, b := 1+off, 1-off
		nmse := (a - b) * (a - b) / (b * b)
		if bound := pathsBound(blocks, backend.F32); !(nmse <= bound*1.01) {
			t.Errorf("%d blocks: two runs within drift are %g apart, bound %g", blocks, nmse, bound)
		} else if n := math.Max(1, float64(blocks)); bound >= n*half*half && blocks > 0 {
			t.Errorf("%d blocks: the bound %g lets half precision pass, %g", blocks, bound, n*half*half)
		}
	}
}

// pathsOf makes paths of a made-up run; change spoils the data of a site on some of them.
func pathsOf(t *testing.T, change func(path, site string, data []float32) []float32) *PathsReport {
	t.Helper()
	s := goodSynth(t)
	var paths []Path
	for i, name := range []string{"one batch", "chunks", "token by token"} {
		tr := trace.New()
		for _, site := range s.Trace.Sites() {
			data, rows, n, _ := s.Trace.Data(site)
			data = slices.Clone(data)
			if change != nil {
				data = change(name, site, data)
			}
			if data == nil {
				continue
			}
			if len(data) != rows*n {
				rows = len(data) / n
			}
			if err := tr.Append(site, rows, n, data); err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, Path{Name: name, UBatch: 12 >> i, Trace: tr, Report: Norms(s.Input)})
	}
	return Paths(s.Sites, paths, backend.F32)
}

func TestPathsAgree(t *testing.T) {
	r := pathsOf(t, func(path, _ string, data []float32) []float32 {
		if path == "chunks" {
			for i := range data {
				data[i] = math.Nextafter32(data[i], 0) // another rounding
			}
		}
		return data
	})
	if r.Verdict != Pass || r.ExitCode() != 0 || r.First != nil || r.Failed != 0 {
		t.Fatalf("verdict %s, first %+v", r.Verdict, r.First)
	}
	// The embedding; two norms a block with delta and stream, but the first which adds nothing; and the last.
	if want := 1 + synthLayers*2*3 - 2 + 3; r.Passed != want || len(r.Sites) != want {
		t.Errorf("%d sites passed of %d, want %d", r.Passed, len(r.Sites), want)
	}
	if p := r.Sites[0].Pairs; len(p) != 3 || p[0].A != "chunks" || p[0].B != "one batch" || !(p[0].NMSE > 0) ||
		p[1].NMSE != 0 || p[0].FirstToken != -1 {
		t.Errorf("pairs of the first site: %+v", p)
	}
}

func TestPathsDiffer(t *testing.T) {
	scale := func(from int, by float32) func([]float32) []float32 {
		return func(data []float32) []float32 {
			for i := from * synthWidth; i < len(data); i++ {
				data[i] *= by
			}
			return data
		}
	}
	nan := func(data []float32) []float32 { data[5*synthWidth+7] = float32(math.NaN()); return data }
	for _, c := range []struct {
		name      string
		site      string
		paths     string // that are changed
		change    func([]float32) []float32
		want      string // the path that is named
		token     int
		inReason  string
		failPairs int
	}{
		{"decode", "ffn_norm-0", "token by token", scale(3, 1.001), "token by token", 3, "NMSE", 2},
		{"stream", "l_out-1", "chunks", scale(11, 1.01), "chunks", 11, "NMSE", 2},
		{"batch alone is wrong", "attn_proj-1", "one batch", scale(0, 2), "one batch", 0, "one batch", 2},
		{"both others in the same way", "ffn_norm-1", "chunks, token by token", scale(2, 1.5), "one batch", 2,
			"one batch", 2},
		{"NaN", "result_norm", "chunks", nan, "chunks", 5, "NaN", 2},
		{"NaN on every path", "result_norm", "one batch, chunks, token by token", nan, "", 5, "NaN", 3},
		{"missing", "ffn_inp-0", "token by token", func([]float32) []float32 { return nil }, "token by token", 0,
			"was not captured", 2},
		{"rows are missing", "ffn_inp-0", "chunks", func(d []float32) []float32 { return d[synthWidth:] }, "chunks", 0,
			"[11, 64] and [12, 64]", 2},
		{"zero", "embd", "one batch", func(d []float32) []float32 { clear(d); return d }, "one batch", 0, "Inf", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := pathsOf(t, func(path, site string, data []float32) []float32 {
				if site == c.site && strings.Contains(c.paths, path) {
					return c.change(data)
				}
				return data
			})
			if r.Verdict != Fail || r.ExitCode() != 1 || r.Failed != 1 || r.First == nil {
				t.Fatalf("verdict %s, %d failed, first %+v", r.Verdict, r.Failed, r.First)
			}
			if f := r.First; f.Site != c.site || f.Path != c.want || f.Token != c.token ||
				!strings.Contains(f.Reason, c.inReason) {
				t.Errorf("first difference %+v, want %s of %q at token %d with %q", f, c.site, c.want, c.token,
					c.inReason)
			}
			for _, s := range r.Sites {
				failed := 0
				for _, p := range s.Pairs {
					if p.Verdict == Fail {
						failed++
					}
				}
				if want := map[bool]int{true: c.failPairs}[s.Site == c.site]; failed != want {
					t.Errorf("%s: %d pairs differ, want %d", s.Site, failed, want)
				}
			}
			if b, err := json.Marshal(r); err != nil || !json.Valid(b) {
				t.Errorf("as JSON: %v", err)
			}
			var out bytes.Buffer
			if err := r.WriteTable(&out); err != nil || !strings.Contains(out.String(), "first difference: "+c.site) {
				t.Errorf("table without the difference, %v:\n%s", err, &out)
			}
		})
	}
}

// TestPathsZeros: two paths of zeros are the same.
func TestPathsZeros(t *testing.T) {
	r := pathsOf(t, func(_, site string, data []float32) []float32 {
		if site == "ffn_out-0" {
			clear(data)
		}
		return data
	})
	if r.Verdict != Pass {
		t.Errorf("%s, %+v", r.Verdict, r.First)
	}
}

// TestPathsJudge: a path's own verdict counts, and nothing compared is no pass.
func TestPathsJudge(t *testing.T) {
	r := pathsOf(t, nil)
	r.Paths[1].Report = &Report{Verdict: Unmeasured}
	if r.Judge(); r.Verdict != Unmeasured {
		t.Errorf("with an unmeasured path: %s", r.Verdict)
	}
	r.Paths[2].Report = &Report{Verdict: Fail}
	if r.Judge(); r.Verdict != Fail {
		t.Errorf("with a failed path: %s", r.Verdict)
	}
	if r := Paths(nil, nil, backend.F32); r.Verdict != Fail || r.ExitCode() != 1 {
		t.Errorf("without anything: %s", r.Verdict)
	}
	for n := range 3 {
		if err := pathsOf(t, nil).WriteTable(&fullDisk{n}); err == nil {
			t.Errorf("a disk that is full after %d writes: no error", n)
		}
	}
}
