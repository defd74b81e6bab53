package check

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"cera/layers"
	"cera/trace"
)

func TestNormsPass(t *testing.T) {
	s := goodSynth(t)
	r := Norms(s.Input)
	if r.Verdict != Pass || r.ExitCode() != 0 || r.First != nil || r.Passed != 2*synthLayers+1 ||
		r.Failed+r.Missed != 0 {
		t.Fatalf("verdict %v, exit code %d, first %+v, counts %d %d %d", r.Verdict, r.ExitCode(), r.First, r.Passed,
			r.Failed, r.Missed)
	}
	worst := 0.0
	for i, site := range r.Sites {
		if site.Site != s.Sites[i].Site || site.Verdict != Pass {
			t.Errorf("site %d is %s %s, want %s in forward order", i, site.Site, site.Verdict, s.Sites[i].Site)
		}
		if (site.Stream == nil) != (s.Sites[i].Delta == "") {
			t.Errorf("%s: stream %v with delta %q", site.Site, site.Stream, s.Sites[i].Delta)
		}
		worst = math.Max(worst, float64(site.Norm.Ratio))
	}
	// Rounding shows, or nothing was compared; and it is far from the bound.
	if !(worst > 0 && worst < 0.5) {
		t.Errorf("the largest error is %g of its bound", worst)
	}
	if again := Norms(s.Input); !reflect.DeepEqual(r, again) {
		t.Error("the same input gave another report")
	}
}

// TestFaults injects one fault a case into the norm of ffn_norm-1: the first fault must be there and be named.
func TestFaults(t *testing.T) {
	const site = "ffn_norm-1"
	for _, f := range []struct {
		name   string
		fault  func(c *call)
		aspect string
		want   []string // in the reason
	}{
		{"eps 1e-6", func(c *call) { c.eps = 1e-6; c.run() }, "norm", []string{"eps is 1e-06, the file says 1e-05"}},
		{"eps 1e-3", func(c *call) { c.eps = 1e-3; c.run() }, "norm", []string{"eps is 0.001"}},
		// Within the bound of several guesses, 1e-6 among them; the closest is named.
		{"eps 1e-8", func(c *call) { c.eps = 1e-8; c.run() }, "norm",
			[]string{"eps is ", "-08", "the file says 1e-05"}},
		{"eps outside the root", func(c *call) {
			c.run()
			for r := 0; r < len(c.out); r += synthWidth {
				var sum float64
				for _, v := range c.stream[r : r+synthWidth] {
					sum += float64(v) * float64(v)
				}
				for i, w := range c.weight {
					c.out[r+i] = float32(float64(c.stream[r+i]) / (math.Sqrt(sum/synthWidth) + synthEps) * float64(w))
				}
			}
		}, "norm", []string{"eps stands outside the root"}},
		{"mean over n-1", func(c *call) {
			c.run()
			for i := range c.out {
				c.out[i] *= float32(math.Sqrt((synthWidth - 1.0) / synthWidth))
			}
		}, "norm", []string{"mean is over n-1"}},
		{"another weight", func(c *call) {
			c.weight = append([]float32(nil), c.weight...)
			s := goodSynth(t)
			copy(c.weight, s.file["blk.0.ffn_norm.weight"])
			c.run()
		}, "norm", []string{"blk.0.ffn_norm.weight, not blk.1.ffn_norm.weight"}},
		{"weight plus one", func(c *call) {
			c.weight = append([]float32(nil), c.weight...)
			for i := range c.weight {
				c.weight[i]++
			}
			c.run()
		}, "norm", []string{"1 was added to the weight"}},
		{"no weight", func(c *call) {
			c.weight = make([]float32, synthWidth)
			for i := range c.weight {
				c.weight[i] = 1
			}
			c.run()
		}, "norm", []string{"the weight was not applied"}},
		{"residual not added to the norm", func(c *call) {
			c.run()
			stream := c.stream
			c.delta, c.bias = nil, nil
			c.run()
			c.stream = stream
		}, "norm", []string{"the residual was not added before the norm"}},
		{"write-back left out", func(c *call) { c.run(); c.stream = c.in }, "stream",
			[]string{"write-back of the residual sum is missing"}},
		{"residual twice", func(c *call) {
			c.in = append([]float32(nil), c.in...)
			for i, d := range c.delta {
				c.in[i] += d
			}
			c.run()
		}, "stream", []string{"the residual was added twice", "norm: the residual was added twice"}},
		{"bias forgotten", func(c *call) { c.bias = nil; c.run() }, "stream",
			[]string{"without the bias blk.1.attn_output.bias"}},
		{"one bit of the stream", func(c *call) {
			c.run()
			at := 7*synthWidth + 5
			c.stream[at] = math.Float32frombits(math.Float32bits(c.stream[at]) ^ 1)
		}, "stream", []string{"1 of 768 elements", "token 7, channel 5"}},
		{"NaN in the stream", func(c *call) { c.run(); c.stream[3*synthWidth+9] = float32(math.NaN()) }, "stream",
			[]string{"token 3, channel 9", "NaN"}},
		{"last element unwritten", func(c *call) {
			c.run()
			for r := range synthTokens {
				at := (r+1)*synthWidth - 1
				c.out[at] = c.outBefore[at]
			}
		}, "norm", []string{"only the last element of the row", "12 of 12 rows", "tail is not written"}},
		{"last three unwritten", func(c *call) {
			c.run()
			for r := range synthTokens {
				for k := 1; k <= 3; k++ {
					c.out[(r+1)*synthWidth-k] = 0
				}
			}
		}, "norm", []string{"only the last 3 of 64 elements", "tail is not written"}},
		{"one element", func(c *call) { c.run(); c.out[4*synthWidth+40] *= 1.001 }, "norm",
			[]string{"1 of 12 rows are wrong, tokens 4 to 4", "token 4, channel 40"}},
		{"NaN in the output", func(c *call) { c.run(); c.out[2*synthWidth+1] = float32(math.NaN()) }, "norm",
			[]string{"token 2, channel 1 is NaN"}},
		{"infinite output", func(c *call) { c.run(); c.out[0] = float32(math.Inf(1)) }, "norm",
			[]string{"token 0, channel 0 is +Inf"}},
		{"not run at all", func(c *call) { c.run(); c.out = c.outBefore }, "norm",
			[]string{"still that of attn_norm-1"}},
		{"zeros", func(c *call) { c.run(); c.out = make([]float32, len(c.out)) }, "norm", []string{"all zero"}},
		{"last tokens unwritten", func(c *call) {
			c.run()
			copy(c.out[9*synthWidth:], c.outBefore[9*synthWidth:])
		}, "norm", []string{"3 of 12 rows are wrong, tokens 9 to 11"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			r := Norms(newSynth(t, site, f.fault).Input)
			if r.Verdict != Fail || r.ExitCode() != 1 || r.First == nil {
				t.Fatalf("verdict %v, exit code %d, first %+v", r.Verdict, r.ExitCode(), r.First)
			}
			if r.First.Site != site || r.First.Op != "add_rmsnorm_batch" || r.First.Layer != 1 ||
				r.First.Aspect != f.aspect {
				t.Errorf("named %+v, want the %s of %s", r.First, f.aspect, site)
			}
			for _, w := range f.want {
				if !strings.Contains(r.First.Reason, w) {
					t.Errorf("the reason %q does not say %q", r.First.Reason, w)
				}
			}
		})
	}
}

