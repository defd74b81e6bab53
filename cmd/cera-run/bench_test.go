package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cera/engine"
	"cera/kernelbench"
)

// smallKernels makes bench --kernels measure a tiny shape, shortly.
func smallKernels(t *testing.T) {
	t.Helper()
	kernelOptions = kernelbench.Options{
		Shapes:  []kernelbench.Shape{{Name: "tiny", Dim: 256, FF: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 320}},
		MinTime: time.Millisecond, Samples: 2, NormRows: []int{1}, Prompts: []int{2}, Depths: []int{5},
	}
	t.Cleanup(func() { kernelOptions = kernelbench.Options{} })
}

// benchRecords is the JSON of --kernels, and of --profile where there is a GPU.
func benchRecords(t *testing.T) [][]byte {
	t.Helper()
	smallKernels(t)
	args := [][]string{{"bench", "--kernels", "--device", "cpu", "--quiet", "--only", "*/[amr]*", "-o", "json"}}
	be, err := engine.OpenDevice(engine.Options{Device: "gpu"})
	if err == nil {
		be.Close()
		args = append(args,
			[]string{"bench", "--kernels", "--device", "gpu", "--quiet", "--only", "*/attention/*", "-o", "json"},
			[]string{"bench", "--profile", filepath.Join(t.TempDir(), "trace.json"), "--quiet", "-p", "4", "-n", "2", "-o", "json"})
	}
	var records [][]byte
	for _, a := range args {
		var out, errOut writer
		if got := run(context.Background(), a, &out, &errOut); got != 0 {
			t.Fatalf("%q: exit code %d\n%s%s", a, got, out.text, errOut.text)
		}
		records = append(records, []byte(out.text))
	}
	return records
}

// TestBenchKernels: every form of the output has the same cases.
func TestBenchKernels(t *testing.T) {
	smallKernels(t)
	for format, lines := range map[string]int{"table": 4, "markdown": 5, "csv": 1} {
		var out, errOut writer
		args := []string{"bench", "--kernels", "--device", "cpu", "--only", "tiny/r*", "-o", format}
		if got := run(context.Background(), args, &out, &errOut); got != 0 {
			t.Fatalf("%q: exit code %d\n%s%s", args, got, out.text, errOut.text)
		}
		for _, name := range []string{"rmsnorm_batch", "rope"} {
			if !strings.Contains(out.text, name) {
				t.Errorf("%s: no %s in\n%s", format, name, out.text)
			}
		}
		const cases = 7 // a norm of one row, rope and, with a store of two kinds, of one and of two
		if got := strings.Count(out.text, "\n"); got != lines+cases {
			t.Errorf("%s: %d lines, expected %d\n%s", format, got, lines+cases, out.text)
		}
		if !strings.Contains(errOut.text, "kernel 5 of 7: tiny/rope/2x256") {
			t.Errorf("%s: progress %q", format, errOut.text)
		}
	}
}

// TestWriteBench: a load stands before what was measured of the same model.
func TestWriteBench(t *testing.T) {
	result := func(test string, rate float64) engine.BenchResult {
		return engine.BenchResult{Test: test, Median: rate, Least: rate / 2, Most: rate * 2, Commands: 7}
	}
	load := engine.LoadResult{Bytes: 3e9, Upload: 2, Rate: 1.5, Open: 2.5, FirstToken: 3}
	all := &benchRecord{
		Loads:   []benchLoad{{"a", "d", load}, {"b", "d", load}},
		Results: []benchLine{{"a", "d", "", result("pp4", 10)}, {"a", "d", "", result("tg2", 1)}, {"b", "d", "", result("pp4", 20)}, {"b", "d", "", result("tg2", 2)}},
	}
	const head = "model,device,test,tokens/s,least,most,commands,load GB/s,load s,first token s\n"
	for name, c := range map[string]struct {
		all  *benchRecord
		want string
	}{
		"two models": {all, head + `a,d,load,,,,,1.50,2.50,3.00
a,d,pp4,10.00,5.00,20.00,7,,,
a,d,tg2,1.00,0.50,2.00,7,,,
b,d,load,,,,,1.50,2.50,3.00
b,d,pp4,20.00,10.00,40.00,7,,,
b,d,tg2,2.00,1.00,4.00,7,,,
`},
		"a load alone": {&benchRecord{Loads: all.Loads[:1]}, head + "a,d,load,,,,,1.50,2.50,3.00\n"},
	} {
		var out bytes.Buffer
		if err := writeBench(&out, "csv", c.all); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%s: found\n%s\nexpected\n%s", name, out.String(), c.want)
		}
	}
}

func TestWriteProfiles(t *testing.T) {
	p := &engine.Profile{
		Test: "tg3", Passes: 3, Commands: 2, Plain: 10, Profiled: 20, Busy: 8, Gaps: 1, Between: 0.5,
		Ops: []engine.ProfileOp{{
			Op: "matmul, of all", Kernels: []string{"a", "b"}, Count: 3, Commands: 6, Total: 24, Share: 1, Median: 7.5, Gap: 3, GBps: 12.25,
		}},
		Layers: []engine.ProfileLayer{{Layer: -1, Commands: 1, Time: 2}, {Layer: 0, Commands: 1, Time: 6, Gap: 1}},
	}
	for format, want := range map[string]string{
		"table": `m on d: tg3, 3 passes of 2 commands
a pass takes 10.0 us without a profile, and with one 20.0 us: 8.0 in commands, 1.0 in gaps between them, 0.5 between submits
each timed command has a pass of its own, which lengthens the gaps and keeps the host from running ahead

op              kernels  runs  commands  total us  share  median us  GB/s  TFLOP/s  gap us
matmul, of all  a, b     3     6         24.0      1.000  7.50       12.2           3.0

layer  commands a pass  us a pass  gap us
none   1                2.0        0.0
0      1                6.0        1.0
`,
		"csv": `model,device,test,op,kernels,runs,commands,total us,share,median us,GB/s,TFLOP/s,gap us
m,d,tg3,"matmul, of all","a, b",3,6,24.0,1.000,7.50,12.2,,3.0
`,
	} {
		var out bytes.Buffer
		if err := writeProfiles(&out, format, []profiled{{"m", "d", "", p}}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", format, out.String(), want)
		}
		if format == "csv" {
			if _, err := csv.NewReader(&out).ReadAll(); err != nil {
				t.Error(err)
			}
		}
	}
}
