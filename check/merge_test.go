package check

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func reportJSON(t *testing.T, r *Report) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMerge(t *testing.T) {
	all := reports(t)
	for name, c := range map[string]struct {
		reports                []string
		passed, failed, missed int
		verdict                Verdict
	}{
		"nothing":         {nil, 0, 0, 0, Fail},
		"one":             {[]string{"passed"}, 1, 0, 0, Pass},
		"two":             {[]string{"passed", "passed"}, 2, 0, 0, Pass},
		"not measured":    {[]string{"passed", "unmeasured"}, 1, 0, 1, Unmeasured},
		"failed":          {[]string{"failed", "passed"}, 1, 1, 0, Fail},
		"one of each":     {[]string{"unmeasured", "passed", "NaN", "ops", "missing"}, 1, 3, 1, Fail},
		"nothing checked": {[]string{"empty", "passed"}, 1, 1, 0, Fail},
	} {
		m := NewMerged()
		for _, r := range c.reports {
			if err := m.Add(r+".json", reportJSON(t, all[r])); err != nil {
				t.Fatalf("%s: %s: %v", name, r, err)
			}
		}
		if m.Passed != c.passed || m.Failed != c.failed || m.Missed != c.missed || m.Verdict != c.verdict ||
			(m.ExitCode() == 0) != (c.verdict == Pass) {
			t.Errorf("%s: %s, %d passed, %d failed, %d unmeasured", name, m.Verdict, m.Passed, m.Failed, m.Missed)
		}
		var b bytes.Buffer
		if err := m.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != len(c.reports)+3 || !strings.HasPrefix(lines[len(lines)-1], string(c.verdict)+": ") {
			t.Errorf("%s:\n%s", name, b.String())
		}
		for i, r := range c.reports {
			got, want := m.Models[i], all[r]
			if got.Report != r+".json" || got.Model != want.Model || got.Verdict != want.Verdict ||
				got.Passed != want.Passed ||
				got.Failed != want.Failed || got.Missed != want.Missed || got.Device != want.Device ||
				*got.Build != ThisBuild() ||
				(got.First == nil) != (want.First == nil) || got.First != nil && *got.First != *want.First {
				t.Errorf("%s: %+v", name, got)
			}
			if f := want.First; f != nil && !strings.Contains(lines[i+1], f.Reason) {
				t.Errorf("%s: the fault %q is not in %q", name, f.Reason, lines[i+1])
			}
		}
	}
}

func TestMergeRejects(t *testing.T) {
	good := string(reportJSON(t, reports(t)["failed"]))
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "it is empty: the check did not end"},
		"cut":              {good[:len(good)/2], "it is no report"},
		"followed by more": {good + good, "it is no report"},
		"no JSON":          {"PASS", "it is no report"},
		"an array":         {"[]", "it is no report"},
		"null":             {"null", `its schema is "", expected "cera-check-1"`},
		"another schema":   {strings.Replace(good, Schema, PathsSchema, 1), `its schema is "cera-paths-1"`},
		"no device":        {strings.Replace(good, `"device"`, `"place"`, 1), `the field "device" is missing`},
		"another verdict": {strings.Replace(good, `"verdict":"FAIL"`, `"verdict":"PASS"`, 1),
			`its verdict is "PASS", but`},
		"unknown verdict": {strings.Replace(good, `"verdict":"FAIL"`, `"verdict":"MAYBE"`, 1),
			`its verdict is "MAYBE", but`},
		"negative count":    {strings.Replace(good, `"failed":1`, `"failed":-1`, 1), "expected no negative numbers"},
		"count in words":    {strings.Replace(good, `"failed":1`, `"failed":"one"`, 1), "it is no report"},
		"nothing is a pass": {`{"schema":"cera-check-1","verdict":"PASS","device":{},"passed":0,"failed":0,"unmeasured":0}`, "make it FAIL"},
	} {
		m := NewMerged()
		err := m.Add("x", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
		if len(m.Models) > 0 || m.Passed+m.Failed+m.Missed > 0 {
			t.Errorf("%s: it was added", name)
		}
	}
}

// TestMergeTerminal: what a report says must not drive a terminal or break the table.
func TestMergeTerminal(t *testing.T) {
	r := *reports(t)["failed"]
	r.Model, r.First = "a\x1b[2J\nb\tc", &Fault{Reason: "\x07bell"}
	m := NewMerged()
	if err := m.Add("x", reportJSON(t, &r)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\t") || !strings.Contains(b.String(), "a [2J b c") {
		t.Errorf("%q", b.String())
	}
}
