package check

import (
	"math"
	"strings"
	"testing"
)

func TestThreeNorms(t *testing.T) {
	r := newRun()
	report := Norms(r.input(t))
	if report.Verdict != Pass || report.ExitCode() != 0 || report.First != nil {
		t.Fatalf("verdict %s, exit code %d, first fault %+v", report.Verdict, report.ExitCode(), report.First)
	}
	if report.Passed != 3 || report.Failed != 0 || report.Missed != 0 {
		t.Errorf("%d passed, %d failed, %d unmeasured, want 3, 0, 0", report.Passed, report.Failed, report.Missed)
	}
	for i, s := range report.Sites {
		if s.Site != r.sites[i].Site {
			t.Errorf("site %d is %s, want %s", i, s.Site, r.sites[i].Site)
		}
		if (s.Stream == nil) != (r.sites[i].Delta == "") {
			t.Errorf("%s: stream aspect %+v", s.Site, s.Stream)
		}
		if s.Norm.Ratio <= 0 || s.Norm.Ratio > 1 {
			t.Errorf("%s: error/bound %g: rounding to float32 has an error within the bound and above zero", s.Site,
				s.Norm.Ratio)
		}
		if s.Drift.NMSE != 0 || math.Abs(float64(s.Drift.Cosine)-1) > 1e-12 {
			t.Errorf("%s: NMSE %g, cosine %g against itself", s.Site, s.Drift.NMSE, s.Drift.Cosine)
		}
	}
}

// TestDeterministic: sites are checked side by side, and the report does not show it.
func TestDeterministic(t *testing.T) {
	r := newRun()
	r.data["ffn_norm-0"][3] = float32(math.NaN())
	r.data["result_norm"][0] += 1
	first := reportText(t, Norms(r.input(t)))
	for range 20 {
		if again := reportText(t, Norms(r.input(t))); again != first {
			t.Fatalf("a second check says\n%s\nafter\n%s", again, first)
		}
	}
}

func nan() float32          { return float32(math.NaN()) }
func inf() float32          { return float32(math.Inf(1)) }
func at(row, col int) int   { return row*testWidth + col }
func norm(r *run) []float32 { return r.data["result_norm"] }
func nextUp(v float32) float32 {
	return math.Float32frombits(math.Float32bits(v) + 1)
}

// renorm replaces the outputs of the third norm by those of another formula.
func renorm(r *run, f func(x float64, mean, w float64) float64) {
	x, w := r.data["l_out-0"], r.file["output_norm.weight"]
	for row := range testTokens {
		var mean float64
		for i := range testWidth {
			mean += math.Pow(float64(x[at(row, i)]), 2) / testWidth
		}
		for i := range testWidth {
			norm(r)[at(row, i)] = float32(f(float64(x[at(row, i)]), mean, float64(w[i])))
		}
	}
	r.ref["result_norm"] = append([]float32(nil), norm(r)...) // so that the norm alone is to blame
}

func renormOf(r *run, x []float32) {
	copy(norm(r), rmsNorm(x, r.file["output_norm.weight"], testEps))
}

func eps(e float64) func(*run) {
	return func(r *run) {
		renorm(r, func(x, mean, w float64) float64 { return x / math.Sqrt(mean+float64(float32(e))) * w })
	}
}

func setRow(data []float32, row int, v float32) {
	for i := range testWidth {
		data[at(row, i)] = v
	}
}

func clearTail(data []float32, n int) {
	for row := range len(data) / testWidth {
		for i := testWidth - n; i < testWidth; i++ {
			data[at(row, i)] = 77
		}
	}
}

// scaleDown makes all inputs so small that eps decides, which shows eps' own faults.
func scaleDown(r *run, by float32) {
	for _, s := range []string{"embd", "attn_out-0", "ffn_out-0"} {
		for i := range r.data[s] {
			r.data[s][i] *= by
		}
	}
	for i := range r.file["blk.0.ffn_down.bias"] {
		r.file["blk.0.ffn_down.bias"][i] *= by
	}
	r.compute()
}

