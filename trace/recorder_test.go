package trace_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/cpu"
	"cera/layers"
	"cera/trace"
)

var _ layers.Probe = (*trace.Recorder)(nil)

// counting is a cpu backend that knows what is allocated.
type counting struct {
	backend.Backend
	live, allocs int
}

func (c *counting) Alloc(name string, rows, n int) backend.Tensor {
	t := c.Backend.Alloc(name, rows, n)
	if t.Valid() {
		c.live++
		c.allocs++
	}
	return t
}

func (c *counting) Free(t backend.Tensor) {
	if t.Valid() {
		c.live--
	}
	c.Backend.Free(t)
}

func put(be backend.Backend, rows, n int, data ...float32) backend.Tensor {
	t := be.Alloc("test", rows, n)
	be.Upload(t, data)
	return t
}

func expect(t *testing.T, tr *trace.Trace, site string, rows, n int, want ...float32) {
	t.Helper()
	got, gotRows, gotN, ok := tr.Data(site)
	if !ok || gotRows != rows || gotN != n || !slices.Equal(got, want) {
		t.Errorf("%s is %v [%d, %d] %v, want %v [%d, %d]", site, got, gotRows, gotN, ok, want, rows, n)
	}
}

func TestRecorder(t *testing.T) {
	be := &counting{Backend: cpu.New()}
	x, bias, w := put(be, 2, 2, 1, 2, 3, 4), put(be, 1, 2, 10, 20), put(be, 1, 2, 5, 6)
	held := be.live
	r := trace.NewRecorder(be, func(site string) bool { return site != "kqv_out-0" })
	tr := trace.New()
	var none backend.Tensor

	chunk := func(rows int) {
		t.Helper()
		v := x.Slice(0, rows)
		r.Site("attn_out-0", v, bias)
		r.Site("kqv_out-0", v, none)
		r.Norm("ffn_norm-0", w)
		r.Norm("kqv_out-0", w)
		be.AddBias(v, bias) // the next op changes what was captured
		r.Site("ffn_inp-0", v, none)
		if err := r.Collect(tr); err != nil {
			t.Fatal(err)
		}
	}
	chunk(2)
	if got, want := tr.Sites(), []string{"attn_out-0", "ffn_inp-0"}; !slices.Equal(got, want) {
		t.Errorf("sites %v, want %v", got, want)
	}
	expect(t, tr, "attn_out-0", 2, 2, 11, 22, 13, 24)
	expect(t, tr, "ffn_inp-0", 2, 2, 11, 22, 13, 24)
	if got := r.Weights(); !maps.EqualFunc(got, map[string][]float32{"ffn_norm-0": {5, 6}}, slices.Equal[[]float32]) {
		t.Errorf("weights %v", got)
	}

	// Later chunks append, and use the memory of the first again.
	allocs := be.allocs
	chunk(2)
	if be.allocs != allocs {
		t.Errorf("%d allocations in the second chunk, want none", be.allocs-allocs)
	}
	chunk(1)
	expect(t, tr, "attn_out-0", 5, 2, 11, 22, 13, 24, 21, 42, 23, 44, 31, 62)
	expect(t, tr, "ffn_inp-0", 5, 2, 11, 22, 13, 24, 21, 42, 23, 44, 31, 62)

	// Nothing is left over for another Collect.
	if err := r.Collect(tr); err != nil {
		t.Fatal(err)
	}
	expect(t, tr, "ffn_inp-0", 5, 2, 11, 22, 13, 24, 21, 42, 23, 44, 31, 62)
	r.Site("ffn_inp-0", x, none)
	r.Close()
	if be.live != held {
		t.Errorf("%d tensors were left on the device", be.live-held)
	}
	if len(r.Weights()) != 1 {
		t.Error("the weights are gone after Close")
	}
}

