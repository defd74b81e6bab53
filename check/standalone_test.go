package check

import (
	"strings"
	"testing"

	"cera/trace"
)

func TestCaptured(t *testing.T) {
	const all = 2*synthLayers + 1
	bad := func(data []float32) []float32 { data[3*synthWidth+9] += 0.5; return data }
	for _, c := range []struct {
		name    string
		site    string // changed in the trace
		change  func(data []float32) (out []float32, rows, n int)
		verdict Verdict
		passed  int
		missed  int
		code    int
		first   string // the fault's site
		reason  string // in the site's report, or in the fault
	}{
		{"whole", "", nil, Pass, all, 0, 0, "", ""},
		{"corrupted norm", "ffn_norm-1", func(d []float32) ([]float32, int, int) {
			return bad(d), synthTokens, synthWidth
		}, Fail, all - 1, 0, 1, "ffn_norm-1", "token 3, channel 9"},
		{"corrupted stream", "ffn_inp-0",
			func(d []float32) ([]float32, int, int) { return bad(d), synthTokens, synthWidth }, Fail, all - 2, 0, 1,
			"ffn_norm-0", "token 3, channel 9"},
		{"another width", "result_norm", func(d []float32) ([]float32, int, int) { return d, synthWidth, synthTokens },
			Fail, all - 1, 0, 1, "result_norm", "expected [12, 64]"},
		{"no output", "ffn_norm-0", func([]float32) ([]float32, int, int) { return nil, 0, 1 }, Unmeasured, all - 1, 1,
			0, "", "no site ffn_norm-0"},
		{"no delta", "attn_proj-0", func([]float32) ([]float32, int, int) { return nil, 0, 1 }, Unmeasured, all - 1, 1,
			0, "", "no site attn_proj-0"},
		// The norm that makes it and the one that reads it; the second is checked from its own stream.
		{"no stream", "ffn_inp-1", func([]float32) ([]float32, int, int) { return nil, 0, 1 }, Unmeasured, all - 2, 2,
			0, "", "no site ffn_inp-1"},
		{"fewer rows", "result_norm", func(d []float32) ([]float32, int, int) {
			return d[11*synthWidth:], 1, synthWidth
		}, Unmeasured, all - 1, 1, 0, "", "not a row for each of 12 tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodSynth(t)
			if c.site != "" {
				data, _, _, _ := s.Trace.Data(c.site)
				data, rows, n := c.change(append([]float32(nil), data...))
				s.Trace = replace(t, s.Trace, c.site, rows, n, data)
			}
			s.DeviceWeights, s.Reference = nil, nil
			r := Captured(s.Input)
			if r.Verdict != c.verdict || r.Passed != c.passed || r.Missed != c.missed || r.PartialExitCode() != c.code {
				t.Errorf("%s, %d passed, %d failed, %d unmeasured, exit code %d; want %s, %d, %d unmeasured, %d",
					r.Verdict, r.Passed, r.Failed, r.Missed, r.PartialExitCode(), c.verdict, c.passed, c.missed, c.code)
			}
			switch {
			case c.first == "" && r.First != nil:
				t.Errorf("a fault: %+v", r.First)
			case c.first != "" && (r.First == nil || r.First.Site != c.first ||
				!strings.Contains(r.First.Reason, c.reason)):
				t.Errorf("first fault %+v, want %s with %q", r.First, c.first, c.reason)
			case c.first == "" && c.reason != "":
				if text := reportText(t, r); !strings.Contains(text, c.reason) {
					t.Errorf("%q is not in\n%s", c.reason, text)
				}
			}
		})
	}
}

// TestCapturedFromStream: where the addition cannot be checked, the norm still is.
func TestCapturedFromStream(t *testing.T) {
	s := newSynth(t, "ffn_norm-0", func(c *call) { c.eps = 1e-2; c.run() })
	s.Trace = replace(t, s.Trace, "attn_proj-0", 0, 1, nil)
	r := Captured(s.Input)
	if r.First == nil || r.First.Site != "ffn_norm-0" || r.First.Aspect != "norm" || r.PartialExitCode() != 1 {
		t.Errorf("first fault %+v, want the norm of ffn_norm-0", r.First)
	}
	if a := r.Sites[1].Stream; a == nil || a.Verdict != Unmeasured {
		t.Errorf("the addition is %+v, want UNMEASURED", a)
	}
}

// TestCapturedNothing: a trace without any norm, none, or a model without norms, is no pass.
func TestCapturedNothing(t *testing.T) {
	s := goodSynth(t)
	for name, tr := range map[string]*trace.Trace{"empty": trace.New(), "nil": nil} {
		s.Trace = tr
		if r := Captured(s.Input); r.Verdict != Unmeasured || r.PartialExitCode() != 1 || r.Missed != len(s.Sites) {
			t.Errorf("%s: %s, exit code %d, %d unmeasured", name, r.Verdict, r.PartialExitCode(), r.Missed)
		}
	}
	if r := Captured(Input{}); r.Verdict != Fail || r.PartialExitCode() != 1 {
		t.Errorf("no sites: %s", r.Verdict)
	}
}

func TestTraceTokens(t *testing.T) {
	s := goodSynth(t)
	if got := TraceTokens(s.Trace, s.Sites); len(got) != synthTokens || got[0] != -1 {
		t.Errorf("without ids: %v", got)
	}
	s.Trace.Tokens = []int32{5}
	if got := TraceTokens(s.Trace, s.Sites); len(got) != 1 || got[0] != 5 {
		t.Errorf("with ids: %v", got)
	}
	if got := TraceTokens(trace.New(), s.Sites); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
