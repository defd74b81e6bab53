package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/check"
	"cera/engine"
	"cera/gguf"
	"cera/tinymodel"
)

var drillOut = flag.String("drill-out", "", "write the table of the fault drill to this file")

// drillModel opens the model of a fault.
func drillModel(t *testing.T, name string) *gguf.File {
	t.Helper()
	if name == "" {
		name = "llama"
	}
	if name != "q4_0" {
		f, err := gguf.Open("../testdata/archs/" + name + ".gguf")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	o := tinymodel.Default()
	o.Layers, o.FF, o.Vocab, o.Format = 2, 96, 64, gguf.Q4_0
	var buf bytes.Buffer
	if _, err := tinymodel.Write(&buf, o); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// drilled runs both forms of the check with one fault.
func drilled(t *testing.T, device string, f fault) (norms, ops *check.Report) {
	t.Helper()
	be, err := engine.OpenDevice(engine.Options{Device: device})
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{Backend: be, f: f, saved: map[string][]byte{}}
	if f.load != nil {
		d.load = func(name string, _ backend.Format, data []byte) []byte { return f.load(d, name, data) }
	}
	batch, err := engine.ParseNorms("batch")
	if err != nil {
		t.Fatal(err)
	}
	// Twelve tokens in two batches: the second has a past.
	e, err := engine.New(drillModel(t, f.model), d, engine.Options{Norms: batch, UBatch: 8})
	if err != nil {
		t.Fatal(err)
	}
	return bothChecks(t, e)
}

// bothChecks runs both forms of the check, and closes the engine.
func bothChecks(t *testing.T, e *engine.Engine) (norms, ops *check.Report) {
	t.Helper()
	defer e.Close()
	tokens := engine.DefaultTokens(e.Config().Vocab, 12)
	norms, err := e.Check(ctx, tokens, engine.DriftOn)
	if err != nil {
		t.Fatal(err)
	}
	if ops, err = e.CheckOps(ctx, tokens, engine.DriftOn, engine.OpFilter{}); err != nil {
		t.Fatal(err)
	}
	return norms, ops
}

// kernelFault is a change of a kernel's text.
type kernelFault struct {
	name, file string
	old        string // in the file
	nth        int    // which of those, from 0, goes
	site       string // what must be named
}

const barrier = "workgroupBarrier();"

var kernelFaults = []kernelFault{
	{"barrier missing before a tile of a product is read", "matmul_panel.wgsl", barrier, 0, "Qcur-0"},
	{"barrier missing before a tile of a product is overwritten", "matmul_panel.wgsl", barrier, 1, "Qcur-0"},
	{"sum of squares taken for their mean, in the kernel", "inv_rms.tmpl", " / f32(n) + eps", 0, "attn_norm-0"},
}

// drilledKernel runs both forms of the check with a changed kernel.
func drilledKernel(t *testing.T, f kernelFault) (norms, ops *check.Report) {
	t.Helper()
	text, err := os.ReadFile("../shaders/" + f.file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), f.old)
	if len(parts) < f.nth+2 {
		t.Fatalf("%s has %q %d times, expected %d", f.file, f.old, len(parts)-1, f.nth+1)
	}
	changed := strings.Join(parts[:f.nth+1], f.old) + strings.Join(parts[f.nth+1:], f.old)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, f.file), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open("../testdata/archs/llama.gguf", engine.Options{Device: "gpu", Kernels: dir})
	if err != nil {
		t.Fatal(err)
	}
	return bothChecks(t, e)
}

// allFaults is the drill's table.
var allFaults = append(faults, archFaults...)

// TestDrill injects every fault of the table: the check fails and names the injected op and block. A fault that no norm
// can see must be named by the check of every op.
func TestDrill(t *testing.T) {
	if len(allFaults) < 50 {
		t.Fatalf("the drill has %d faults, expected at least 50", len(allFaults))
	}
	var table strings.Builder
	eachDevice(t, func(t *testing.T, device string) {
		for i, f := range allFaults {
			if device == "gpu" && !full() && i%3 != 0 { // they are injected around the backend, whichever it is
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				norms, ops := drilled(t, device, f)
				if ops.ExitCode() != 1 || ops.Failed == 0 || ops.First == nil || ops.First.Site != f.site {
					t.Errorf("every op: exit code %d, %d failed, named %+v, want %s", ops.ExitCode(), ops.Failed,
						ops.First, f.site)
				}
				seen := "passes: no norm is affected"
				switch {
				case norms.First != nil:
					seen = norms.First.Site
					if norms.ExitCode() != 1 || norms.First.Site != f.site {
						t.Errorf("norms: exit code %d, named %+v, want %s", norms.ExitCode(), norms.First, f.site)
					}
				case f.site != "result_output":
					// Whatever is wrong in a block reaches a norm after it.
					t.Errorf("norms: nothing was named, want %s", f.site)
				}
				if device == "cpu" && ops.First != nil {
					fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", f.name, f.site, seen, ops.First.Site,
						ops.First.Reason)
				}
			})
		}
	})
	t.Run("kernels", func(t *testing.T) {
		needDevice(t, "gpu")
		for _, f := range kernelFaults {
			t.Run(f.name, func(t *testing.T) {
				norms, ops := drilledKernel(t, f)
				if !norms.Device.Software && norms.Verdict == check.Pass && ops.Verdict == check.Pass {
					t.Skipf("SKIPPED: the threads of %s run in step, so that this barrier is not missed",
						norms.Device.Adapter)
				}
				for what, r := range map[string]*check.Report{"norms": norms, "every op": ops} {
					if r.ExitCode() != 1 || r.First == nil || r.First.Site != f.site {
						t.Errorf("%s: exit code %d, named %+v, want %s", what, r.ExitCode(), r.First, f.site)
					}
				}
				if norms.First != nil && ops.First != nil {
					// How far off the values are depends on the adapter, so the reason is not written down.
					fmt.Fprintf(&table, "| %s | %s | %s | %s | (differs from adapter to adapter) |\n", f.name, f.site,
						norms.First.Site, ops.First.Site)
				}
			})
		}
	})
	if *drillOut == "" {
		return
	}
	page := "# Fault drill\n\nGenerated by `make drill`: each fault is injected into one call of the running forward " +
		"pass, and the check must\n" +
		"name the op that was hit. The first column of names is the check of norms alone, which runs the blocks " +
		"again with\n" +
		"every op where a norm is right and its input is not; the second is the check of every op.\n\n" +
		"| fault | injected at | norms name | every op names | reason given |\n|---|---|---|---|---|\n" + table.String()
	if err := os.WriteFile(*drillOut, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDrillWithoutFault runs the drill's models without a fault: nothing fails.
func TestDrillWithoutFault(t *testing.T) {
	models := map[string]bool{}
	for _, f := range allFaults {
		models[f.model] = true
	}
	for model := range models {
		norms, ops := drilled(t, "cpu", fault{model: model})
		if norms.Verdict != check.Pass || ops.Verdict != check.Pass {
			t.Errorf("%s: norms %v %+v, every op %v %+v", model, norms.Verdict, norms.First, ops.Verdict, ops.First)
		}
	}
}
