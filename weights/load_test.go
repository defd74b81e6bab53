package weights

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/gguf/gguftest"
)

// device is a backend that only holds memory. It fails at the load or allocation named fail.
type device struct {
	backend.Backend // every op is out of the question
	fail            string
	err             error
	live            map[string]bool
	values          map[string][]float32
	encoded         map[string][]byte
	flushes         int
}

func newDevice() *device {
	return &device{live: map[string]bool{}, values: map[string][]float32{}, encoded: map[string][]byte{}}
}

type memory struct {
	name  string
	words int
}

func (m memory) Words() int { return m.words }

type matrix struct {
	name    string
	f       backend.Format
	rows, n int
}

func (m matrix) Name() string           { return m.name }
func (m matrix) Format() backend.Format { return m.f }
func (m matrix) Rows() int              { return m.rows }
func (m matrix) N() int                 { return m.n }

func (d *device) broken(name string) bool {
	if name == d.fail && d.err == nil {
		d.err = fmt.Errorf("%s: out of device memory", name)
	}
	return d.err != nil
}

func (d *device) Alloc(name string, rows, n int) backend.Tensor {
	if d.broken(name) {
		return backend.Tensor{}
	}
	d.live[name] = true
	return backend.Tensor{Buf: memory{name, rows * n}, Rows: rows, N: n, Stride: n}
}

// Takes accepts what every backend takes.
func (d *device) Takes(f backend.Format) bool { return slices.Contains(backend.Formats(), f) }

func (d *device) Free(t backend.Tensor) {
	if t.Valid() {
		delete(d.live, t.Buf.(memory).name)
	}
}

func (d *device) LoadWeight(name string, f backend.Format, rows, n int, data []byte) backend.Weight {
	if d.broken(name) {
		return nil
	}
	d.live[name] = true
	d.encoded[name] = slices.Clone(data)
	return matrix{name, f, rows, n}
}

func (d *device) FreeWeight(w backend.Weight) {
	if w != nil {
		delete(d.live, w.Name())
	}
}

func (d *device) Upload(t backend.Tensor, v []float32) {
	d.values[t.Buf.(memory).name] = slices.Clone(v)
}

func (d *device) Flush() error {
	d.flushes++
	err := d.err
	d.err = nil
	return err
}

// model is what the slots of the load tests fill.
type model struct {
	quant, half          backend.Weight
	norm, bias, optional backend.Tensor
	optionalMatrix       backend.Weight
}

func (m *model) slots() []Slot {
	return []Slot{
		{Name: "quant", Rows: 2, N: 32, Matrix: &m.quant},
		{Name: "norm", Rows: 1, N: 4, Vector: &m.norm},
		{Name: "absent", Rows: 1, N: 4, Vector: &m.optional, Optional: true},
		{Name: "absent.matrix", Rows: 2, N: 4, Matrix: &m.optionalMatrix, Optional: true},
		{Name: "half", Rows: 3, N: 5, Matrix: &m.half},
		{Name: "host", Rows: 1, N: 2},
		{Name: "bias", Rows: 1, N: 3, Vector: &m.bias},
	}
}

func modelFile(t *testing.T) *gguf.File {
	return testFile(t,
		entry{"host", gguf.F32, []uint64{2}},
		entry{"bias", gguf.BF16, []uint64{3}},
		entry{"half", gguf.F16, []uint64{5, 3}},
		entry{"norm", gguf.F32, []uint64{4}},
		entry{"quant", gguf.Q4_0, []uint64{32, 2}},
	)
}

