package trace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/types/tensors"

	"cera/trace"
)

func TestAppend(t *testing.T) {
	tr := trace.New()
	for _, c := range []struct {
		site    string
		rows, n int
		data    []float32
		want    string // in the error; empty: none
	}{
		{"ffn_norm-0", 2, 2, []float32{1, 2, 3, 4}, ""},
		{"attn_norm-0", 1, 3, []float32{5, 6, 7}, ""},
		{"ffn_norm-0", 1, 2, []float32{8, 9}, ""},
		{"ffn_norm-0", 1, 3, []float32{8, 9, 10}, "rows of 3 after rows of 2"},
		{"ffn_norm-0", 2, 2, []float32{8, 9}, "2 values, expected [2, 2]"},
		{"embd", 0, 2, nil, "0 values, expected [0, 2]"},
		{"embd", 1, 0, nil, "expected [1, 0]"},
		{"embd", -1, -2, []float32{1, 2}, "expected [-1, -2]"},
		{"embd", 1 << 62, 4, nil, "0 values"},
		{"tokens", 1, 1, []float32{1}, "not free"},
		{"", 1, 1, []float32{1}, "not free"},
	} {
		err := tr.Append(c.site, c.rows, c.n, c.data)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s [%d, %d]: %v", c.site, c.rows, c.n, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s [%d, %d]: error %v, want one that says %q", c.site, c.rows, c.n, err, c.want)
		}
	}
	if got, want := tr.Sites(), []string{"ffn_norm-0", "attn_norm-0"}; !slices.Equal(got, want) {
		t.Errorf("sites %v, want %v: the order of their first rows, and none from a refused append", got, want)
	}
	data, rows, n, ok := tr.Data("ffn_norm-0")
	if want := []float32{1, 2, 3, 4, 8, 9}; !ok || rows != 3 || n != 2 || !slices.Equal(data, want) {
		t.Errorf("ffn_norm-0 is %v [%d, %d] %v, want %v", data, rows, n, ok, want)
	}
	if _, _, _, ok := tr.Data("embd"); ok {
		t.Error("embd is there after refused appends")
	}
}

func TestAppendCopies(t *testing.T) {
	tr, data := trace.New(), []float32{1, 2}
	if err := tr.Append("embd", 1, 2, data); err != nil {
		t.Fatal(err)
	}
	data[0] = 9
	if got, _, _, _ := tr.Data("embd"); got[0] != 1 {
		t.Error("the trace shares memory with the data that was appended")
	}
}

func TestTensor(t *testing.T) {
	tr := trace.New()
	if err := tr.Append("embd", 2, 3, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	a, ok := tr.Tensor("embd")
	if !ok || !slices.Equal(a.Shape().Dimensions, []int{2, 3}) {
		t.Fatalf("tensor %v, %v", a, ok)
	}
	if got := tensors.CopyFlatData[float32](a); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("tensor holds %v", got)
	}
	if _, ok := tr.Tensor("l_out-0"); ok {
		t.Error("there is a tensor of a site that is not")
	}
}
