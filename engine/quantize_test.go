package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/engine"
	"cera/gguf"
	"cera/tinymodel"
	"cera/trace"
	"cera/weights"
)

// tinyFile writes a model of the given width and returns its path.
func tinyFile(t *testing.T, dim int, format gguf.Type) string {
	t.Helper()
	o := tinymodel.Default()
	o.Layers, o.Dim, o.FF, o.Format = 2, dim, dim+16, format
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := trace.WriteFile(path, func(w io.Writer) error {
		_, err := tinymodel.Write(w, o)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

func openGGUF(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// rewrite copies a model with other data for the tensors that change returns some for, and returns the copy's path.
func rewrite(t *testing.T, path string, change func(t *gguf.Tensor, data []byte) (gguf.Type, []byte)) string {
	t.Helper()
	f := openGGUF(t, path)
	w := gguf.NewWriter()
	for _, kv := range f.Keys {
		w.Set(kv.Key, kv.Value)
	}
	for i := range f.Tensors {
		ts := &f.Tensors[i]
		data, err := f.Data(ts)
		if err != nil {
			t.Fatal(err)
		}
		typ := ts.Type
		if to, changed := change(ts, data); changed != nil {
			typ, data = to, changed
		}
		w.Add(ts.Name, typ, ts.Dims, data)
	}
	out := filepath.Join(t.TempDir(), "rewritten.gguf")
	if err := trace.WriteFile(out, func(dst io.Writer) error { _, err := w.WriteTo(dst); return err }); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestQuantize re-encodes models and runs a check of each.
func TestQuantize(t *testing.T) {
	for _, c := range []struct {
		name, model string
		typ         string
		fileType    uint32
		block       int
		nmse        float64 // the largest of a matrix
	}{
		{"llama to F16", "../testdata/archs/llama.gguf", "f16", 1, 1, 1e-6},
		{"llama to BF16", "../testdata/archs/llama.gguf", "Bf16", 32, 1, 1e-5},
		{"llama to Q8_0", "../testdata/archs/llama.gguf", "Q8_0", 7, 32, 1e-4},
		{"llama to Q4_0", "../testdata/archs/llama.gguf", "q4_0", 2, 32, 1.5e-2},
		{"llama with biases to Q8_0", "../testdata/archs/llama-obias.gguf", "Q8_0", 7, 32, 1e-4},
		{"llama with rope factors to Q8_0", "../testdata/archs/llama3-ropefreqs.gguf", "Q8_0", 7, 32, 1e-4},
		{"mixtral to Q8_0", "../testdata/archs/mixtral.gguf", "Q8_0", 7, 32, 1e-4},
		{"gpt-oss to Q4_0", "../testdata/archs/gpt-oss.gguf", "Q4_0", 2, 32, 1.5e-2},
		{"width 256 to Q4_K", tinyFile(t, 256, gguf.F32), "q4_k", 14, 256, 1e-2},
		{"Q4_0 back to F16", tinyFile(t, 64, gguf.Q4_0), "F16", 1, 1, 1e-6},
		{"Q8_0 to itself", tinyFile(t, 64, gguf.Q8_0), "Q8_0", 7, 32, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, path := openGGUF(t, c.model), filepath.Join(t.TempDir(), "out.gguf")
			var steps []engine.QuantizedTensor
			err := engine.Quantize(ctx, in, path, engine.QuantizeOptions{
				Type:     c.typ,
				Progress: func(s engine.QuantizedTensor) { steps = append(steps, s) },
			})
			if err != nil {
				t.Fatal(err)
			}
			out := openGGUF(t, path)
			if n, err := out.Uint("general.file_type"); err != nil || uint32(n) != c.fileType {
				t.Errorf("general.file_type is %d, %v, want %d", n, err, c.fileType)
			}
			if n, err := out.Uint("general.quantization_version"); err != nil || n != 2 {
				t.Errorf("general.quantization_version is %d, %v, want 2", n, err)
			}
			for _, kv := range in.Keys {
				switch got, typ, _ := out.Lookup(kv.Key); {
				case kv.Key == "general.file_type" || kv.Key == "general.quantization_version":
				case typ != kv.Type || !reflect.DeepEqual(got, kv.Value):
					t.Errorf("key %s is %v %v, want %v %v", kv.Key, typ, got, kv.Type, kv.Value)
				}
			}
			if len(out.Tensors) != len(in.Tensors) || len(steps) != len(in.Tensors) {
				t.Fatalf("%d tensors in %d steps, want %d", len(out.Tensors), len(steps), len(in.Tensors))
			}
			matrices := 0
			for i, ts := range in.Tensors {
				got := out.Tensors[i]
				want := ts.Type.String()
				matrix := len(ts.Dims) > 1 && strings.HasSuffix(ts.Name, ".weight") &&
					!strings.Contains(ts.Name, "gate_inp")
				if matrix {
					matrices++
					if want = strings.ToUpper(c.typ); ts.N()%c.block != 0 {
						want = "F16"
					}
				}
				if got.Name != ts.Name || !slices.Equal(got.Dims, ts.Dims) || got.Type.String() != want {
					t.Errorf("tensor %d is %s %v %v, want %s %v %s", i, got.Name, got.Dims, got.Type, ts.Name, ts.Dims,
						want)
				}
				s := steps[i]
				fallback := matrix && ts.N()%c.block != 0
				if s.Name != ts.Name || s.From != ts.Type.String() || s.To != want || s.Index != i ||
					s.All != len(steps) || s.Bytes != got.Size || (s.Reason != "") != fallback {
					t.Errorf("step %+v for %s to %s", s, ts.Name, want)
				}
				a, err := weights.DecodeTensor(in, ts.Name)
				if err != nil {
					t.Fatal(err)
				}
				b, err := weights.DecodeTensor(out, ts.Name)
				if err != nil {
					t.Fatal(err)
				}
				limit := 0.0
				if matrix {
					limit = c.nmse
				}
				if e := nmse(b, a); !(e <= limit) {
					t.Errorf("%s: NMSE %.2g, limit %g", ts.Name, e, limit)
				}
			}
			if matrices < 10 {
				t.Errorf("%d matrices", matrices)
			}
			report, err := open(t, path, engine.Options{Device: "cpu"}).Check(ctx, engine.DefaultTokens(64, 5),
				engine.DriftOn)
			if err != nil {
				t.Fatal(err)
			}
			if code := report.ExitCode(); code != 0 {
				t.Errorf("the check of the new file ends with %d", code)
			}
		})
	}
}

// What is a matrix to re-encode, by name and shape.
func TestQuantizeChooses(t *testing.T) {
	w := gguf.NewWriter()
	w.Set("general.architecture", "any")
	w.Set("split.count", uint16(1))
	for name, dims := range map[string][]uint64{
		"token_embd.weight":           {32, 3},
		"blk.0.ffn_gate_exps.weight":  {32, 3, 2},
		"blk.0.attn_q.weight":         {32, 3, 1, 1},
		"blk.0.ffn_gate_inp.weight":   {32, 3},
		"blk.0.ffn_down_exps.bias":    {32, 3},
		"blk.0.attn_q_norm.weight":    {32, 3},
		"blk.0.attn_sinks.weight":     {32},
		"one_row.weight":              {32, 1},
		"rope_factors_long.weight":    {32, 3},
		"four.weight":                 {32, 3, 2, 2},
		"blk.0.ffn_up_shexp.weight":   {32, 3},
		"blk.0.ffn_up_exps_16.weight": {16, 3, 2},
	} {
		n := uint64(4)
		for _, d := range dims {
			n *= d
		}
		w.Add(name, gguf.F32, dims, make([]byte, n))
	}
	w.Add("counts.weight", gguf.I32, []uint64{32, 3}, make([]byte, 4*96))
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
	if err := trace.WriteFile(in, func(dst io.Writer) error { _, err := w.WriteTo(dst); return err }); err != nil {
		t.Fatal(err)
	}
	if err := engine.Quantize(ctx, openGGUF(t, in), out, engine.QuantizeOptions{Type: "Q8_0"}); err != nil {
		t.Fatal(err)
	}
	f := openGGUF(t, out)
	want := map[string]gguf.Type{
		"token_embd.weight":           gguf.Q8_0,
		"blk.0.ffn_gate_exps.weight":  gguf.Q8_0,
		"blk.0.attn_q.weight":         gguf.Q8_0,
		"blk.0.ffn_up_shexp.weight":   gguf.Q8_0,
		"blk.0.ffn_up_exps_16.weight": gguf.F16,
		"counts.weight":               gguf.I32,
	}
	for _, ts := range f.Tensors {
		if ts.Type != want[ts.Name] { // F32 is 0
			t.Errorf("%s is %v, want %v", ts.Name, ts.Type, want[ts.Name])
		}
	}
	if f.Has("split.count") {
		t.Error("split.count was copied")
	}
}

func TestQuantizeRejects(t *testing.T) {
	dir := t.TempDir()
	model := tinyFile(t, 64, gguf.F32)
	spoiled := func(at int, v float32) string {
		return rewrite(t, model, func(ts *gguf.Tensor, data []byte) (gguf.Type, []byte) {
			if ts.Name != "blk.1.attn_k.weight" {
				return 0, nil
			}
			data = slices.Clone(data)
			binary.LittleEndian.PutUint32(data[4*at:], math.Float32bits(v))
			return gguf.F32, data
		})
	}
	existing := filepath.Join(dir, "existing.gguf")
	if err := os.WriteFile(existing, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		name, in, out string
		ctx           context.Context
		o             engine.QuantizeOptions
		want          string
		is            error
	}{
		{"unknown type", model, "x.gguf", ctx, engine.QuantizeOptions{Type: "Q9"},
			`type "Q9" is not one of F16, BF16, Q8_0, Q4_0, Q4_K`, nil},
		{"no type", model, "x.gguf", ctx, engine.QuantizeOptions{}, `type ""`, nil},
		{"NaN", spoiled(77, float32(math.NaN())), "x.gguf", ctx, engine.QuantizeOptions{Type: "Q8_0"},
			`tensor "blk.1.attn_k.weight": `, nil},
		{"NaN, its place", spoiled(77, float32(math.NaN())), "x.gguf", ctx, engine.QuantizeOptions{Type: "Q8_0"},
			"element 77 is NaN", nil},
		{"infinity", spoiled(78, float32(math.Inf(-1))), "x.gguf", ctx, engine.QuantizeOptions{Type: "BF16"},
			"element 78 is -Inf", nil},
		{"beyond F16", spoiled(79, 1e6), "x.gguf", ctx, engine.QuantizeOptions{Type: "F16"},
			"element 79 is beyond the range of F16", nil},
		{"existing", model, existing, ctx, engine.QuantizeOptions{Type: "F16"}, existing, fs.ErrExist},
		{"input", model, model, ctx, engine.QuantizeOptions{Type: "F16", Force: true}, "is the input", nil},
		{"canceled", model, "x.gguf", canceled, engine.QuantizeOptions{Type: "F16"}, "", context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := os.ReadFile(c.in)
			if err != nil {
				t.Fatal(err)
			}
			out := c.out
			if out == "x.gguf" {
				out = filepath.Join(dir, out)
			}
			err = engine.Quantize(c.ctx, openGGUF(t, c.in), out, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %q, %v", err, c.want, c.is)
			}
			if after, err := os.ReadFile(c.in); err != nil || !slices.Equal(before, after) {
				t.Errorf("the input has changed: %v", err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("left in the folder: %v, %v", left, err)
			}
		})
	}
	if data, err := os.ReadFile(existing); err != nil || string(data) != "kept" {
		t.Errorf("the existing file is now %q, %v", data, err)
	}
}

// A device without a decoder for a format holds F16, says so, and is checked against what it holds.
func TestHostOnlyFormat(t *testing.T) {
	const dim = 256
	model := rewrite(t, tinyFile(t, dim, gguf.F16), func(ts *gguf.Tensor, _ []byte) (gguf.Type, []byte) {
		if len(ts.Dims) != 2 || ts.N() != dim {
			return 0, nil
		}
		rng := rand.New(rand.NewPCG(1, uint64(ts.Offset)))
		data := make([]byte, ts.Rows()*backend.IQ3_S.RowBytes(ts.N()))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		for i := 0; i < len(data); i += backend.IQ3_S.BlockBytes() {
			// A scale around 2^-11, for which elements are about 1/16 in size.
			binary.LittleEndian.PutUint16(data[i:], 0x1000|uint16(rng.Uint32()&0x3ff))
		}
		return gguf.IQ3_S, data
	})
	exact, err := weights.DecodeTensor(openGGUF(t, model), "blk.0.attn_q.weight")
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.Resolve(openGGUF(t, model))
	if err != nil {
		t.Fatal(err)
	}
	note := []string{"14 tensors in IQ3_S are re-encoded to F16"}
	if got := r.GPUNotes(); !slices.Equal(got, note) {
		t.Errorf("notes for a GPU %q, want %q", got, note)
	}
	eachDevice(t, func(t *testing.T, device string) {
		e := open(t, model, engine.Options{Device: device})
		want := note
		if device != "gpu" {
			want = nil
		}
		if got := e.Notes(); !slices.Equal(got, want) {
			t.Errorf("notes %q, want %q", got, want)
		}
		held, err := e.FileWeight("blk.0.attn_q.weight")
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Equal(held, exact); got != (device != "gpu") {
			t.Errorf("the values held are those of the file: %v", got)
		}
		report, err := e.CheckOps(ctx, engine.DefaultTokens(256, 6), engine.DriftOn, engine.OpFilter{To: 2})
		if err != nil {
			t.Fatal(err)
		}
		if code := report.ExitCode(); code != 0 {
			t.Errorf("the check ends with %d: %+v", code, report.First)
		}
	})
}