func TestLoad(t *testing.T) {
	var m model
	f, d := modelFile(t), newDevice()
	m.bias = d.Alloc("arena", 1, 3) // the caller's, to be written in place
	var steps []string
	b := Bind(f, m.slots())
	if err := b.Load(t.Context(), d, func(done, total int64, name string) {
		steps = append(steps, fmt.Sprintf("%s %d/%d", name, done, total))
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"quant 36/88", "norm 52/88", "half 82/88", "bias 88/88"}; !slices.Equal(steps, want) {
		t.Errorf("progress %q, expected %q", steps, want)
	}
	if d.flushes != 1 {
		t.Errorf("%d flushes, expected 1", d.flushes)
	}
	for name, w := range map[string]backend.Weight{
		"quant": matrix{"quant", backend.Q4_0, 2, 32},
		"half":  matrix{"half", backend.F16, 3, 5},
	} {
		got := m.quant
		if name == "half" {
			got = m.half
		}
		if got != w {
			t.Errorf("%s: got %+v, expected %+v", name, got, w)
		}
		ts, _ := f.Tensor(name)
		data, err := f.Data(ts)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.encoded[name], data) {
			t.Errorf("%s: uploaded bytes differ from the file's", name)
		}
	}
	for _, name := range []string{"norm", "bias"} {
		want, err := DecodeTensor(f, name)
		if err != nil {
			t.Fatal(err)
		}
		got := d.values[name]
		if name == "bias" {
			got = d.values["arena"]
		}
		wantBits(t, got, want)
	}
	if m.norm.Rows != 1 || m.norm.N != 4 {
		t.Errorf("norm is [%d, %d], expected [1, 4]", m.norm.Rows, m.norm.N)
	}
	if m.optional.Valid() || m.optionalMatrix != nil {
		t.Error("an absent optional slot was set")
	}
}

