package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cera/engine"
	"cera/gguf"
	"cera/internal/hostile"
)

// inspectValidated runs inspect --validate in both forms and returns the text, the validation in the JSON, and stderr.
func inspectValidated(t *testing.T, path string, code int) (text string, v *engine.Validation, stderr string) {
	t.Helper()
	for _, args := range [][]string{{"inspect", "--validate", path}, {"inspect", "--validate", "--json", path}} {
		var out, errOut bytes.Buffer
		if got := run(context.Background(), args, &out, &errOut); got != code {
			t.Errorf("%q: exit code %d, want %d: %s", args, got, code, errOut.String())
		}
		if len(args) == 3 {
			text, stderr = out.String(), errOut.String()
			continue
		}
		var parsed struct {
			Validation *engine.Validation `json:"validation"`
		}
		if err := json.Unmarshal(out.Bytes(), &parsed); err != nil {
			t.Fatalf("%q: %v in %s", args, err, out.String())
		}
		if errOut.String() != stderr {
			t.Errorf("%q: stderr %q, and %q without --json", args, errOut.String(), stderr)
		}
		v = parsed.Validation
	}
	return text, v, stderr
}

func TestValidateGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	writeTiny(t, path)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := &engine.Validation{Tensors: len(f.Tensors), Bad: []engine.BadTensor{}, Unchecked: []string{}}
	for _, x := range f.Tensors {
		want.Elements += uint64(x.N() * x.Rows())
	}
	text, v, stderr := inspectValidated(t, path, 0)
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if line := fmt.Sprintf("Looked at %d elements of %d tensors: all finite.\n", want.Elements,
		want.Tensors); !strings.Contains(text, line) || stderr != "" {
		t.Errorf("does not say %q: %s%s", line, text, stderr)
	}
	// Without the flag nothing is looked at.
	var out, errOut bytes.Buffer
	if code := run(context.Background(), []string{"inspect", "--json", path}, &out, &errOut); code != 0 ||
		strings.Contains(out.String(), "validation") {
		t.Errorf("inspect: exit code %d, %s", code, out.String())
	}
}

// What is wrong stands in both forms, tensor by tensor; what has no decoder is named, and no fault of its own.
func TestValidateBad(t *testing.T) {
	w := gguf.NewWriter()
	w.Set("general.architecture", "none")
	w.Add("good", gguf.F32, []uint64{2}, make([]byte, 8))
	w.Add("integers", gguf.I32, []uint64{2}, bytes.Repeat([]byte{0xff}, 8))
	halves := make([]byte, 2*3*5)
	halves[2*7+1], halves[2*9+1], halves[2*9] = 0xfc, 0x7c, 1 // -Inf and NaN
	w.Add("halves", gguf.F16, []uint64{3, 5}, halves)
	blocks := make([]byte, 2*34)
	blocks[34], blocks[35] = 1, 0xfe
	w.Add("blocks", gguf.Q8_0, []uint64{64}, blocks)
	var buf bytes.Buffer
	if _, err := w.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, v, _ := inspectValidated(t, path, exitUsage)
	want := &engine.Validation{Tensors: 3, Elements: 2 + 15 + 64, Unchecked: []string{"integers"},
		Bad: []engine.BadTensor{
			{Tensor: "halves", Type: "F16", Dims: []uint64{3, 5}, NaN: 1, Infinite: 1, First: 7, Value: "-Inf"},
			{Tensor: "blocks", Type: "Q8_0", Dims: []uint64{64}, NaN: 32, First: 32, Value: "NaN"},
		}}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, line := range []string{
		`tensor "halves", F16 [3 5]: 1 NaN, 1 infinite; first at element 7 (row 2, column 1): -Inf`,
		`tensor "blocks", Q8_0 [64]: 32 NaN, 0 infinite; first at element 32 (row 0, column 32): NaN`,
		`tensor "integers": not looked at, for its type has no decoder`,
		`Looked at 81 elements of 3 tensors: 2 of the tensors have elements that are not.`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("does not say %q:\n%s", line, text)
		}
	}
}

// A model that could run is refused for its elements alone, with what to do.
func TestValidateRefuses(t *testing.T) {
	for _, row := range hostile.Rows() {
		if row.Stage != hostile.Values {
			continue
		}
		path, err := row.Make(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		if code := run(context.Background(), []string{"inspect", path}, &out, &errOut); code != 0 {
			t.Errorf("%s: inspect alone: exit code %d: %s", row.Name, code, errOut.String())
		}
		_, v, stderr := inspectValidated(t, path, exitUsage)
		if len(v.Bad) != 1 || !strings.Contains(stderr, path+" has elements that are no finite numbers: get it anew") {
			t.Errorf("%s: %+v, %q", row.Name, v.Bad, stderr)
		}
	}
}

// A value that is long is shown by its length, so that it is copied nowhere.
func TestOutline(t *testing.T) {
	long := strings.Repeat("x", longText+1)
	for _, c := range []struct {
		name        string
		value, want any
	}{
		{"text", long[1:], long[1:]},
		{"long text", long, "1048577 bytes"},
		{"array", make([]int32, longArray), make([]int32, longArray)},
		{"long array", make([]int32, longArray+1), "17 values"},
		{"texts", []string{"a", "b"}, []string{"a", "b"}},
		{"long texts", []string{"a", long}, "1048578 bytes"},
		{"many long texts", slices.Repeat([]string{long}, 17), "17 values"},
	} {
		if got := outline(c.value); !reflect.DeepEqual(got, c.want) && fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %.100v, want %.100v", c.name, got, c.want)
		}
	}
	// JSON has no number for these.
	inf := math.Inf(-1)
	got, err := json.Marshal(outline([]any{[]float32{1, float32(math.NaN())}, []any{[]float64{inf}}, []string{"a"}}))
	if want := `[[1,"NaN"],[["-Inf"]],["a"]]`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// What a file says is shown as one line of text that drives no terminal, and cut before it is copied.
func TestShown(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, c := range []struct {
		name  string
		value any
		all   bool
		want  string
	}{
		{"text", "llama", false, "llama"},
		{"number", uint32(7), false, "7"},
		{"lines", "a\nb\tc", false, `a\nb\tc`},
		{"escapes", "\x1b]0;x\x07\u009b", true, `\x1b]0;x\x07\x9b`},
		{"long", long, false, strings.Repeat("é", 79) + "…"},
		{"long, all", long, true, long},
		{"strings", []string{"a", "\x1b[2J"}, false, `[a \x1b[2J]`},
		{"long strings", []string{long}, false, "[" + strings.Repeat("é", 78) + "…"},
	} {
		if got := shown(c.value, c.all); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	huge := strings.Repeat("x", 16<<20)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			shown(huge, false)
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<14 {
		t.Errorf("%d bytes to show the beginning of %d", allocated, len(huge))
	}
}
