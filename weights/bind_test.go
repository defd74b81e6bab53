package weights

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/gguf"
	"cera/gguf/gguftest"
)

// entry is one tensor of a test file.
type entry struct {
	name string
	typ  gguf.Type
	dims []uint64
}

// testFile returns a file of the given tensors; the data counts up from the tensor's index.
func testFile(t *testing.T, entries ...entry) *gguf.File {
	t.Helper()
	w := gguf.NewWriter()
	w.Set("general.architecture", "test")
	for i, e := range entries {
		n := uint64(1)
		for _, d := range e.dims {
			n *= d
		}
		size := n / 256 * 292 // Q8_K, the only type here without a decoder
		if f, err := FormatOf(e.typ); err == nil {
			size = uint64(f.RowBytes(int(n)))
		}
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(i + j)
		}
		w.Add(e.name, e.typ, e.dims, data)
	}
	return gguftest.File(t, w)
}

func TestBind(t *testing.T) {
	var (
		m backend.Weight
		v backend.Tensor
	)
	for _, c := range []struct {
		name   string
		in     entry
		slot   Slot
		reject string // part of the error's line, "" for none
	}{
		{"matrix", entry{"w", gguf.F32, []uint64{3, 5}}, Slot{Rows: 5, N: 3, Matrix: &m}, ""},
		{"quantized matrix", entry{"w", gguf.Q4_0, []uint64{64, 5}}, Slot{Rows: 5, N: 64, Matrix: &m}, ""},
		{"matrix of one row", entry{"w", gguf.Q8_0, []uint64{32}}, Slot{Rows: 1, N: 32, Matrix: &m}, ""},
		{"matrix of one column", entry{"w", gguf.F16, []uint64{1, 7}}, Slot{Rows: 7, N: 1, Matrix: &m}, ""},
		{"matrix, trailing ones", entry{"w", gguf.F32, []uint64{3, 5, 1, 1}}, Slot{Rows: 5, N: 3, Matrix: &m}, ""},
		{"vector", entry{"w", gguf.F32, []uint64{9}}, Slot{Rows: 1, N: 9, Vector: &v}, ""},
		{"vector of halves", entry{"w", gguf.F16, []uint64{9}}, Slot{Rows: 1, N: 9, Vector: &v}, ""},
		{"vector of bfloats", entry{"w", gguf.BF16, []uint64{9, 1}}, Slot{Rows: 1, N: 9, Vector: &v}, ""},
		{"checked only", entry{"w", gguf.F32, []uint64{4}}, Slot{Rows: 1, N: 4}, ""},
		{"checked only, matrix", entry{"w", gguf.Q8_0, []uint64{32, 2}}, Slot{Rows: 2, N: 32}, ""},

		{"transposed", entry{"w", gguf.F32, []uint64{3, 5}}, Slot{Rows: 3, N: 5, Matrix: &m}, `tensor "w": found [3, 5] F32, expected [5, 3]`},
		{"row too long", entry{"w", gguf.F32, []uint64{4, 5}}, Slot{Rows: 5, N: 3, Matrix: &m}, "found [4, 5] F32, expected [3, 5]"},
		{"rows missing", entry{"w", gguf.F32, []uint64{3}}, Slot{Rows: 5, N: 3, Matrix: &m}, "found [3] F32, expected [3, 5]"},
		{"third dimension", entry{"w", gguf.F32, []uint64{3, 5, 2}}, Slot{Rows: 5, N: 3, Matrix: &m}, "found [3, 5, 2] F32, expected [3, 5]"},
		{"vector too short", entry{"w", gguf.F32, []uint64{8}}, Slot{Rows: 1, N: 9, Vector: &v}, "found [8] F32, expected [9]"},
		{"matrix for a vector", entry{"w", gguf.F32, []uint64{9, 2}}, Slot{Rows: 1, N: 9, Vector: &v}, "found [9, 2] F32, expected [9]"},
		{"column for a vector", entry{"w", gguf.F32, []uint64{1, 9}}, Slot{Rows: 1, N: 9, Vector: &v}, "found [1, 9] F32, expected [9]"},
		{"quantized vector", entry{"w", gguf.Q8_0, []uint64{32}}, Slot{Rows: 1, N: 32, Vector: &v}, "found [32] Q8_0, expected [32] in F32, F16 or BF16"},
		{"type without decoder", entry{"w", gguf.Q8_K, []uint64{256, 2}}, Slot{Rows: 2, N: 256, Matrix: &m}, "found [256, 2] Q8_K, expected [256, 2] in one of [F32 F16 BF16"},
		{"zero width", entry{"w", gguf.F32, []uint64{1}}, Slot{Rows: 0, N: 1, Matrix: &m}, "expected [1, 0]"},
		{"negative width", entry{"w", gguf.F32, []uint64{1}}, Slot{Rows: 1, N: -1, Vector: &v}, "expected [-1]"},
		{"both destinations", entry{"w", gguf.F32, []uint64{1}}, Slot{Rows: 1, N: 1, Matrix: &m, Vector: &v}, "slot w: takes a matrix and a vector"},
		{"vector a plane", entry{"w", gguf.F32, []uint64{3, 2}}, Slot{Rows: 2, N: 3, Vector: &v}, ""},
		{"planes", entry{"w", gguf.F32, []uint64{3, 4, 2}}, Slot{Rows: 8, N: 3, Planes: 2, Matrix: &m}, ""},
		{"too few planes", entry{"w", gguf.F32, []uint64{3, 4, 2}}, Slot{Rows: 12, N: 3, Planes: 3, Matrix: &m}, "found [3, 4, 2] F32, expected [3, 4, 3]"},
		{"planes in one matrix", entry{"w", gguf.F32, []uint64{3, 8}}, Slot{Rows: 8, N: 3, Planes: 2, Matrix: &m}, "found [3, 8] F32, expected [3, 4, 2]"},
		{"rows that planes do not divide", entry{"w", gguf.F32, []uint64{3, 3, 2}}, Slot{Rows: 7, N: 3, Planes: 2, Matrix: &m}, "slot w: 7 rows, expected a multiple of the 2 planes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.slot.Name = "w"
			slots := []Slot{c.slot}
			b := Bind(testFile(t, c.in), slots)
			if !slots[0].Found {
				t.Error("Found not set")
			}
			err := b.Err()
			switch {
			case c.reject == "" && err != nil:
				t.Errorf("rejected: %v", err)
			case c.reject != "" && (err == nil || !strings.Contains(err.Error(), c.reject)):
				t.Errorf("error %v, expected %q", err, c.reject)
			case c.reject != "" && strings.Count(err.Error(), "\n") != 0:
				t.Errorf("error of more than a line: %v", err)
			}
		})
	}
}