// TestInputs changes what is handed to the check, not the run.
func TestInputs(t *testing.T) {
	zeros := make([]float32, synthTokens*synthWidth)
	rows := func(s *synth, tr *trace.Trace, site string, n int) []float32 {
		d, _, _, _ := tr.Data(site)
		return d[:n]
	}
	for _, c := range []struct {
		name    string
		change  func(s *synth)
		verdict Verdict
		site    string // of the first fault
		aspect  string
		want    string // in its reason
	}{
		{"no sites", func(s *synth) { s.Sites = nil }, Fail, "", "", "no norm was checked"},
		{"no tokens", func(s *synth) { s.Tokens = nil }, Fail, "attn_norm-0", "norm", "no tokens were run"},
		{"no trace", func(s *synth) { s.Trace = nil }, Fail, "attn_norm-0", "norm", "there is no trace"},
		{"empty trace", func(s *synth) { s.Trace = trace.New() }, Fail, "attn_norm-0", "norm",
			"site embd was not captured"},
		{"no file", func(s *synth) { s.FileWeights = nil }, Fail, "attn_norm-0", "norm", "no file"},
		{"missing output", func(s *synth) { s.Trace = replace(t, s.Trace, "ffn_norm-0", 0, 0, nil) }, Fail,
			"ffn_norm-0", "norm",
			"site ffn_norm-0 was not captured"},
		{"missing delta", func(s *synth) { s.Trace = replace(t, s.Trace, "attn_proj-1", 0, 0, nil) }, Fail,
			"ffn_norm-1", "norm",
			"site attn_proj-1 was not captured"},
		{"missing stream", func(s *synth) { s.Trace = replace(t, s.Trace, "ffn_inp-0", 0, 0, nil) }, Fail, "ffn_norm-0",
			"norm",
			"site ffn_inp-0 was not captured"},
		{"a token too few", func(s *synth) {
			s.Trace = replace(t, s.Trace, "ffn_norm-0", 11, 64, rows(s, s.Trace, "ffn_norm-0", 11*64))
		}, Fail, "ffn_norm-0", "norm", "ffn_norm-0 is [11, 64], expected [12, 64]"},
		{"another width", func(s *synth) {
			s.Trace = replace(t, s.Trace, "l_out-1", 12, 32, rows(s, s.Trace, "l_out-1", 12*32))
		},
			Fail, "result_norm", "norm", "l_out-1 is [12, 32], expected [12, 64]"},
		{"weight not in the file", func(s *synth) { delete(s.file, "blk.1.attn_norm.weight") }, Fail, "attn_norm-1",
			"norm",
			"blk.1.attn_norm.weight"},
		{"bias of another width", func(s *synth) { s.file["blk.1.attn_output.bias"] = make([]float32, 3) }, Fail,
			"ffn_norm-1", "norm",
			"blk.1.attn_output.bias has 3 elements, expected 64"},
		{"all zero", func(s *synth) {
			s.Trace = replace(t, s.Trace, "embd", synthTokens, synthWidth, zeros)
			s.Trace = replace(t, s.Trace, "attn_norm-0", synthTokens, synthWidth, zeros)
		}, Fail, "attn_norm-0", "norm", "zero"},
		{"infinite weight", func(s *synth) {
			// The expected value is infinite here, and so is a bound in proportion to it.
			w := append([]float32(nil), s.file["blk.0.attn_norm.weight"]...)
			w[0] = float32(math.Inf(1))
			s.file["blk.0.attn_norm.weight"], s.DeviceWeights["attn_norm-0"] = w, w
		}, Fail, "attn_norm-0", "norm", "Inf"},
		{"one bit of a weight", func(s *synth) {
			w := append([]float32(nil), s.file["output_norm.weight"]...)
			w[63] = math.Float32frombits(math.Float32bits(w[63]) ^ 1)
			s.DeviceWeights["result_norm"] = w
		}, Fail, "result_norm", "weights", "differs from output_norm.weight in 1 of 64 elements"},
		{"zero of another sign", func(s *synth) {
			s.file["output_norm.weight"][5] = 0
			w := append([]float32(nil), s.file["output_norm.weight"]...)
			w[5] = float32(math.Copysign(0, -1))
			s.DeviceWeights["result_norm"] = w
		}, Fail, "result_norm", "weights", "channel 5"},
		{"another site's weight on the device",
			func(s *synth) { s.DeviceWeights["ffn_norm-1"] = s.file["blk.0.ffn_norm.weight"] }, Fail,
			"ffn_norm-1", "weights", "is blk.0.ffn_norm.weight, not blk.1.ffn_norm.weight"},
		{"short weight on the device", func(s *synth) { s.DeviceWeights["ffn_norm-1"] = make([]float32, 63) }, Fail,
			"ffn_norm-1", "weights",
			"63 elements"},
		{"weights not read back", func(s *synth) { s.DeviceWeights = nil }, Unmeasured, "", "", ""},
		{"one weight not read back", func(s *synth) { delete(s.DeviceWeights, "ffn_norm-0") }, Unmeasured, "", "", ""},
		{"no reference", func(s *synth) { s.Reference, s.DriftReason = nil, "it was turned off" }, Pass, "", "", ""},
		{"empty reference", func(s *synth) { s.Reference = trace.New() }, Fail, "attn_norm-0", "drift",
			"attn_norm-0 was not captured"},
		{"all-zero reference", func(s *synth) {
			s.Reference = replace(t, s.Reference, "ffn_norm-0", synthTokens, synthWidth, zeros)
		}, Fail,
			"ffn_norm-0", "drift", "the reference is all zero"},
		{"NaN in the reference", func(s *synth) {
			d := append([]float32(nil), rows(s, s.Reference, "ffn_norm-0", len(zeros))...)
			d[100] = float32(math.NaN())
			s.Reference = replace(t, s.Reference, "ffn_norm-0", synthTokens, synthWidth, d)
		}, Fail, "ffn_norm-0", "drift", "NMSE NaN"},
		{"reference of another shape", func(s *synth) {
			s.Reference = replace(t, s.Reference, "result_norm", 24, 32,
				rows(s, s.Reference, "result_norm", len(zeros)))
		}, Fail, "result_norm", "drift", "[24, 32], expected [12, 64]"},
		{"drift", func(s *synth) {
			d := append([]float32(nil), rows(s, s.Reference, "result_norm", len(zeros))...)
			d[6*synthWidth+7] += 0.5
			s.Reference = replace(t, s.Reference, "result_norm", synthTokens, synthWidth, d)
		}, Fail, "result_norm", "drift", "token 6, channel 7"},
		{"weights that cannot be decoded", func(s *synth) {
			s.FileWeights = func(string) ([]float32, error) { return nil, errors.New("bad block") }
		}, Fail, "attn_norm-0", "norm", "bad block"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodSynth(t)
			c.change(s)
			r := Norms(s.Input)
			if r.Verdict != c.verdict || (r.ExitCode() == 0) != (c.verdict == Pass) {
				t.Errorf("verdict %v, exit code %d, want %v", r.Verdict, r.ExitCode(), c.verdict)
			}
			if c.verdict != Fail {
				if r.First != nil {
					t.Errorf("a fault was named: %+v", r.First)
				}
				return
			}
			if r.First == nil || r.First.Site != c.site || r.First.Aspect != c.aspect ||
				!strings.Contains(r.First.Reason, c.want) {
				t.Errorf("named %+v, want %s of %q: %q", r.First, c.aspect, c.site, c.want)
			}
		})
	}
}

