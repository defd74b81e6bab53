package check

import (
	"reflect"
	"strings"
	"testing"

	"cera/layers"
)

// TestNil: what is not there at all fails as what lacks a part does.
func TestNil(t *testing.T) {
	in := newRun().input(t)
	in.FileWeights = nil
	if report := Norms(in); report.Verdict != Fail ||
		!strings.Contains(report.First.Reason, "no file to take the weights from") {
		t.Errorf("verdict %s, %+v", report.Verdict, report.First)
	}
	in = newRun().input(t)
	in.Trace = nil
	if report := Norms(in); report.Verdict != Fail ||
		!strings.Contains(report.First.Reason, "site embd was not captured") {
		t.Errorf("verdict %s, %+v", report.Verdict, report.First)
	}
}

func TestUnmeasured(t *testing.T) {
	for _, c := range []struct {
		name          string
		change        func(r *run, in *Input)
		verdict       Verdict
		exit          int
		missed        int
		words, absent string // in the table
	}{
		{"no device weights", func(_ *run, in *Input) { in.DeviceWeights = nil }, Unmeasured, 1, 3,
			"not measured: weights of attn_norm-0: the weight was not read back from the device", "first fault"},
		{"one device weight missing", func(r *run, _ *Input) { delete(r.device, "result_norm") }, Unmeasured, 1, 1,
			"not measured: weights of result_norm", "first fault"},
		{"no reference", func(_ *run, in *Input) { in.Reference, in.DriftReason = nil, "turned off" }, Pass, 0, 0,
			"drift is UNMEASURED: turned off", "not measured"},
		{"no reference and no reason", func(_ *run, in *Input) { in.Reference = nil }, Pass, 0, 0,
			"drift is UNMEASURED: there was no reference run", "not measured"},
		{"a failure is not hidden", func(r *run, in *Input) {
			in.DeviceWeights = nil
			data, _, _, _ := in.Trace.Data("result_norm")
			data[0]++
		}, Fail, 1, 2, "first fault: result_norm", "PASS:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun()
			in := r.input(t)
			c.change(r, &in)
			report := Norms(in)
			if report.Verdict != c.verdict || report.ExitCode() != c.exit || report.Missed != c.missed {
				t.Errorf("verdict %s, exit code %d, %d unmeasured, want %s, %d, %d",
					report.Verdict, report.ExitCode(), report.Missed, c.verdict, c.exit, c.missed)
			}
			text := reportText(t, report)
			if !strings.Contains(text, c.words) || strings.Contains(text, c.absent) {
				t.Errorf("the table says\n%s\nwant %q in it and not %q", text, c.words, c.absent)
			}
			if !reflect.DeepEqual(throughJSON(t, report), report) {
				t.Error("JSON changed the report")
			}
		})
	}
}

// TestJudge: only PASS counts as passed.
func TestJudge(t *testing.T) {
	if r := (&Report{}); r.ExitCode() != 1 {
		t.Error("a report that was never filled in passes")
	}
	pass, fail, missed, blank := &Aspect{Verdict: Pass}, &Aspect{Verdict: Fail}, &Aspect{Verdict: Unmeasured}, &Aspect{}
	for _, c := range []struct {
		name                  string
		stream, norm, weights *Aspect
		drift                 Verdict
		want                  Verdict
	}{
		{"all pass", pass, pass, pass, Pass, Pass},
		{"nothing added", nil, pass, pass, Pass, Pass},
		{"drift unmeasured", pass, pass, pass, Unmeasured, Pass},
		{"drift fails", pass, pass, pass, Fail, Fail},
		{"weights unmeasured", pass, pass, missed, Pass, Unmeasured},
		{"norm unmeasured, drift fails", pass, missed, pass, Fail, Fail},
		{"fail after unmeasured", missed, fail, missed, Pass, Fail},
		{"stream without a verdict", blank, pass, pass, Pass, Unmeasured},
	} {
		s := SiteReport{Stream: c.stream, Norm: c.norm, Weights: c.weights,
			Drift: &Drift{Aspect: Aspect{Verdict: c.drift}}}
		if s.judge(); s.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, s.Verdict, c.want)
		}
	}
}

// TestBlocks: the drift allowed grows with the blocks a run has passed.
func TestBlocks(t *testing.T) {
	in := &Input{Sites: []layers.NormSite{{Layer: 0}, {Layer: 4}, {Layer: 3}, {Layer: -1}}}
	for _, c := range []struct{ layer, want int }{{0, 1}, {4, 5}, {-1, 5}} {
		o := operands{NormSite: layers.NormSite{Layer: c.layer}}
		if got := o.blocks(in); got != c.want {
			t.Errorf("layer %d: %d blocks, want %d", c.layer, got, c.want)
		}
	}
}
