package check

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"cera/backend"
)

// Verdict is the outcome of a check. What was not measured never counts as passed.
type Verdict string

const (
	Pass       Verdict = "PASS"
	Fail       Verdict = "FAIL"
	Unmeasured Verdict = "UNMEASURED"
)

// Schema names the form of the JSON report.
const Schema = "cera-check-1"

// Report is the outcome of a check of every norm of a run.
type Report struct {
	Schema  string       `json:"schema"`
	Verdict Verdict      `json:"verdict"`
	Model   string       `json:"model"`
	Device  backend.Info `json:"device"`
	Tokens  []int32      `json:"tokens"`
	First   *Fault       `json:"first_fault"`   // nil where nothing failed
	Sites   []SiteReport `json:"sites"`         // in forward order
	Ops     []OpReport   `json:"ops,omitempty"` // in forward order; where every op was checked
	Passed  int          `json:"passed"`        // norms and ops
	Failed  int          `json:"failed"`
	Missed  int          `json:"unmeasured"`
	Drift   string       `json:"drift_unmeasured,omitempty"` // why there was no reference run
	Build   *Build       `json:"build,omitempty"`            // the program that checked
}

// Fault is the first thing that is wrong, in forward order.
type Fault struct {
	Site   string `json:"site"`
	Op     string `json:"op"`     // the kernel that made it
	Layer  int    `json:"layer"`  // -1 outside the blocks
	Aspect string `json:"aspect"` // stream, norm, weights or drift; local of an op that is no norm
	Reason string `json:"reason"`
}

// SiteReport is the outcome for one norm. Where a part of the norm is missing or has another shape nothing can be
// compared: Norm fails and says which part, and the other aspects are nil.
type SiteReport struct {
	Site    string  `json:"site"`
	Op      string  `json:"op"`
	Layer   int     `json:"layer"`
	Verdict Verdict `json:"verdict"`
	Stream  *Aspect `json:"stream"` // nil where the norm adds nothing
	Norm    *Aspect `json:"norm"`
	Weights *Aspect `json:"weights"`
	Drift   *Drift  `json:"drift"`

	// What follows shows where an error lies; no verdict rests on it. It is empty where nothing could be compared.
	ResidualRMS *Number        `json:"residual_rms,omitempty"`   // of the stream that is normed, over all tokens
	TokenRatios []Number       `json:"token_ratios,omitempty"`   // the norm's largest error over its bound, by token
	TokenDrift  []Number       `json:"token_drift,omitempty"`    // NMSE against the reference run, by token
	Channels    []ChannelRatio `json:"worst_channels,omitempty"` // of the norm, the worst first, at most worstChannels
}

// ChannelRatio is the norm's largest error over its bound in one channel, over all tokens.
type ChannelRatio struct {
	Channel int    `json:"channel"`
	Ratio   Number `json:"error_over_bound"`
}

// Aspect is one comparison of a site. Token and Channel are where the error is largest in proportion to its bound.
type Aspect struct {
	Verdict Verdict `json:"verdict"`
	Token   int     `json:"token"`
	Channel int     `json:"channel"`
	Got     Number  `json:"got"`
	Want    Number  `json:"want"`
	Ratio   Number  `json:"error_over_bound"` // at most 1 passes
	Wrong   int     `json:"wrong"`            // elements outside the bound
	Reason  string  `json:"reason,omitempty"`
}

// Drift is the comparison with the reference run.
type Drift struct {
	Aspect
	NMSE   Number `json:"nmse"`
	Bound  Number `json:"nmse_bound"`
	Cosine Number `json:"cosine"`
	MaxAbs Number `json:"max_abs"`
}

// Number is a float64 that JSON can hold: NaN and infinities are written as strings.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

func (n *Number) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		return json.Unmarshal(b, (*float64)(n))
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", s)
	}
	*n = Number(v)
	return nil
}

// ExitCode is 0 if everything that must be measured was measured and passed, else 1.
func (r *Report) ExitCode() int {
	if r.Verdict == Pass {
		return 0
	}
	return 1
}

// close counts the verdicts of the sites and names the first fault.
func (r *Report) close() {
	for _, s := range r.Sites {
		if r.First == nil && s.Verdict == Fail {
			r.First = s.fault()
		}
	}
	if len(r.Sites) == 0 {
		r.First = &Fault{Layer: -1, Reason: "no norm was checked"}
	}
	r.judge()
}

// judge counts the verdicts of norms and ops, and sets that of the whole. Without a norm nothing passed.
func (r *Report) judge() {
	r.Passed, r.Failed, r.Missed = 0, 0, 0
	count := func(v Verdict) {
		switch v {
		case Pass:
			r.Passed++
		case Fail:
			r.Failed++
		default:
			r.Missed++
		}
	}
	for _, s := range r.Sites {
		count(s.Verdict)
	}
	for _, op := range r.Ops {
		count(op.Verdict)
	}
	switch {
	case len(r.Sites) == 0 || r.Failed > 0:
		r.Verdict = Fail
	case r.Missed > 0:
		r.Verdict = Unmeasured
	default:
		r.Verdict = Pass
	}
}

// counts says in a line what passed, norms and, where they were checked, ops, and how much of both did not.
func (r *Report) counts() string {
	norms := 0
	for _, s := range r.Sites {
		if s.Verdict == Pass {
			norms++
		}
	}
	what := fmt.Sprintf("%d norms", norms)
	if len(r.Ops) > 0 {
		what += fmt.Sprintf(" and %d ops", r.Passed-norms)
	}
	return fmt.Sprintf("%s passed, %d failed, %d unmeasured", what, r.Failed, r.Missed)
}

// aspects lists what was compared, the cause before its consequence.
func (s *SiteReport) aspects() []namedAspect {
	list := []namedAspect{{"weights", s.Weights}, {"stream", s.Stream}, {"norm", s.Norm}}
	if s.Drift != nil {
		list = append(list, namedAspect{"drift", &s.Drift.Aspect})
	}
	return list
}

type namedAspect struct {
	name string
	*Aspect
}

// fault describes the site's failing aspects; the first names the fault.
func (s *SiteReport) fault() *Fault {
	f := &Fault{Site: s.Site, Op: s.Op, Layer: s.Layer}
	for _, a := range s.aspects() {
		if a.Aspect == nil || a.Verdict != Fail {
			continue
		}
		if f.Aspect == "" {
			f.Aspect, f.Reason = a.name, a.Reason
		} else if a.name != "drift" {
			f.Reason += "; " + a.name + ": " + a.Reason
		}
	}
	return f
}

// judge sets the site's verdict from its aspects. Drift that was not measured does not hold a site back.
func (s *SiteReport) judge() {
	s.Verdict = Pass
	for _, a := range s.aspects() {
		switch {
		case a.Aspect == nil || a.Verdict == Pass:
		case a.Verdict == Fail:
			s.Verdict = Fail
		case a.name != "drift" && s.Verdict == Pass:
			s.Verdict = Unmeasured
		}
	}
}