// Outline gives what Load gives, re-encoded where Load does so, without data.
func TestOutline(t *testing.T) {
	type ternary struct {
		model
		w backend.Weight
	}
	var loaded, outlined ternary
	f := testFile(t,
		entry{"host", gguf.F32, []uint64{2}}, entry{"bias", gguf.BF16, []uint64{3}}, entry{"half", gguf.F16, []uint64{5, 3}},
		entry{"norm", gguf.F32, []uint64{4}}, entry{"quant", gguf.Q4_0, []uint64{32, 2}}, entry{"ternary", gguf.TQ1_0, []uint64{256, 2}},
	)
	bind := func(m *ternary) *Binding {
		return Bind(f, append(m.slots(), Slot{Name: "ternary", Rows: 2, N: 256, Matrix: &m.w}))
	}
	d, sketch := newDevice(), newDevice()
	if err := bind(&loaded).Load(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	bind(&outlined).Outline(sketch)
	if outlined != loaded {
		t.Errorf("found %+v, loaded %+v", outlined, loaded)
	}
	for name, data := range sketch.encoded {
		if len(data) > 0 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
	}
	if len(sketch.values) > 0 {
		t.Errorf("found %v, expected no data", sketch.values)
	}
}

// An error anywhere leaves nothing on the device but what the caller brought.
func TestLoadFrees(t *testing.T) {
	for _, fail := range []string{"quant", "norm", "half"} {
		t.Run(fail, func(t *testing.T) {
			var m model
			d := newDevice()
			m.bias = d.Alloc("arena", 1, 3)
			d.fail = fail
			err := Bind(modelFile(t), m.slots()).Load(t.Context(), d, nil)
			if err == nil || !strings.Contains(err.Error(), fail+": out of device memory") {
				t.Fatalf("error %v, expected the device's", err)
			}
			if len(d.live) != 1 || !d.live["arena"] {
				t.Errorf("still on the device: %v, expected the caller's arena alone", d.live)
			}
			if m.quant != nil || m.half != nil || m.norm.Valid() {
				t.Errorf("slots still set: %+v", m)
			}
			if !m.bias.Valid() {
				t.Error("the caller's tensor was cleared")
			}
		})
	}
}

// A context that ends stops a load before the next tensor, and leaves nothing on the device but what the caller brought.
func TestLoadCancel(t *testing.T) {
	for _, after := range []string{"", "quant", "norm", "half"} {
		t.Run("after "+after, func(t *testing.T) {
			var m model
			d := newDevice()
			m.bias = d.Alloc("arena", 1, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if after == "" {
				cancel()
			}
			last := ""
			err := Bind(modelFile(t), m.slots()).Load(ctx, d, func(_, _ int64, name string) {
				if last = name; name == after {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, expected %v", err, context.Canceled)
			}
			if last != after {
				t.Errorf("the last tensor was %q, expected %q", last, after)
			}
			if len(d.live) != 1 || !d.live["arena"] || m.quant != nil || m.half != nil || m.norm.Valid() || !m.bias.Valid() {
				t.Errorf("still on the device: %v; slots: %+v", d.live, m)
			}
		})
	}
}

// A device that fails at the last Flush only, as one that uploads lazily.
func TestLoadFlushError(t *testing.T) {
	var m model
	d := newDevice()
	lost := errors.New("device lost")
	err := Bind(modelFile(t), m.slots()).Load(t.Context(), lazyDevice{d, lost}, nil)
	if !errors.Is(err, lost) {
		t.Fatalf("error %v, expected %v", err, lost)
	}
	if len(d.live) != 0 {
		t.Errorf("still on the device: %v", d.live)
	}
}

type lazyDevice struct {
	*device
	err error
}

func (d lazyDevice) Flush() error { return d.err }

func TestLoadArenaShape(t *testing.T) {
	var m model
	d := newDevice()
	m.bias = d.Alloc("arena", 1, 4)
	err := Bind(modelFile(t), m.slots()).Load(t.Context(), d, nil)
	if err == nil || !strings.Contains(err.Error(), `tensor "bias": device tensor is [1, 4], expected [1, 3]`) {
		t.Errorf("error %v, expected one about the shape of bias", err)
	}
	if len(d.live) != 1 {
		t.Errorf("still on the device: %v, expected the caller's arena alone", d.live)
	}
}

func TestDecodeTensor(t *testing.T) {
	f := testFile(t,
		entry{"k", gguf.Q8_K, []uint64{256}},
		entry{"half", gguf.F16, []uint64{3, 2, 2}},
	)
	v, err := DecodeTensor(f, "half")
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != 12 {
		t.Fatalf("%d values, expected 12", len(v))
	}
	// The data counts 1, 2, 3, ...: the first half is 0x0201.
	if want := float32(0x1p-15 * (0.0 + 1 + 1.0/512)); math.Float32bits(v[0]) != math.Float32bits(half([]byte{1, 2})) || v[0] > want {
		t.Errorf("first value %v", v[0])
	}
	for name, want := range map[string]string{
		"gone": `tensor "gone": missing`,
		"k":    `tensor "k": tensor type Q8_K is not supported`,
	} {
		if _, err := DecodeTensor(f, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected %q", name, err, want)
		}
	}
}

// Divisors of frequencies that no model can have are refused, by file, tensor and element.
func TestLoadPositive(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  float32
		ok   bool
	}{
		{"zero", 0, false}, {"negative", -1, false}, {"NaN", float32(math.NaN()), false}, {"infinite", float32(math.Inf(1)), false},
		{"smallest", math.SmallestNonzeroFloat32, true}, {"largest", math.MaxFloat32, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := make([]byte, 16)
			if err := Encode(data, backend.F32, []float32{1, 2, c.bad, 3}); err != nil {
				t.Fatal(err)
			}
			w := gguf.NewWriter()
			w.Add("factors", gguf.F32, []uint64{4}, data)
			f := gguftest.File(t, w)
			f.Path = "some.gguf"
			for _, positive := range []bool{true, false} {
				var v backend.Tensor
				d := newDevice()
				err := Bind(f, []Slot{{Name: "factors", Rows: 1, N: 4, Vector: &v, Positive: positive}}).Load(t.Context(), d, nil)
				var bad *FileError
				want := fmt.Sprintf(`some.gguf: tensor "factors": element 2 is %v, expected a finite number above 0`, c.bad)
				switch {
				case c.ok || !positive:
					if err != nil {
						t.Errorf("positive %v: %v", positive, err)
					}
				case !errors.As(err, &bad) || err.Error() != want:
					t.Errorf("error %v, want a FileError %q", err, want)
				case len(d.live) != 0:
					t.Errorf("still on the device: %v", d.live)
				}
			}
		})
	}
}
