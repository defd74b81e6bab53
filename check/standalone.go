package check

import (
	"errors"
	"fmt"

	"cera/layers"
	"cera/trace"
)

// Captured is Norms for a trace that another program made, which holds what that program chose to capture:
//
//   - a norm of which the trace lacks a part, or has fewer rows than tokens of it, is UNMEASURED and says why. Where the
//     stream after the addition is there, the norm is checked from it even so, and the addition is UNMEASURED;
//   - a part of another width is a failure;
//   - the weights on the device are not in a trace: that aspect is nil, and drift is UNMEASURED. Neither holds a norm back.
//
// PartialExitCode is the exit code that goes with it.
func Captured(in Input) *Report {
	in.DriftReason = "the trace comes without a reference run, and without the weights on its device"
	r := in.report()
	for i, n := range in.Sites {
		r.Sites[i] = in.captured(n)
	}
	r.close()
	return r
}

// PartialExitCode is 0 if something passed and nothing failed, else 1: of a trace that holds a part of a run, the rest
// is no fault. A trace in which nothing could be measured did not pass.
func (r *Report) PartialExitCode() int {
	if r.Failed > 0 || r.Passed == 0 || r.Verdict == Fail {
		return 1
	}
	return 0
}

// captured checks one norm with what the trace has of it.
func (in *Input) captured(n layers.NormSite) SiteReport {
	unmeasured := func(reason string) *Aspect { return &Aspect{Verdict: Unmeasured, Reason: reason} }
	if err := in.lacks(n.Site); err != nil {
		return SiteReport{Site: n.Site, Op: n.Op, Layer: n.Layer, Verdict: Unmeasured, Norm: unmeasured(err.Error())}
	}
	var gap error // the first part without which the addition cannot be checked
	for _, site := range []string{n.In, n.Delta, n.Stream} {
		if site != "" && gap == nil {
			gap = in.lacks(site)
		}
	}
	if gap != nil && (n.Stream == "" || in.lacks(n.Stream) != nil) {
		return SiteReport{Site: n.Site, Op: n.Op, Layer: n.Layer, Verdict: Unmeasured, Norm: unmeasured(gap.Error())}
	}
	if gap != nil {
		n.In, n.Delta, n.Bias, n.Stream = n.Stream, "", "", ""
	}
	s := in.site(n)
	if gap != nil {
		s.Stream = unmeasured(gap.Error())
	}
	s.Weights = nil
	s.judge()
	return s
}

// lacks says why a site's rows cannot be compared, if the trace has none of them or not one a token. Programs leave out
// rows whose logits nobody asked for.
func (in *Input) lacks(site string) error {
	if in.Trace == nil {
		return errors.New("there is no trace")
	}
	_, r, n, ok := in.Trace.Data(site)
	switch {
	case !ok:
		return fmt.Errorf("the trace has no site %s", site)
	case r < len(in.Tokens):
		return fmt.Errorf("site %s is [%d, %d]: not a row for each of %d tokens", site, r, n, len(in.Tokens))
	}
	return nil
}

// TraceTokens returns a trace's tokens, or, for a trace without ids, as many unknown ones, -1, as the first of the
// sites that it has has rows.
func TraceTokens(t *trace.Trace, sites []layers.NormSite) []int32 {
	if len(t.Tokens) > 0 {
		return t.Tokens
	}
	for _, s := range sites {
		if _, rows, _, ok := t.Data(s.Site); ok {
			ids := make([]int32, rows)
			for i := range ids {
				ids[i] = -1
			}
			return ids
		}
	}
	return nil
}
