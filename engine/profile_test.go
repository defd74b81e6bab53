package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/layers"
)

// profileOf profiles a model of the test data on the best adapter, software included.
func profileOf(t *testing.T, model string, o Options, b BenchOptions) (*Engine, []*Profile) {
	t.Helper()
	o.Device = "gpu"
	e, err := Open(filepath.Join("../testdata/archs", model), o)
	if errors.Is(err, ErrNoDevice) && os.Getenv("CERA_REQUIRE_GPU") == "" {
		t.Skipf("SKIPPED, nothing was tested on the GPU: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	profiles, err := e.Profile(context.Background(), b, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return e, profiles
}

// TestProfileNamesEveryOp: every op of every pass is in the profile, in its layer, and nothing else is.
func TestProfileNamesEveryOp(t *testing.T) {
	for _, tt := range []struct {
		model string
		o     Options
	}{
		{"llama.gguf", Options{UBatch: 4}},
		{"llama.gguf", Options{Norms: layers.NormsArena, KV: backend.F16}},
		{"llama-obias.gguf", Options{}},
		{"phi3.gguf", Options{}},
		{"gemma3.gguf", Options{}},
		{"olmo2.gguf", Options{}},
		{"gpt-oss.gguf", Options{}},
		{"qwen2moe.gguf", Options{}},
		{"starcoder2.gguf", Options{}},
	} {
		t.Run(tt.model, func(t *testing.T) {
			e, profiles := profileOf(t, tt.model, tt.o, BenchOptions{Prompt: 9, Generate: 3, Depth: 2})
			if len(profiles) != 2 || profiles[0].Test != "pp9" || profiles[1].Test != "tg3@2" {
				t.Fatalf("found %d profiles: %+v", len(profiles), profiles)
			}
			for _, p := range profiles {
				seen := make([]map[string]int, p.Passes)
				for i, ev := range p.Events {
					if ev.Pass < 0 || ev.Pass >= p.Passes {
						t.Fatalf("%s: command %d, %s, is of pass %d of %d", p.Test, i, ev.Name, ev.Pass, p.Passes)
					}
					if seen[ev.Pass] == nil {
						seen[ev.Pass] = map[string]int{}
					}
					for _, site := range ev.Sites {
						seen[ev.Pass][site] = ev.Layer
					}
				}
				for pass := range seen {
					for _, s := range e.main.state.OpSites() {
						layer, ok := seen[pass][s.Site]
						switch {
						case p.Test == "pp9" && pass < p.Passes-1 && slices.Contains(layers.HeadSites, s.Site):
							if ok { // only the last token's logits are made
								t.Errorf("%s, pass %d: %s is there", p.Test, pass, s.Site)
							}
						case !ok:
							t.Errorf("%s, pass %d: %s, %s, is missing", p.Test, pass, s.Site, s.Op)
						case layer != s.Layer:
							t.Errorf("%s, pass %d: %s is in layer %d, expected %d", p.Test, pass, s.Site, layer,
								s.Layer)
						}
						delete(seen[pass], s.Site)
					}
					for site := range seen[pass] {
						t.Errorf("%s, pass %d: %s is no op", p.Test, pass, site)
					}
				}
				checkSums(t, p)
			}
		})
	}
}

// checkSums compares a profile's sums with its events.
func checkSums(t *testing.T, p *Profile) {
	t.Helper()
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*math.Abs(want)+1e-9 {
			t.Errorf("%s: %s is %g, expected %g", p.Test, what, got, want)
		}
	}
	var busy, gaps, ops, share, blocks float64
	commands, end := 0, 0.0
	for i, ev := range p.Events {
		if ev.End < ev.Begin || ev.Begin < end {
			t.Fatalf("%s: command %d runs from %.0f to %.0f ns, the one before it to %.0f", p.Test, i, ev.Begin, ev.End,
				end)
		}
		if same := i > 0 && ev.Submit == p.Events[i-1].Submit; same {
			gaps += ev.Begin - end
		}
		busy, end = busy+ev.End-ev.Begin, ev.End
	}
	for _, op := range p.Ops {
		ops, share, commands = ops+op.Total, share+op.Share, commands+op.Commands
		if op.Count < 1 || len(op.Kernels) == 0 || op.Median <= 0 || op.Total < op.Median {
			t.Errorf("%s: %+v", p.Test, op)
		}
	}
	for _, l := range p.Layers {
		blocks += l.Time
	}
	n := float64(p.Passes)
	near("busy time", p.Busy*n, busy/1e3)
	near("gaps", p.Gaps*n, gaps/1e3)
	near("time of the ops", ops, busy/1e3)
	near("time of the layers", blocks*n, busy/1e3)
	near("shares", share, 1)
	for _, name := range []string{"ArgMax", "Advance"} {
		i := slices.IndexFunc(p.Ops, func(op ProfileOp) bool { return op.Op == name })
		if decodes := strings.HasPrefix(p.Test, "tg"); decodes != (i >= 0) || decodes && p.Ops[i].Count != p.Passes {
			t.Errorf("%s: %s does not run once a pass: %+v", p.Test, name, p.Ops)
		}
	}
	if commands != len(p.Events) {
		t.Errorf("%s: ops have %d commands of %d", p.Test, commands, len(p.Events))
	}
	if p.Busy <= 0 || p.Busy > p.Profiled || p.Plain <= 0 {
		t.Errorf("%s: %.0f us busy of %.0f, %.0f without a profile", p.Test, p.Busy, p.Profiled, p.Plain)
	}
}

// TestProfileChangesNothing: logits and tokens are the same, bit for bit, while a profile is taken and after it.
func TestProfileChangesNothing(t *testing.T) {
	e, _ := profileOf(t, "llama.gguf", Options{}, BenchOptions{Generate: 2})
	be := e.be.(profiler)
	tokens := DefaultTokens(e.model.Vocab, 11)
	run := func() ([]float32, []int32) {
		e.Reset()
		logits, err := e.Logits(context.Background(), tokens)
		if err != nil {
			t.Fatal(err)
		}
		e.Reset()
		ids, err := e.Greedy(context.Background(), tokens, 20)
		if err != nil {
			t.Fatal(err)
		}
		return logits, ids
	}
	logits, ids := run()
	for _, on := range []bool{true, false} {
		if err := be.Profile(on); err != nil {
			t.Fatal(err)
		}
		l, i := run()
		if !slices.Equal(l, logits) || !slices.Equal(i, ids) {
			t.Errorf("profile %v: other results", on)
		}
		all, err := be.Timings()
		if err != nil {
			t.Fatal(err)
		}
		if on != (len(all) > 0) {
			t.Errorf("profile %v: %d commands were timed", on, len(all))
		}
	}
}

// TestProfileCost: the bytes and operations of some ops, by hand.
func TestProfileCost(t *testing.T) {
	e, _ := profileOf(t, "llama.gguf", Options{}, BenchOptions{Prompt: 1})
	sites := map[string]layers.OpSite{}
	for _, s := range e.main.state.OpSites() {
		sites[s.Site] = s
	}
	c := e.Config()
	const rows, pos = 3, 5
	b := c.Shapes[0]
	nq, nkv := b.Heads*c.HeadDim, b.KVHeads*c.HeadDim
	words := map[string]int{
		"embd": rows * c.Embd, "attn_norm-0": rows * c.Embd, "Qcur-0": rows * nq, "Kcur-0": rows * nkv,
		"Vcur-0":      rows * nkv,
		"Qcur_rope-0": rows * nq, "Kcur_rope-0": rows * nkv, "cache_k-0": rows * nkv, "cache_v-0": rows * nkv,
		"kqv_out-0": rows * nq, "attn_out-0": rows * c.Embd,
		"ffn_norm-0": rows * c.Embd, "ffn_gate-0": rows * b.FF, "ffn_up-0": rows * b.FF, "ffn_swiglu-0": rows * b.FF,
	}
	weight := func(names ...string) (sum float64) {
		for _, name := range names {
			w, ok := e.file.Tensor(name)
			if !ok {
				t.Fatalf("no tensor %s", name)
			}
			sum += float64(w.Size)
		}
		return sum
	}
	f := func(n int) float64 { return 4 * float64(n) }
	for _, tt := range []struct {
		name         string
		sites        []string
		bytes, flops float64
	}{
		{"embedding", []string{"embd"}, f(rows*c.Embd) + weight("token_embd.weight")*rows/float64(c.Vocab), 0},
		{"q, k, v", []string{"Qcur-0", "Kcur-0", "Vcur-0"},
			f(rows*(c.Embd+nq+2*nkv)) + weight("blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"),
			2 * rows * float64(c.Embd*(nq+2*nkv))},
		{"gate, up and activation", []string{"ffn_gate-0", "ffn_up-0", "ffn_swiglu-0"},
			f(rows*(c.Embd+b.FF)) + weight("blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"),
			2 * rows * float64(c.Embd*2*b.FF)},
		{"gate alone", []string{"ffn_gate-0"}, f(rows*(c.Embd+b.FF)) + weight("blk.0.ffn_gate.weight"),
			2 * rows * float64(c.Embd*b.FF)},
		{"rope in place", []string{"Qcur_rope-0"}, 2 * f(rows*nq), 0},
		{"store", []string{"cache_k-0", "cache_v-0"}, 4 * f(rows*nkv), 0},
		// The rows see 6, 7 and 8 positions.
		{"attention", []string{"kqv_out-0"}, f(2*rows*nq) + f(2*8*nkv), 4 * (6 + 7 + 8) * float64(nq)},
		// Stream and delta are read, stream and normed rows written.
		{"norm with a delta", []string{"ffn_norm-0"}, 4*f(rows*c.Embd) + weight("blk.0.ffn_norm.weight"), 0},
		{"norm alone", []string{"attn_norm-0"}, 2*f(rows*c.Embd) + weight("blk.0.attn_norm.weight"), 0},
	} {
		var ops []layers.OpSite
		for _, s := range tt.sites {
			op, ok := sites[s]
			if !ok {
				t.Fatalf("%s: no site %s", tt.name, s)
			}
			ops = append(ops, op)
		}
		bytes, flops := e.cost(ops, words, pos)
		if math.Abs(bytes-tt.bytes) > 1 || flops != tt.flops {
			t.Errorf("%s: %g bytes and %g operations, expected %g and %g", tt.name, bytes, flops, tt.bytes, tt.flops)
		}
	}
}

func TestProfileWithoutTimestamps(t *testing.T) {
	e, err := Open("../testdata/archs/llama.gguf", Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Profile(context.Background(), BenchOptions{Generate: 1}, func(string) {})
	var device *DeviceError
	if !errors.Is(err, ErrNoProfile) || !errors.As(err, &device) {
		t.Errorf("found %v, expected a DeviceError of ErrNoProfile", err)
	}
}

// TestChromeTrace reads a trace as a viewer does.
func TestChromeTrace(t *testing.T) {
	_, profiles := profileOf(t, "llama.gguf", Options{UBatch: 4}, BenchOptions{Prompt: 9, Generate: 3})
	var out bytes.Buffer
	if err := WriteChromeTrace(&out, "a \"device\"", profiles); err != nil {
		t.Fatal(err)
	}
	var tr struct {
		TraceEvents []struct {
			Name string
			Ph   string
			PID  int `json:"pid"`
			TID  int `json:"tid"`
			TS   float64
			Dur  *float64
			Args map[string]any
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &tr); err != nil {
		t.Fatal(err)
	}
	type row struct{ pid, tid int }
	end, names, spans := map[row]float64{}, map[row]string{}, map[row][]string{}
	commands := 0
	for i, ev := range tr.TraceEvents {
		at := row{ev.PID, ev.TID}
		switch ev.Ph {
		case "M":
			names[at], _ = ev.Args["name"].(string)
		case "X":
			if ev.Name == "" || ev.Dur == nil || *ev.Dur < 0 || ev.TS < end[at]-1e-6 {
				t.Fatalf("event %d, %q: begins at %g and takes %v; the row's last ended at %g", i, ev.Name, ev.TS,
					ev.Dur, end[at])
			}
			end[at] = ev.TS + *ev.Dur
			if ev.TID == traceCommands {
				commands++
				for _, field := range []string{"op", "kernel", "layer", "pass", "gap_us"} {
					if ev.Args[field] == nil {
						t.Errorf("event %d, %q: no %s", i, ev.Name, field)
					}
				}
			} else {
				spans[at] = append(spans[at], ev.Name)
			}
		default:
			t.Errorf("event %d: phase %q", i, ev.Ph)
		}
	}
	if want := len(profiles[0].Events) + len(profiles[1].Events); commands != want {
		t.Errorf("%d commands, expected %d", commands, want)
	}
	for pid, test := range []string{1: "pp9 on a \"device\"", 2: "tg3 on a \"device\""} {
		if test != "" && names[row{pid, 0}] != test {
			t.Errorf("process %d is %q, expected %q", pid, names[row{pid, 0}], test)
		}
	}
	if got, want := strings.Join(spans[row{1, tracePasses}], " "), "pass 0 pass 1 pass 2"; got != want {
		t.Errorf("passes %q, expected %q", got, want)
	}
	if got := spans[row{2, traceLayers}]; !slices.Contains(got, "layer 0") ||
		!slices.Contains(got, "outside the layers") {
		t.Errorf("layers %v", got)
	}
}