var faults = []struct {
	name   string
	spoil  func(r *run)
	site   string
	aspect string
	reason []string // words of the reason
}{
	// What diagnose.go knows of norms.
	{"eps 0", eps(0), "result_norm", "norm", []string{"eps is 0, the file says 1e-05", "worst at token"}},
	{"eps 1e-8", func(r *run) { scaleDown(r, 1e-2); eps(1e-8)(r) }, "result_norm", "norm",
		[]string{"eps is 1e-08, the file says 1e-05"}},
	{"eps 1e-12", func(r *run) { scaleDown(r, 1e-4); eps(1e-12)(r) }, "result_norm", "norm", []string{"eps is 1e-12,"}},
	{"eps 1e-6", eps(1e-6), "result_norm", "norm", []string{"eps is 1e-06, the file says 1e-05"}},
	{"eps 1e-4", eps(1e-4), "result_norm", "norm", []string{"eps is 0.0001, the file says 1e-05"}},
	{"eps 1e-3", eps(1e-3), "result_norm", "norm", []string{"eps is 0.001, the file says 1e-05"}},
	{"another norm's weight", func(r *run) {
		copy(norm(r), rmsNorm(r.data["l_out-0"], r.file["blk.0.ffn_norm.weight"], testEps))
	}, "result_norm", "norm", []string{"the weight bound to it is blk.0.ffn_norm.weight, not output_norm.weight"}},
	{"norm without the residual", func(r *run) { renormOf(r, r.data["ffn_inp-0"]) }, "result_norm", "norm",
		[]string{"the residual was not added before the norm"}},
	{"norm with the residual twice", func(r *run) {
		twice := plus(plus(r.data["ffn_inp-0"], r.data["ffn_out-0"]), r.data["ffn_out-0"])
		renormOf(r, plus(twice, r.file["blk.0.ffn_down.bias"]))
	}, "result_norm", "norm",
		[]string{"the residual was added twice before the norm"}},
	{"norm without the bias", func(r *run) { renormOf(r, plus(r.data["ffn_inp-0"], r.data["ffn_out-0"])) },
		"result_norm", "norm",
		[]string{"the bias blk.0.ffn_down.bias was not added before the norm"}},
	{"eps outside the root", func(r *run) {
		renorm(r, func(x, mean, w float64) float64 { return x / (math.Sqrt(mean) + float64(float32(testEps))) * w })
	}, "result_norm", "norm", []string{"eps stands outside the root"}},
	{"mean over n-1", func(r *run) {
		renorm(r, func(x, mean, w float64) float64 {
			return x / math.Sqrt(mean*testWidth/(testWidth-1)+testEps) * w
		})
	}, "result_norm", "norm", []string{"the mean is over n-1 elements"}},
	{"1 added to the weight", func(r *run) {
		renorm(r, func(x, mean, w float64) float64 { return x / math.Sqrt(mean+testEps) * (1 + w) })
	}, "result_norm", "norm", []string{"1 was added to the weight"}},
	{"weight left out", func(r *run) {
		renorm(r, func(x, mean, _ float64) float64 { return x / math.Sqrt(mean+testEps) })
	}, "result_norm", "norm", []string{"the weight was not applied"}},
	{"no known formula", func(r *run) {
		renorm(r, func(x, mean, w float64) float64 { return x / math.Sqrt(mean+testEps) * w * 1.01 })
	}, "result_norm", "norm", []string{"200 of 200 elements are outside the bound", "worst at token"}},

	// Where a norm is wrong.
	{"nothing written over zeros", func(r *run) { clear(norm(r)) }, "result_norm", "norm",
		[]string{"the output is all zero: nothing was written"}},
	{"nothing written over the norm before", func(r *run) { copy(norm(r), r.data["ffn_norm-0"]) }, "result_norm",
		"norm",
		[]string{"the output is still that of ffn_norm-0: nothing was written"}},
	{"last element unwritten", func(r *run) { clearTail(norm(r), 1) }, "result_norm", "norm",
		[]string{"only the last element of the row is wrong, in 5 of 5 rows: the row's tail is not written"}},
	{"last seven unwritten", func(r *run) { clearTail(norm(r), 7) }, "result_norm", "norm",
		[]string{"only the last 7 of 40 elements of the row are wrong, in 5 of 5 rows: the row's tail is not written"}},
	{"second half unwritten", func(r *run) { clearTail(norm(r), 20) }, "result_norm", "norm",
		[]string{"only the last 20 of 40 elements"}},
	{"one row wrong", func(r *run) { setRow(norm(r), 3, 0.25) }, "result_norm", "norm",
		[]string{"1 of 5 rows are wrong, tokens 3 to 3"}},
	{"two rows wrong", func(r *run) { setRow(norm(r), 1, 0.25); setRow(norm(r), 3, -4) }, "result_norm", "norm",
		[]string{"2 of 5 rows are wrong, tokens 1 to 3"}},
	{"one element late in a row is no tail", func(r *run) { norm(r)[at(2, testWidth-2)] *= 2 }, "result_norm", "norm",
		[]string{"1 of 5 rows are wrong, tokens 2 to 2", "worst at token 2, channel 38"}},
	{"a lane late in every row is no tail", func(r *run) {
		for row := range testTokens {
			norm(r)[at(row, 30)] += 1
		}
	}, "result_norm", "norm", []string{"5 of 200 elements are outside the bound", "channel 30"}},
	{"NaN lane", func(r *run) {
		for row := range testTokens {
			norm(r)[at(row, 17)] = nan()
		}
	}, "result_norm", "norm", []string{"5 of 200 elements are outside the bound", "token 0, channel 17 is NaN"}},
	{"one NaN", func(r *run) { norm(r)[at(4, 39)] = nan() }, "result_norm", "norm",
		[]string{"tokens 4 to 4", "token 4, channel 39 is NaN"}},
	{"one Inf", func(r *run) { norm(r)[at(0, 0)] = inf() }, "result_norm", "norm",
		[]string{"token 0, channel 0 is +Inf"}},
	{"minus Inf", func(r *run) { norm(r)[at(1, 0)] = -inf() }, "result_norm", "norm",
		[]string{"token 1, channel 0 is -Inf"}},
	{"first norm", func(r *run) { r.data["attn_norm-0"][0] += 0.01 }, "attn_norm-0", "norm",
		[]string{"worst at token 0, channel 0"}},
	{"two sites, the first is named", func(r *run) { norm(r)[0]++; r.data["ffn_norm-0"][at(1, 1)]++ }, "ffn_norm-0",
		"norm",
		[]string{"token 1, channel 1"}},
	{"all zero", func(r *run) {
		for _, s := range []string{"embd", "attn_out-0", "ffn_out-0"} {
			clear(r.data[s])
		}
		clear(r.file["blk.0.ffn_down.bias"])
		r.compute()
	}, "attn_norm-0", "norm", []string{"every expected value is zero, so that nothing was measured"}},
	{"inputs are NaN and so is the output", func(r *run) { setRow(r.data["embd"], 0, nan()); r.compute() },
		"attn_norm-0", "norm",
		[]string{"1 of 5 rows are wrong", "NaN"}},
	{"inputs are Inf", func(r *run) { r.data["embd"][5] = inf(); r.compute() }, "attn_norm-0", "norm",
		[]string{"1 of 5 rows are wrong"}},
	// The bound is infinite with the weight, and must not excuse what is finite.
	{"infinite weight in the file", func(r *run) {
		w := r.file["output_norm.weight"]
		w[2] = inf()
		r.device["result_norm"][2] = inf()
	}, "result_norm", "norm", []string{"5 of 200 elements"}},
	{"NaN weight in the file and on the device", func(r *run) {
		r.file["output_norm.weight"][2] = nan()
		r.compute()
	}, "result_norm", "norm", []string{"channel 2 is NaN"}},

	// The stream.
	{"write-back missing", func(r *run) { copy(r.data["ffn_inp-0"], r.data["embd"]) }, "ffn_norm-0", "stream",
		[]string{"the write-back of the residual sum is missing"}},
	{"write-back missing in the biased norm", func(r *run) { copy(r.data["l_out-0"], r.data["ffn_inp-0"]) },
		"result_norm", "stream",
		[]string{"the write-back of the residual sum is missing"}},
	{"residual twice", func(r *run) { copy(r.data["ffn_inp-0"], plus(r.data["ffn_inp-0"], r.data["attn_out-0"])) },
		"ffn_norm-0", "stream",
		[]string{"the residual was added twice"}},
	{"residual twice and the bias", func(r *run) {
		twice := plus(plus(r.data["ffn_inp-0"], r.data["ffn_out-0"]), r.data["ffn_out-0"])
		copy(r.data["l_out-0"], plus(twice, r.file["blk.0.ffn_down.bias"]))
	}, "result_norm", "stream", []string{"the residual was added twice"}},
	{"bias left out", func(r *run) { copy(r.data["l_out-0"], plus(r.data["ffn_inp-0"], r.data["ffn_out-0"])) },
		"result_norm", "stream",
		[]string{"the residual was added without the bias blk.0.ffn_down.bias"}},
	{"bias alone", func(r *run) { copy(r.data["l_out-0"], plus(r.data["ffn_inp-0"], r.file["blk.0.ffn_down.bias"])) },
		"result_norm", "stream",
		[]string{"the bias blk.0.ffn_down.bias was added without the residual"}},
	{"one bit of the stream", func(r *run) { s := r.data["l_out-0"]; s[at(2, 9)] = nextUp(s[at(2, 9)]) }, "result_norm",
		"stream",
		[]string{"stream is not stream + residual in 1 of 200 elements", "first at token 2, channel 9"}},
	{"NaN in the stream", func(r *run) { r.data["l_out-0"][at(1, 3)] = nan() }, "result_norm", "stream",
		[]string{"in 1 of 200 elements; first at token 1, channel 3: NaN for"}},
	{"NaN in the residual and in the stream", func(r *run) { r.data["ffn_out-0"][at(1, 3)] = nan(); r.compute() },
		"result_norm", "stream",
		[]string{"in 1 of 200 elements; first at token 1, channel 3: NaN for NaN", "norm: "}},
	{"Inf in the stream", func(r *run) { r.data["l_out-0"][at(1, 3)] = inf() }, "result_norm", "stream",
		[]string{"channel 3: +Inf for"}},
	{"sign of a zero", func(r *run) {
		r.data["embd"][0], r.data["attn_out-0"][0] = 0, 0
		r.compute()
		r.data["ffn_inp-0"][0] = float32(math.Copysign(0, -1))
	}, "ffn_norm-0", "stream", []string{"in 1 of 200 elements; first at token 0, channel 0: -0 for 0"}},
	{"subnormal flushed", func(r *run) {
		r.data["embd"][0], r.data["attn_out-0"][0] = 0x1p-130, 0x1p-131
		r.compute()
		r.data["ffn_inp-0"][0] = 0
	}, "ffn_norm-0", "stream", []string{"the device takes numbers below 1.2e-38 for zero, in 1 of 200 elements"}},

	// Weights.
	{"weight swapped on the device", func(r *run) {
		r.device["ffn_norm-0"] = r.device["result_norm"]
		copy(r.data["ffn_norm-0"], rmsNorm(r.data["ffn_inp-0"], r.file["output_norm.weight"], testEps))
	}, "ffn_norm-0", "weights", []string{"the device's weight is output_norm.weight, not blk.0.ffn_norm.weight",
		"norm: the weight bound to it is output_norm.weight"}},
	{"one bit of a weight", func(r *run) { w := r.device["ffn_norm-0"]; w[11] = nextUp(w[11]) }, "ffn_norm-0",
		"weights",
		[]string{"differs from blk.0.ffn_norm.weight in 1 of 40 elements", "at channel 11"}},
	{"NaN in a weight", func(r *run) { r.device["ffn_norm-0"][11] = nan() }, "ffn_norm-0", "weights",
		[]string{"NaN for", "at channel 11"}},
	{"sign of a zero weight", func(r *run) {
		r.file["blk.0.ffn_norm.weight"][4] = 0
		r.compute()
		r.device["ffn_norm-0"][4] = float32(math.Copysign(0, -1))
	}, "ffn_norm-0", "weights", []string{"-0 for 0 at channel 4"}},
	{"short weight on the device", func(r *run) { r.device["ffn_norm-0"] = r.device["ffn_norm-0"][1:] }, "ffn_norm-0",
		"weights",
		[]string{"the device's weight has 39 elements, blk.0.ffn_norm.weight has 40"}},

	// Parts that are missing or misshapen.
	{"output not captured", func(r *run) { r.missing = []string{"ffn_norm-0"} }, "ffn_norm-0", "norm",
		[]string{"site ffn_norm-0 was not captured"}},
	{"stream not captured", func(r *run) { r.missing = []string{"l_out-0"} }, "result_norm", "norm",
		[]string{"site l_out-0 was not captured"}},
	{"residual not captured", func(r *run) { r.missing = []string{"attn_out-0"} }, "ffn_norm-0", "norm",
		[]string{"site attn_out-0 was not captured"}},
	{"nothing captured", func(r *run) { clear(r.data) }, "attn_norm-0", "norm", []string{"site embd was not captured"}},
	{"another width", func(r *run) { r.width = map[string]int{"attn_out-0": 20} }, "ffn_norm-0", "norm",
		[]string{"site attn_out-0 is [10, 20], expected [5, 40]"}},
	{"a row short", func(r *run) { r.data["ffn_norm-0"] = r.data["ffn_norm-0"][testWidth:] }, "ffn_norm-0", "norm",
		[]string{"site ffn_norm-0 is [4, 40], expected [5, 40]"}},
	{"no tokens", func(r *run) { r.tokens = nil }, "attn_norm-0", "norm", []string{"no tokens were run"}},
	{"weight not in the file", func(r *run) { delete(r.file, "output_norm.weight") }, "result_norm", "norm",
		[]string{"weight output_norm.weight: the file has no tensor output_norm.weight"}},
	{"bias not in the file", func(r *run) { delete(r.file, "blk.0.ffn_down.bias") }, "result_norm", "norm",
		[]string{"bias blk.0.ffn_down.bias: the file has no"}},
	{"bias of another width", func(r *run) { r.file["blk.0.ffn_down.bias"] = make([]float32, 3) }, "result_norm",
		"norm",
		[]string{"bias blk.0.ffn_down.bias has 3 elements, expected 40"}},
	{"empty weight", func(r *run) { r.file["blk.0.ffn_norm.weight"] = nil }, "ffn_norm-0", "norm",
		[]string{"site embd is [5, 40], expected [5, 0]"}},
	{"no norms", func(r *run) { r.sites = nil }, "", "", []string{"no norm was checked"}},

	// Drift.
	{"drift", func(r *run) {
		for i := range r.ref["ffn_norm-0"] {
			r.ref["ffn_norm-0"][i] *= 1.001
		}
	}, "ffn_norm-0", "drift", []string{"NMSE 9.98e-07 against the reference run, bound 9.31e-10",
		"the norm itself is right, its input is not"}},
	{"one value off in the reference", func(r *run) { r.ref["result_norm"][at(3, 5)] += 2 }, "result_norm", "drift",
		[]string{"largest at token 3, channel 5"}},
	{"NaN in the reference", func(r *run) { r.ref["ffn_norm-0"][at(2, 1)] = nan() }, "ffn_norm-0", "drift",
		[]string{"NMSE NaN", "largest at token 2, channel 1", "for NaN"}},
	{"Inf in the reference", func(r *run) { r.ref["ffn_norm-0"][at(2, 1)] = inf() }, "ffn_norm-0", "drift",
		[]string{"token 2, channel 1", "for +Inf"}},
	{"all-zero reference", func(r *run) { clear(r.ref["ffn_norm-0"]) }, "ffn_norm-0", "drift",
		[]string{"the reference is all zero"}},
	{"reference without the site", func(r *run) { delete(r.ref, "ffn_norm-0") }, "ffn_norm-0", "drift",
		[]string{"reference run: site ffn_norm-0 was not captured"}},
	{"reference of another shape", func(r *run) { r.ref["ffn_norm-0"] = r.ref["ffn_norm-0"][:testWidth] }, "ffn_norm-0",
		"drift",
		[]string{"reference run: site ffn_norm-0 is [1, 40], expected [5, 40]"}},
}

