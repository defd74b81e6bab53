package engine_test

import (
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/engine"
	"cera/gguf"
)

// faulty is a backend whose norms go wrong at the nth norm of a pass.
type faulty struct {
	backend.Backend
	at    int // norm number, from 0
	count int
	fault func(b backend.Backend, n normCall)
}

// normCall is one call of a norm kernel: its operands, and how to run it.
type normCall struct {
	dst, stream, w *backend.Tensor
	eps            *float32
	run            func()
}

func (f *faulty) norm(c normCall) {
	if f.count == f.at {
		f.fault(f.Backend, c)
	} else {
		c.run()
	}
	f.count++
}

func (f *faulty) RMSNorm(dst, src, w backend.Tensor, eps float32) {
	f.norm(normCall{&dst, &src, &w, &eps, func() { f.Backend.RMSNorm(dst, src, w, eps) }})
}

func (f *faulty) AddRMSNorm(dst, src, residual, w backend.Tensor, eps float32) {
	f.norm(normCall{&dst, &src, &w, &eps, func() { f.Backend.AddRMSNorm(dst, src, residual, w, eps) }})
}

func (f *faulty) FusedResidualRMSNorm(p backend.FusedNorm) {
	f.norm(normCall{&p.Out, &p.Sum, &p.Gamma, &p.Eps, func() { f.Backend.FusedResidualRMSNorm(p) }})
}

// copyOf copies a tensor on the device.
func copyOf(b backend.Backend, t backend.Tensor) backend.Tensor {
	c := b.Alloc("copy", t.Rows, t.N)
	b.Copy(c, t)
	return c
}

// TestFaultDrill injects faults into the kernel calls of one norm; the check must name that norm and what is wrong.
func TestFaultDrill(t *testing.T) {
	const (
		at   = 3 // embd, attn_norm-0, ffn_norm-0, attn_norm-1, ffn_norm-1
		site = "ffn_norm-1"
	)
	var other backend.Tensor // an earlier norm's weight
	for _, c := range []struct {
		name  string
		fault func(b backend.Backend, n normCall)
		want  []string // in the reason
	}{
		{"eps 1e-6 for 1e-5", func(_ backend.Backend, n normCall) {
			*n.eps = 1e-6
			n.run()
		}, []string{"eps", "1e-06"}},
		{"write-back left out", func(b backend.Backend, n normCall) {
			before := copyOf(b, *n.stream)
			n.run()
			b.Copy(*n.stream, before)
		}, []string{"write-back"}},
		{"another layer's weight", func(_ backend.Backend, n normCall) {
			*n.w = other
			n.run()
		}, []string{"blk.0.ffn_norm.weight"}},
		{"last element unwritten", func(b backend.Backend, n normCall) {
			last := *n.dst
			last.Off += last.N - 1
			last.N = 1
			before := copyOf(b, last)
			n.run()
			b.Copy(last, before)
		}, []string{"last"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, device string) {
				for _, norms := range []string{"batch", "arena"} {
					t.Run(norms, func(t *testing.T) {
						n, err := engine.ParseNorms(norms)
						if err != nil {
							t.Fatal(err)
						}
						good, err := engine.OpenDevice(engine.Options{Device: device})
						if err != nil {
							t.Fatal(err)
						}
						file, err := gguf.Open("../testdata/archs/llama.gguf")
						if err != nil {
							t.Fatal(err)
						}
						bad := &faulty{Backend: good, at: at, fault: c.fault}
						e, err := engine.New(file, bad, engine.Options{Norms: n})
						if err != nil {
							t.Fatal(err)
						}
						defer e.Close()
						// The weight of norm 1 is seen when it runs.
						bad.at = 1
						bad.fault = func(b backend.Backend, n normCall) {
							other = *n.w
							n.run()
							bad.at, bad.fault = at, c.fault
						}
						report, err := e.Check(ctx, engine.DefaultTokens(64, 12), engine.DriftAuto)
						if err != nil {
							t.Fatal(err)
						}
						if report.ExitCode() != 1 || report.Verdict != check.Fail {
							t.Fatalf("verdict %v, exit code %d, want a failure and 1", report.Verdict,
								report.ExitCode())
						}
						if report.First == nil || report.First.Site != site {
							t.Fatalf("named %+v, want %s", report.First, site)
						}
						for _, w := range c.want {
							if !strings.Contains(report.First.Reason, w) {
								t.Errorf("the reason %q does not say %q", report.First.Reason, w)
							}
						}
						t.Log(report.First.Reason)
					})
				}
			})
		})
	}
}

// TestNoFault checks every llama variant with both kernels on both devices: nothing fails and nothing is left out.
func TestNoFault(t *testing.T) {
	for _, v := range []string{"llama", "llama3-ropefreqs", "llama-obias", "llama-mqa-hd24", "llama-odd"} {
		t.Run(v, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, device string) {
				for _, norms := range []string{"batch", "arena"} {
					n, _ := engine.ParseNorms(norms)
					e := open(t, "../testdata/archs/"+v+".gguf", engine.Options{Device: device, Norms: n})
					report, err := e.Check(ctx, engine.DefaultTokens(64, 12), engine.DriftAuto)
					if err != nil {
						t.Fatal(err)
					}
					if report.Verdict != check.Pass || report.ExitCode() != 0 {
						t.Errorf("%s norms: verdict %v, first %+v", norms, report.Verdict, report.First)
					}
					if want := 2*e.Config().Layers + 1; len(report.Sites) != want {
						t.Errorf("%s norms: %d sites were checked, want %d", norms, len(report.Sites), want)
					}
				}
			})
		})
	}
}
