package engine_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"cera/check"
	"cera/engine"
	"cera/gguf"
	"cera/trace"
)

func openFile(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// copied returns a trace with a site's data changed; nil leaves it out.
func copied(t *testing.T, tr *trace.Trace, site string, change func(data []float32) []float32) *trace.Trace {
	t.Helper()
	out := trace.New()
	out.Tokens = tr.Tokens
	found := false
	for _, s := range tr.Sites() {
		data, rows, n, _ := tr.Data(s)
		if s == site {
			found = true
			if data = change(append([]float32(nil), data...)); data == nil {
				continue
			}
		}
		if err := out.Append(s, rows, n, data); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("the trace has no site %s", site)
	}
	return out
}

// TestCheckTrace checks what llama.cpp captured: all of it passes, bit for bit where it adds, and a spoiled copy fails
// where it was spoiled.
func TestCheckTrace(t *testing.T) {
	for _, v := range []string{"llama", "llama-obias", "llama-odd", "llama-mqa-hd24", "llama3-ropefreqs"} {
		t.Run(v, func(t *testing.T) {
			f := openFile(t, "../testdata/archs/"+v+".gguf")
			tr := readTrace(t, "../testdata/golden/"+v+".npz")
			r, err := engine.CheckTrace(f, tr, v+".npz")
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != check.Pass || r.Passed != 5 || r.PartialExitCode() != 0 {
				t.Fatalf("%s, %d passed, first fault %+v", r.Verdict, r.Passed, r.First)
			}
			for _, c := range []struct {
				site, fault, aspect string
				change              func(data []float32) []float32
			}{
				{"attn_norm-0", "attn_norm-0", "norm", func(d []float32) []float32 { d[40] *= 1.0001; return d }},
				{"attn_out-1", "ffn_norm-1", "stream", func(d []float32) []float32 { d[0] += 1; return d }},
				{"embd", "attn_norm-0", "norm", func(d []float32) []float32 { d[1] = -d[1]; return d }},
				{"l_out-1", "result_norm", "stream",
					func(d []float32) []float32 { d[len(d)-1] = math.Nextafter32(d[len(d)-1], 9); return d }},
				{"result_norm", "result_norm", "norm",
					func(d []float32) []float32 { d[9] = float32(math.NaN()); return d }},
			} {
				r, err := engine.CheckTrace(f, copied(t, tr, c.site, c.change), "spoiled.npz")
				if err != nil {
					t.Fatal(err)
				}
				if r.PartialExitCode() != 1 || r.First == nil || r.First.Site != c.fault || r.First.Aspect != c.aspect {
					t.Errorf("%s spoiled: exit code %d, first fault %+v, want %s of %s", c.site, r.PartialExitCode(),
						r.First, c.aspect, c.fault)
				}
			}
			// A part of a trace is no fault, and says what is not there.
			r, err = engine.CheckTrace(f, copied(t, tr, "l_out-0", func([]float32) []float32 { return nil }),
				"part.npz")
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != check.Unmeasured || r.Passed != 3 || r.Missed != 2 || r.PartialExitCode() != 0 {
				t.Errorf("without l_out-0: %s, %d passed, %d unmeasured, first %+v", r.Verdict, r.Passed, r.Missed,
					r.First)
			}
		})
	}
	t.Run("stories260K", func(t *testing.T) {
		f := openFile(t, shared(t, "models/trained/stories260K.gguf"))
		r, err := engine.CheckTrace(f, readTrace(t, shared(t, "golden/llamacpp/stories260K.npz")), "stories260K.npz")
		if err != nil || r.Verdict != check.Pass || r.Passed != 11 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestCheckTraceOwn checks a dump of our own, and one of another model's.
func TestCheckTraceOwn(t *testing.T) {
	e := open(t, tiny, engine.Options{Device: "cpu"})
	got, err := e.Capture(ctx, engine.DefaultTokens(64, 9), everySite)
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.CheckTrace(openFile(t, tiny), got.Trace, "own.npz")
	if err != nil || r.Verdict != check.Pass {
		t.Errorf("%v, %s, %+v", err, r.Verdict, r.First)
	}
	r, err = engine.CheckTrace(openFile(t, "../testdata/archs/llama-odd.gguf"), got.Trace, "own.npz")
	if err != nil || r.PartialExitCode() != 1 || r.First == nil || r.First.Site != "attn_norm-0" {
		t.Errorf("with the weights of another model: %v, %+v", err, r)
	}
}

// TestCheckTraceNames checks a trace by the names that Hugging Face's modules have.
func TestCheckTraceNames(t *testing.T) {
	tr := readTrace(t, "../testdata/golden/llama.npz")
	theirs := map[string]string{"attn_norm-0": "model.layers.0.input_layernorm",
		"ffn_norm-1": "model.layers.1.post_attention_layernorm"}
	renamed := trace.New()
	renamed.Tokens = tr.Tokens
	add := func(name, site string) {
		data, rows, n, _ := tr.Data(site)
		if err := renamed.Append(name, rows, n, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range tr.Sites() {
		if theirs[s] != "" {
			add(theirs[s], s)
		} else {
			add(s, s)
		}
	}
	f := openFile(t, "../testdata/archs/llama.gguf")
	r, err := engine.CheckTrace(f, renamed, "x.npz")
	if err != nil || r.Verdict != check.Pass {
		t.Fatalf("%v, %+v", err, r)
	}
	// Under both names ours counts; what two arrays claim to be is an error.
	add("attn_norm-0", "ffn_norm-0")
	if r, err = engine.CheckTrace(f, renamed, "x.npz"); err != nil || r.First == nil || r.First.Site != "attn_norm-0" {
		t.Errorf("both names: %v, %+v", err, r)
	}
	add("layers.1.post_attention_layernorm", "ffn_norm-1")
	if _, err = engine.CheckTrace(f, renamed, "x.npz"); err == nil ||
		!strings.Contains(err.Error(), "are both ffn_norm-1") {
		t.Errorf("two arrays of one site: %v", err)
	}
}

func TestCheckTraceErrors(t *testing.T) {
	f := openFile(t, tiny)
	other := trace.New()
	if err := other.Append("model.layers.0.mlp", 1, 2, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]*trace.Trace{"empty": trace.New(), "other names": other} {
		if _, err := engine.CheckTrace(f, tr, "x.npz"); err == nil || !strings.Contains(err.Error(), "attn_norm-0") ||
			!strings.Contains(err.Error(), "x.npz") {
			t.Errorf("%s: error %v, want one that names the trace and an expected site", name, err)
		}
	}
	// With tokens but no norm it is a report in which nothing passed.
	other.Tokens = []int32{1}
	if r, err := engine.CheckTrace(f, other, "x.npz"); err != nil || r.Verdict != check.Unmeasured ||
		r.PartialExitCode() != 1 {
		t.Errorf("tokens alone: %v, %+v", err, r)
	}
	w := gguf.NewWriter()
	w.Set("general.architecture", "mamba")
	var buf bytes.Buffer
	if _, err := w.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	unknown, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.CheckTrace(unknown, other, "x.npz"); err == nil || !strings.Contains(err.Error(), `"mamba"`) {
		t.Errorf("an architecture that cannot be resolved: error %v", err)
	}
}