// Everything wrong is collected, a line each, in one error.
func TestBindCollects(t *testing.T) {
	var m backend.Weight
	f := testFile(t,
		entry{"a", gguf.F32, []uint64{2, 3}},
		entry{"extra", gguf.F16, []uint64{4}},
		entry{"b", gguf.F32, []uint64{2}},
		entry{"blk.0.rot_embd", gguf.F32, []uint64{2}},
	)
	slots := []Slot{
		{Name: "a", Rows: 3, N: 3, Matrix: &m},
		{Name: "gone.1", Rows: 3, N: 2, Matrix: &m},
		{Name: "gone.2", Rows: 1, N: 7},
		{Name: "gone.optional", Rows: 1, N: 7, Optional: true},
		{Name: "b", Rows: 1, N: 2},
	}
	b := Bind(f, slots, "blk.*.rot_embd")
	if want := []string{"gone.1", "gone.2"}; !slices.Equal(b.Missing, want) {
		t.Errorf("Missing %q, expected %q", b.Missing, want)
	}
	if want := []string{"extra"}; !slices.Equal(b.Unused, want) {
		t.Errorf("Unused %q, expected %q", b.Unused, want)
	}
	if want := []Mismatch{{"a", "[2, 3] F32", "[3, 3]"}}; !slices.Equal(b.Mismatched, want) {
		t.Errorf("Mismatched %q, expected %q", b.Mismatched, want)
	}
	var found []bool
	for _, s := range slots {
		found = append(found, s.Found)
	}
	if want := []bool{true, false, false, false, true}; !slices.Equal(found, want) {
		t.Errorf("Found %v, expected %v", found, want)
	}
	err := b.Err()
	if err == nil {
		t.Fatal("no error")
	}
	want := strings.Join([]string{
		`tensor "a": found [2, 3] F32, expected [3, 3]`,
		`tensor "gone.1": missing, expected [2, 3]`,
		`tensor "gone.2": missing, expected [7]`,
		`tensor "extra": found [4] F16, expected no such tensor`,
	}, "\n")
	if err.Error() != want {
		t.Errorf("error\n%v\nexpected\n%s", err, want)
	}
	if err := b.Load(t.Context(), nil, nil); err == nil || err.Error() != want {
		t.Errorf("Load: %v, expected the error of Err", err)
	}
}

func TestBindIgnore(t *testing.T) {
	f := testFile(t, entry{"rope_freqs.weight", gguf.F32, []uint64{2}})
	for _, c := range []struct {
		pattern, want string
	}{
		{"rope_freqs.weight", ""},
		{"rope_*", ""},
		{"rope", `tensor "rope_freqs.weight": found [2] F32, expected no such tensor`},
		{"[", `ignore pattern "["`},
	} {
		err := Bind(f, nil, c.pattern).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, expected %q", c.pattern, err, c.want)
		}
	}
}

// What is wrong with thousands of tensors does not fill the screen.
func TestErrIsShort(t *testing.T) {
	slots := make([]Slot, 1000)
	for i := range slots {
		slots[i] = Slot{Name: fmt.Sprintf("w%d", i), Rows: 1, N: 4}
	}
	b := Bind(testFile(t, entry{"other", gguf.F32, []uint64{4}}), slots)
	lines := strings.Split(b.Err().Error(), "\n")
	if len(lines) != maxLines+1 || lines[0] != `tensor "w0": missing, expected [4]` || lines[maxLines] != fmt.Sprintf("and %d more", 1001-maxLines) {
		t.Errorf("%d lines, the first %q, the last %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if len(b.Missing) != 1000 || len(b.Unused) != 1 {
		t.Errorf("%d missing, %d unused, expected all of them", len(b.Missing), len(b.Unused))
	}
}