func TestEveryFault(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			r := newRun()
			c.spoil(r)
			report := Norms(r.input(t))
			if report.Verdict != Fail || report.ExitCode() != 1 || report.First == nil {
				t.Fatalf("verdict %s, exit code %d, first fault %+v, want a failure", report.Verdict, report.ExitCode(),
					report.First)
			}
			f := report.First
			if f.Site != c.site || f.Aspect != c.aspect {
				t.Errorf("named %q, %q, want %q, %q: %s", f.Site, f.Aspect, c.site, c.aspect, f.Reason)
			}
			for _, s := range r.sites {
				if s.Site == f.Site && (f.Op != s.Op || f.Layer != s.Layer) {
					t.Errorf("%s is blamed on %s in layer %d, want %s, %d", s.Site, f.Op, f.Layer, s.Op, s.Layer)
				}
			}
			for _, words := range c.reason {
				if !strings.Contains(f.Reason, words) {
					t.Errorf("the reason %q does not say %q", f.Reason, words)
				}
			}
			if report.Passed+report.Failed+report.Missed != len(r.sites) || len(r.sites) > 0 && report.Failed == 0 {
				t.Errorf("%d passed, %d failed, %d unmeasured of %d", report.Passed, report.Failed, report.Missed,
					len(r.sites))
			}
			// Whatever happened, it can be written down and read again.
			if text := reportText(t, report); !strings.Contains(text, c.reason[0]) {
				t.Errorf("the table does not say %q:\n%s", c.reason[0], text)
			}
			if back := throughJSON(t, report); !equalReports(back, report) {
				t.Errorf("JSON changed the report to %+v", back)
			}
		})
	}
}