// TestFirst has two faults; the one earlier in forward order is named, whatever order the sites were checked in.
func TestFirst(t *testing.T) {
	s := newSynth(t, "ffn_norm-1", func(c *call) { c.eps = 1e-3; c.run() })
	s.DeviceWeights["ffn_norm-0"] = s.file["output_norm.weight"]
	r := Norms(s.Input)
	if r.Failed != 2 || r.First.Site != "ffn_norm-0" {
		t.Errorf("%d sites failed, the first named is %+v", r.Failed, r.First)
	}
}

// single is a check of one norm over one row that adds, with weight w and eps 0.
func single(t *testing.T, in, delta, stream, out, w []float32) *Report {
	t.Helper()
	tr := trace.New()
	for _, s := range []struct {
		name string
		row  []float32
	}{{"embd", in}, {"attn_out-0", delta}, {"ffn_inp-0", stream}, {"ffn_norm-0", out}} {
		if err := tr.Append(s.name, 1, len(s.row), s.row); err != nil {
			t.Fatal(err)
		}
	}
	return Norms(Input{
		Tokens: []int32{0}, Trace: tr,
		Sites: []layers.NormSite{{
			Site: "ffn_norm-0", In: "embd", Delta: "attn_out-0", Stream: "ffn_inp-0", Weight: "blk.0.ffn_norm.weight",
		}},
		FileWeights:   func(string) ([]float32, error) { return w, nil },
		DeviceWeights: map[string][]float32{"ffn_norm-0": w},
	})
}

