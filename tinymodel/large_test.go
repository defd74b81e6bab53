package tinymodel_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/tinymodel"
	"cera/weights"
)

// shape is small, of rows that every format takes, with blocks enough for a mix.
var shape = tinymodel.Shape{
	Name: "small", Layers: 16, Dim: 256, FF: 512, Heads: 4, KVHeads: 2, HeadDim: 64, Vocab: 300, Ctx: 64,
}

func written(t *testing.T, s tinymodel.Shape, name string) *gguf.File {
	t.Helper()
	mix, err := tinymodel.MixByName(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tinymodel.WriteShape(w, s, mix, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Matrices of every format that the GPU decodes have values of about the size that keeps activations near 1.
func TestShapeInEveryFormat(t *testing.T) {
	for _, format := range backend.Formats() {
		t.Run(format.String(), func(t *testing.T) {
			f := written(t, shape, format.String())
			for _, tensor := range f.Tensors {
				if len(tensor.Dims) != 2 {
					continue
				}
				got, err := weights.FormatOf(tensor.Type)
				if err != nil || got != format {
					t.Fatalf("%s: format %v, %v", tensor.Name, got, err)
				}
				values, err := weights.DecodeHeld(f, tensor.Name, func(backend.Format) bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				squares := 0.0
				for _, v := range values {
					squares += float64(v) * float64(v)
				}
				n := float64(tensor.Dims[0])
				if std := math.Sqrt(squares / float64(len(values)) * n); !(std > 0.7 && std < 1.5) {
					t.Errorf("%s: %.3g times the standard deviation that was asked for", tensor.Name, std)
				}
			}
		})
	}
}

// A mix has finer types where llama.cpp has them: in the output, or the embedding that stands for it, and in the values and down
// projections of the first and last eighth of the blocks and of every third between.
func TestMix(t *testing.T) {
	tied := shape
	tied.Tied = true
	for _, s := range []tinymodel.Shape{shape, tied} {
		f := written(t, s, "Q4_K_M")
		var finer []string
		for _, tensor := range f.Tensors {
			if tensor.Type == gguf.Q6_K {
				finer = append(finer, strings.TrimSuffix(tensor.Name, ".weight"))
			} else if len(tensor.Dims) == 2 && tensor.Type != gguf.Q4_K {
				t.Errorf("%s is %v", tensor.Name, tensor.Type)
			}
		}
		want := "blk.0.attn_v blk.0.ffn_down blk.1.attn_v blk.1.ffn_down blk.4.attn_v blk.4.ffn_down blk.7.attn_v blk.7.ffn_down " +
			"blk.10.attn_v blk.10.ffn_down blk.13.attn_v blk.13.ffn_down blk.14.attn_v blk.14.ffn_down blk.15.attn_v blk.15.ffn_down"
		if s.Tied {
			want = "token_embd " + want
		} else {
			want += " output"
		}
		if got := strings.Join(finer, " "); got != want {
			t.Errorf("tied %v: found %s, expected %s", s.Tied, got, want)
		}
	}
	if _, err := tinymodel.MixByName("IQ1_S"); err == nil || !strings.Contains(err.Error(), "Q6_K") {
		t.Errorf("found %v, expected an error that lists what there is", err)
	}
}
