package check

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestJSON writes and reads reports; numbers that JSON does not have must not break it.
func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(c *call)
	}{
		{"passed", func(c *call) { c.run() }},
		{"NaN", func(c *call) { c.run(); c.out[0] = float32(math.NaN()) }},
		{"Inf", func(c *call) { c.run(); c.stream[0] = float32(math.Inf(-1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Norms(newSynth(t, "ffn_norm-1", c.fault).Input)
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var back Report
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(&back)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, again) {
				t.Errorf("read back as\n%s\nwant\n%s", again, b)
			}
			if back.Verdict != r.Verdict || back.ExitCode() != r.ExitCode() || !reflect.DeepEqual(back.First, r.First) {
				t.Errorf("read back as %v %+v, want %v %+v", back.Verdict, back.First, r.Verdict, r.First)
			}
		})
	}
}

// TestJSONKeys holds the names that programs rely on.
func TestJSONKeys(t *testing.T) {
	b, err := json.Marshal(Norms(newSynth(t, "ffn_norm-1", func(c *call) { c.eps = 1e-3; c.run() }).Input))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m["schema"] != "cera-check-1" {
		t.Errorf("schema %v: a change of names is a change of the schema", m["schema"])
	}
	has := func(m map[string]any, keys ...string) {
		t.Helper()
		for _, k := range keys {
			if _, ok := m[k]; !ok {
				t.Errorf("%q is missing", k)
			}
		}
		if len(m) != len(keys) {
			t.Errorf("%d keys, want %d: %v", len(m), len(keys), m)
		}
	}
	has(m, "schema", "verdict", "model", "device", "tokens", "first_fault", "sites", "passed", "failed", "unmeasured",
		"build")
	has(m["first_fault"].(map[string]any), "site", "op", "layer", "aspect", "reason")
	site := m["sites"].([]any)[3].(map[string]any)
	has(site, "site", "op", "layer", "verdict", "stream", "norm", "weights", "drift",
		"residual_rms", "token_ratios", "token_drift", "worst_channels")
	aspect := []string{"verdict", "token", "channel", "got", "want", "error_over_bound", "wrong"}
	has(site["stream"].(map[string]any), aspect...)
	has(site["norm"].(map[string]any), append(aspect, "reason")...)
	has(site["drift"].(map[string]any), append(aspect, "reason", "nmse", "nmse_bound", "cosine", "max_abs")...)
}

func TestNumber(t *testing.T) {
	for _, v := range []float64{0, 1, -1.5, 1e-300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		b, err := json.Marshal(Number(v))
		if err != nil {
			t.Fatal(err)
		}
		var back Number
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if math.Float64bits(float64(back)) != math.Float64bits(v) && !(v != v && back != back) {
			t.Errorf("%g went through %s to %g", v, b, float64(back))
		}
	}
	for _, bad := range []string{`"one"`, `{}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Number)); err == nil {
			t.Errorf("%s was taken for a number", bad)
		}
	}
}

func TestTable(t *testing.T) {
	for _, c := range []struct{ file, site string }{{"passed", ""}, {"failed", "ffn_norm-1"}, {"unmeasured", ""}} {
		s := newSynth(t, c.site, func(c *call) { c.run(); c.stream = c.in })
		if c.file == "unmeasured" {
			s.DeviceWeights, s.Reference, s.DriftReason = nil, nil, "it was turned off"
		}
		var buf bytes.Buffer
		if err := Norms(s.Input).WriteTable(&buf); err != nil {
			t.Fatal(err)
		}
		path := "testdata/table-" + c.file + ".txt"
		want, err := os.ReadFile(path)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := buf.String(); got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
		for _, line := range strings.Split(buf.String(), "\n") {
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %q ends in spaces", path, line)
			}
		}
	}
}

// failing is a writer whose disk is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestTableWriteError(t *testing.T) {
	if err := Norms(goodSynth(t).Input).WriteTable(failing{}); err == nil {
		t.Error("a table that could not be written gave no error")
	}
}
