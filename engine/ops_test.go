package engine_test

import (
	"testing"

	"cera/check"
	"cera/engine"
)

// TestOpsPass checks every op of every llama variant with both norm kernels on both devices.
func TestOpsPass(t *testing.T) {
	for _, v := range []string{"llama", "llama3-ropefreqs", "llama-obias", "llama-mqa-hd24", "llama-odd"} {
		t.Run(v, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, device string) {
				for _, norms := range []string{"batch", "arena"} {
					n, _ := engine.ParseNorms(norms)
					e := open(t, "../testdata/archs/"+v+".gguf", engine.Options{Device: device, Norms: n, UBatch: 7})
					report, err := e.CheckOps(ctx, engine.DefaultTokens(64, 12), engine.DriftOn, engine.OpFilter{})
					if err != nil {
						t.Fatal(err)
					}
					if report.Verdict != check.Pass || report.First != nil {
						t.Errorf("%s norms: verdict %v, first %+v", norms, report.Verdict, report.First)
					}
					// Embedding and head, and a block's 4 projections of attention, 2 ropes, 2 stores, attention, 3
					// matmuls and the activation of its MLP.
					if want := 2 + 13*e.Config().Layers; len(report.Ops) != want {
						t.Errorf("%s norms: %d ops were checked, want %d", norms, len(report.Ops), want)
					}
					worst := 0.0
					for _, op := range report.Ops {
						worst = max(worst, float64(op.Local.Ratio))
						if op.Local.Verdict != check.Pass || op.Drift.Verdict != check.Pass {
							t.Errorf("%s norms: %s: local %v %s, drift %v %s", norms, op.Site, op.Local.Verdict,
								op.Local.Reason, op.Drift.Verdict, op.Drift.Reason)
						}
					}
					t.Logf("%s norms: worst error over bound %.2g", norms, worst)
				}
			})
		})
	}
}