// TestSignedZero: the bits of the stream count, not its value.
func TestSignedZero(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	for _, zero := range []float32{0, negative} {
		r := single(t, []float32{1, 2}, []float32{-1, 1}, []float32{zero, 3}, []float32{0, math.Sqrt2}, []float32{1, 1})
		if got, want := r.Sites[0].Stream.Verdict == Pass, zero == 0 && !math.Signbit(float64(zero)); got != want {
			t.Errorf("1 - 1 = %g: passed %v, want %v", zero, got, want)
		}
	}
}

// TestSubnormal: an element that a GPU flushes to zero on the way is no error, a normal one that is lost is.
func TestSubnormal(t *testing.T) {
	for _, c := range []struct {
		x    float32
		pass bool
	}{{1e-37, true}, {1e-30, false}} {
		// The row's rms is 100, so that 1e-37 divided by it is subnormal, and 30 times that is 2.5 times the smallest
		// normal number.
		row := []float32{float32(100 * math.Sqrt2), c.x}
		r := single(t, row, []float32{0, 0}, row, []float32{math.Sqrt2, 0}, []float32{1, 30})
		if got := r.Sites[0].Norm.Verdict == Pass; got != c.pass {
			t.Errorf("%g flushed to zero: passed %v, want %v: %+v", c.x, got, c.pass, *r.Sites[0].Norm)
		}
	}
}

// TestUnchangedInput makes sure that the check does not write into the trace.
func TestUnchangedInput(t *testing.T) {
	s := newSynth(t, "ffn_norm-1", func(c *call) { c.run(); c.out[0]++ })
	before := map[string][]float32{}
	for _, site := range s.Trace.Sites() {
		d, _, _, _ := s.Trace.Data(site)
		before[site] = append([]float32(nil), d...)
	}
	Norms(s.Input)
	for _, site := range s.Trace.Sites() {
		if d, _, _, _ := s.Trace.Data(site); !reflect.DeepEqual(d, before[site]) {
			t.Errorf("%s was changed", site)
		}
	}
}
