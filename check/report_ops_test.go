package check

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOpsCount: the counts are those of norms and ops, in the report, its JSON, its table and its page, and the verdict
// is theirs: no report says that nothing failed when an op did.
func TestOpsCount(t *testing.T) {
	const norms = 2*synthLayers + 1
	op := func(site string, v Verdict) OpReport {
		a := &Aspect{Verdict: v}
		if v != Pass {
			a.Reason = "because of " + site
		}
		return OpReport{Site: site, Op: "matmul", Verdict: v, Local: a}
	}
	good := func() *Report { return Norms(goodSynth(t).Input) }
	bad := func() *Report { return Norms(newSynth(t, "ffn_norm-1", func(c *call) { c.eps = 1e-3; c.run() }).Input) }
	for name, c := range map[string]struct {
		norms                  *Report
		ops                    []OpReport
		passed, failed, missed int
		verdict                Verdict
		line, first            string
	}{
		"all pass": {good(), []OpReport{op("a", Pass), op("b", Pass)}, norms + 2, 0, 0, Pass,
			"5 norms and 2 ops passed, 0 failed, 0 unmeasured", ""},
		"an op fails": {good(), []OpReport{op("a", Pass), op("b", Fail)}, norms + 1, 1, 0, Fail,
			"5 norms and 1 ops passed, 1 failed, 0 unmeasured", "b"},
		"every op fails": {good(), []OpReport{op("a", Fail), op("b", Fail)}, norms, 2, 0, Fail,
			"5 norms and 0 ops passed, 2 failed, 0 unmeasured", "a"},
		"an op is unmeasured": {good(), []OpReport{op("a", Unmeasured)}, norms, 0, 1, Unmeasured,
			"5 norms and 0 ops passed, 0 failed, 1 unmeasured", ""},
		"a norm fails": {bad(), []OpReport{op("a", Pass)}, norms, 1, 0, Fail,
			"4 norms and 1 ops passed, 1 failed, 0 unmeasured", "ffn_norm-1"},
		"both fail": {bad(), []OpReport{op("a", Fail), op("b", Pass)}, norms, 2, 0, Fail,
			"4 norms and 1 ops passed, 2 failed, 0 unmeasured", "a"},
		"no ops": {good(), nil, norms, 0, 0, Pass, "5 norms passed, 0 failed, 0 unmeasured", ""},
	} {
		r := c.norms
		r.AddOps(c.ops, []string{"a", "b", "ffn_norm-1"})
		if r.Passed != c.passed || r.Failed != c.failed || r.Missed != c.missed || r.Verdict != c.verdict {
			t.Errorf("%s: %s, %d passed, %d failed, %d unmeasured", name, r.Verdict, r.Passed, r.Failed, r.Missed)
		}
		if first := r.First; (first == nil) != (c.first == "") || first != nil && first.Site != c.first {
			t.Errorf("%s: first fault %+v, expected %q", name, first, c.first)
		}
		text := reportText(t, r)
		if !strings.HasSuffix(text, "\n"+string(c.verdict)+": "+c.line+"\n") {
			t.Errorf("%s: the table ends differently from %q:\n%s", name, c.line, text)
		}
		if c.verdict == Unmeasured && !strings.Contains(text, "not measured: a: because of a\n") {
			t.Errorf("%s: the table does not say what is missing:\n%s", name, text)
		}
		if !strings.Contains(pageText(t, r), "<dd>"+c.line+"</dd>") {
			t.Errorf("%s: %q is not on the page", name, c.line)
		}
		var read struct{ Passed, Failed, Unmeasured int }
		if err := json.Unmarshal(reportJSON(t, r), &read); err != nil || read.Passed != c.passed ||
			read.Failed != c.failed || read.Unmeasured != c.missed {
			t.Errorf("%s: the JSON says %+v, %v", name, read, err)
		}
		m := NewMerged()
		if err := m.Add("x", reportJSON(t, r)); err != nil || m.Verdict != c.verdict {
			t.Errorf("%s: merged it is %s, %v", name, m.Verdict, err)
		}
	}
}