// TestRecorderStrides captures rows that are not contiguous.
func TestRecorderStrides(t *testing.T) {
	be := cpu.New()
	x := put(be, 2, 3, 1, 2, 9, 3, 4, 9)
	x.N = 2
	r := trace.NewRecorder(be, func(string) bool { return true })
	defer r.Close()
	r.Site("embd", x, backend.Tensor{})
	tr := trace.New()
	if err := r.Collect(tr); err != nil {
		t.Fatal(err)
	}
	expect(t, tr, "embd", 2, 2, 1, 2, 3, 4)
}

func TestRecorderErrors(t *testing.T) {
	be := cpu.New()
	r := trace.NewRecorder(be, func(string) bool { return true })
	defer r.Close()
	x := put(be, 1, 2, 1, 2)
	r.Site("embd", x, backend.Tensor{})
	be.MatMul(x, x, nil) // an error of the pass itself comes out as well
	if err := r.Collect(trace.New()); err == nil || !strings.Contains(err.Error(), "matmul") {
		t.Errorf("after a failed op: %v", err)
	}
	// A site that changes its width.
	r = trace.NewRecorder(be, func(string) bool { return true })
	defer r.Close()
	tr := trace.New()
	r.Site("embd", x, backend.Tensor{})
	r.Site("embd", x.View(0, 2, 1), backend.Tensor{})
	if err := r.Collect(tr); err == nil || !strings.Contains(err.Error(), "embd") {
		t.Errorf("after a change of width: %v", err)
	}
}

// TestRecorderMemory follows the device memory through errors and a weight that changes: every copy is freed once.
func TestRecorderMemory(t *testing.T) {
	var none backend.Tensor
	be := &counting{Backend: cpu.New()}
	x, w, v := put(be, 1, 2, 1, 2), put(be, 1, 2, 5, 6), put(be, 1, 2, 7, 8)
	held := be.live
	for _, c := range []struct {
		name string
		run  func(t *testing.T, r *trace.Recorder, tr *trace.Trace)
	}{
		{"nothing captured", func(*testing.T, *trace.Recorder, *trace.Trace) {}},
		{"another weight in the second chunk", func(t *testing.T, r *trace.Recorder, tr *trace.Trace) {
			for _, weight := range []backend.Tensor{w, v, v} {
				r.Norm("result_norm", weight)
				if err := r.Collect(tr); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.Weights()["result_norm"]; !slices.Equal(got, []float32{7, 8}) {
				t.Errorf("weight %v, want the second", got)
			}
		}},
		{"another weight in the same chunk", func(t *testing.T, r *trace.Recorder, tr *trace.Trace) {
			r.Norm("result_norm", w)
			r.Norm("result_norm", v)
			if err := r.Collect(tr); err != nil || !slices.Equal(r.Weights()["result_norm"], []float32{7, 8}) {
				t.Errorf("weights %v, %v, want the second", r.Weights(), err)
			}
		}},
		{"error in the middle of a chunk", func(t *testing.T, r *trace.Recorder, tr *trace.Trace) {
			r.Site("embd", x, none)
			r.Site("embd", x.View(0, 2, 1), none) // another width
			r.Site("l_out-0", x, none)
			if err := r.Collect(tr); err == nil {
				t.Error("no error")
			}
			if err := r.Collect(tr); err != nil {
				t.Errorf("the error came twice: %v", err)
			}
		}},
		{"no memory", func(t *testing.T, r *trace.Recorder, tr *trace.Trace) {
			huge := x
			huge.Rows = 1 << 40
			r.Norm("result_norm", w)
			r.Site("embd", x, none)
			r.Site("l_out-0", huge, none)
			if err := r.Collect(tr); err == nil || !strings.Contains(err.Error(), "alloc capture") {
				t.Errorf("error %v, want that of the allocation", err)
			}
		}},
		{"closed twice", func(_ *testing.T, r *trace.Recorder, _ *trace.Trace) {
			r.Site("embd", x, none)
			r.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := trace.NewRecorder(be, func(string) bool { return true }), trace.New()
			c.run(t, r, tr)
			r.Close()
			if be.live != held {
				t.Errorf("%d tensors more than before", be.live-held)
			}
			if err := be.Flush(); err != nil {
				t.Errorf("an error was left: %v", err)
			}
		})
	}
}
