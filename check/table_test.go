package check

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cera/backend"
)

func reportText(t testing.TB, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func throughJSON(t testing.TB, r *Report) *Report {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return &back
}

func equalReports(a, b *Report) bool {
	return cmp.Equal(a, b, cmpopts.EquateNaNs(),
		cmp.Transformer("number", func(n Number) float64 { return float64(n) }))
}

func TestNumberForms(t *testing.T) {
	for _, c := range []struct {
		value Number
		json  string
	}{
		{0, "0"}, {1.5, "1.5"}, {-2e-300, "-2e-300"}, {Number(math.NaN()), `"NaN"`}, {Number(math.Inf(1)), `"+Inf"`},
		{Number(math.Inf(-1)), `"-Inf"`},
		{math.SmallestNonzeroFloat64, "5e-324"}, {math.MaxFloat64, "1.7976931348623157e+308"},
		{Number(math.Copysign(0, -1)), "-0"},
	} {
		b, err := json.Marshal(c.value)
		if err != nil || string(b) != c.json {
			t.Errorf("%g is %s, %v, want %s", c.value, b, err, c.json)
		}
		var back Number
		if err := json.Unmarshal(b, &back); err != nil ||
			math.Float64bits(float64(back)) != math.Float64bits(float64(c.value)) {
			t.Errorf("%s came back as %g, %v", b, back, err)
		}
	}
	for _, bad := range []string{`"ten"`, `""`, `true`, `[1]`, `{}`} {
		n := Number(1)
		if err := json.Unmarshal([]byte(bad), &n); err == nil || n != 1 {
			t.Errorf("%s gave %g and error %v", bad, n, err)
		}
	}
	n := Number(1)
	if err := json.Unmarshal([]byte("null"), &n); err != nil || n != 1 {
		t.Errorf("null gave %g and error %v, want no change", n, err)
	}
}

// columns makes a report of given numbers, names of very different lengths among them.
func columns() *Report {
	aspect := func(v Verdict, ratio Number, wrong int) *Aspect {
		return &Aspect{Verdict: v, Ratio: ratio, Wrong: wrong}
	}
	drift := func(v Verdict, nmse Number) *Drift { return &Drift{Aspect: Aspect{Verdict: v}, NMSE: nmse} }
	r := &Report{
		Model:  "größe.gguf",
		Device: backend.Info{Backend: "gpu", Adapter: "llvmpipe", Driver: "Mesa", Software: true},
		Tokens: make([]int32, 12),
		Sites: []SiteReport{
			{Site: "attn_norm-0", Op: "rmsnorm_batch", Norm: aspect(Pass, 0.0371, 0), Weights: aspect(Pass, 0, 0),
				Drift: drift(Pass, 3.3e-14)},
			{Site: "ffn_norm-100", Op: "fused_residual_rms_norm", Layer: 100,
				Stream: aspect(Fail, Number(math.Inf(1)), 1),
				Norm:   aspect(Fail, 123456, 9), Weights: aspect(Unmeasured, 0, 0),
				Drift: drift(Fail, Number(math.NaN()))},
			{Site: "a_site_with_quite_a_long_name_größe-7", Op: "add_rmsnorm_batch", Layer: 7,
				Stream: aspect(Pass, 0, 0),
				Norm:   failed("site x was not captured")},
			{Site: "result_norm", Op: "add_rmsnorm_batch", Layer: -1, Stream: aspect(Pass, 0, 0),
				Norm:    aspect(Pass, 1, 0),
				Weights: &Aspect{Verdict: Unmeasured, Reason: "not read"}, Drift: drift(Unmeasured, 0)},
		},
	}
	r.Sites[1].Stream.Reason = "the stream is wrong"
	for i := range r.Sites {
		r.Sites[i].judge()
	}
	r.close()
	return r
}

func TestTableColumns(t *testing.T) {
	const want = `model   größe.gguf
device  gpu: llvmpipe (Mesa), a software adapter
tokens  12

site                                   made by                  stream  norm, error/bound  weights     drift, NMSE   verdict
attn_norm-0                            rmsnorm_batch            -       PASS 0.037         PASS        PASS 3.3e-14  PASS
ffn_norm-100                           fused_residual_rms_norm  FAIL    FAIL 1.2e+05       UNMEASURED  FAIL NaN      FAIL
a_site_with_quite_a_long_name_größe-7  add_rmsnorm_batch        PASS    FAIL               -           -             FAIL
result_norm                            add_rmsnorm_batch        PASS    PASS 1             UNMEASURED  UNMEASURED    UNMEASURED

first fault: ffn_norm-100 (fused_residual_rms_norm), stream: the stream is wrong; norm: 
FAIL: 1 norms passed, 2 failed, 1 unmeasured
`
	if diff := cmp.Diff(want, reportText(t, columns())); diff != "" {
		t.Errorf("table, -want +got:\n%s", diff)
	}
}

// fullDisk fails from its nth write on.
type fullDisk struct{ left int }

var errDisk = errors.New("the disk is full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestTableFullDisk(t *testing.T) {
	for n := range 3 {
		if err := columns().WriteTable(&fullDisk{n}); !errors.Is(err, errDisk) {
			t.Errorf("a disk that is full after %d writes: error %v", n, err)
		}
	}
}
