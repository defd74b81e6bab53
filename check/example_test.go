package check_test

import (
	"fmt"
	"os"

	"cera/backend"
	"cera/check"
	"cera/layers"
	"cera/trace"
)

// A kernel that takes eps as 1e-6 where the file says 1e-5.
func ExampleNorms() {
	tr := trace.New()
	for _, s := range []struct {
		site string
		row  []float32
	}{
		{"embd", []float32{0.1, -0.2, 0.3, 0.2}},
		{"attn_norm-0", []float32{0.47139928, -0.94279857, 1.4141978, 0.94279857}},
	} {
		if err := tr.Append(s.site, 1, len(s.row), s.row); err != nil {
			panic(err)
		}
	}
	weight := []float32{1, 1, 1, 1}
	report := check.Norms(check.Input{
		Model:  "example.gguf",
		Info:   backend.Info{Backend: "cpu", Adapter: "any"},
		Tokens: []int32{1},
		Trace:  tr,
		Sites: []layers.NormSite{{
			Site: "attn_norm-0", Op: "rmsnorm_batch", In: "embd", Weight: "blk.0.attn_norm.weight", Eps: 1e-5,
		}},
		FileWeights:   func(string) ([]float32, error) { return weight, nil },
		DeviceWeights: map[string][]float32{"attn_norm-0": weight},
		DriftReason:   "there is no reference run",
	})
	fmt.Println(report.Verdict, report.ExitCode())
	fmt.Println(report.First.Site, report.First.Aspect)
	if err := report.WriteTable(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// FAIL 1
	// attn_norm-0 norm
	// model   example.gguf
	// device  cpu: any
	// tokens  1
	//
	// site         made by        stream  norm, error/bound  weights  drift, NMSE  verdict
	// attn_norm-0  rmsnorm_batch  -       FAIL 1e+02         PASS     UNMEASURED   FAIL
	//
	// drift is UNMEASURED: there is no reference run
	// first fault: attn_norm-0 (rmsnorm_batch), norm: eps is 1e-06, the file says 1e-05; worst at token 0, channel 0: 0.471399277 for 0.471352145, 105 times the bound
	// FAIL: 0 norms passed, 1 failed, 0 unmeasured
}
