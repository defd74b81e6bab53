package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cera/backend"
)

// readIDs reads a [1, n] u32 tensor.
func readIDs(t *testing.T, be backend.Backend, ids backend.Tensor) []uint32 {
	t.Helper()
	data := make([]float32, ids.N)
	if err := be.Read(data, ids); err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, len(data))
	for i, v := range data {
		out[i] = math.Float32bits(v)
	}
	return out
}

func testArgMax(t *testing.T, be backend.Backend) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(0)
	negZero := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		name string
		n    int
		set  map[int]float32 // beside random values within ±4
		want int
	}{
		{"one", 1, nil, 0},
		{"one that is no number", 1, map[int]float32{0: nan}, 0},
		{"the first", 300, map[int]float32{0: 9}, 0},
		{"the last", 70001, map[int]float32{70000: 9}, 70000},
		{"the lowest of equals", 20000, map[int]float32{19000: 9, 257: 9, 513: 9}, 257},
		{"NaN is lower than all", 1025, map[int]float32{3: nan, 700: 8}, 700},
		{"infinity", 1025, map[int]float32{3: 100, 1024: inf}, 1024},
	} {
		value := random(7, 1)
		x := put(be, 3, c.n, c.n+5, func(r, i int) float32 {
			if v, ok := c.set[i]; ok {
				return v
			}
			return float32(math.Max(-4, math.Min(4, float64(value(r, i)))))
		})
		got := ids(be, []uint32{99, 99, 99})
		be.ArgMax(got, x.t)
		if found := readIDs(t, be, got); !slices.Equal(found,
			[]uint32{uint32(c.want), uint32(c.want), uint32(c.want)}) {
			t.Errorf("%s: %v, want %d three times", c.name, found, c.want)
		}
		if !slices.ContainsFunc(x.host, func(v float32) bool { return v-v != 0 }) { // such values have no distance
			x.unchanged(t, c.name)
		}
		x.free()
		be.Free(got)
	}
	// Rows of one kind of value: the first of equals, and zeros of both signs are equal.
	x := put(be, 4, 600, 600, func(r, i int) float32 {
		return []float32{nan, -inf, []float32{negZero, zero}[i%2], -3}[r]
	})
	got := ids(be, []uint32{9, 9, 9, 9})
	be.ArgMax(got, x.t)
	if found := readIDs(t, be, got); !slices.Equal(found, []uint32{0, 0, 0, 0}) {
		t.Errorf("equal values: %v, want zeros", found)
	}
	x.free()
	be.Free(got)
}

// testRecord replays steps of decoding.
func testRecord(t *testing.T, be backend.Backend) {
	const positions = 9
	token, pos, id := ids(be, []uint32{5}), ids(be, []uint32{2}), ids(be, []uint32{0})
	history := ids(be, make([]uint32, positions))
	table := encode(t, be, backend.F32, 11, 32, 3)
	x, out := be.Alloc("x", 1, 32), be.Alloc("out", 1, 11)
	step := func() {
		be.Embed(x, table.w, token)
		be.MatMul(out, x, table.w)
		be.ArgMax(id, out)
		be.Advance(token, pos, history, id)
	}
	again := be.Record(step)
	for range 9 {
		again()
	}
	// Every row of the table is most like itself, or like another: follow the ids on the host.
	want, at := make([]uint32, positions), uint32(5)
	for p := 2; p < positions; p++ {
		best, top := 0, math.Inf(-1)
		for o := range 11 {
			var sum float64
			for k := range 32 {
				sum += float64(table.at(int(at), k)) * float64(table.at(o, k))
			}
			if sum > top {
				best, top = o, sum
			}
		}
		at = uint32(best)
		want[p] = at
	}
	if got := readIDs(t, be, history); !slices.Equal(got, want) {
		t.Errorf("history %v, want %v", got, want)
	}
	// The last two steps stood past the history.
	if got := readIDs(t, be, pos); got[0] != 12 {
		t.Errorf("position %d, want 12", got[0])
	}
	// A record outlives what else is allocated and freed.
	for i := range 3 {
		be.Free(be.Alloc(fmt.Sprint("other ", i), 4, 4))
	}
	be.UploadU32(pos, []uint32{0})
	again()
	if got := readIDs(t, be, pos); got[0] != 1 {
		t.Errorf("after other buffers were freed: position %d, want 1", got[0])
	}
	for _, x := range []backend.Tensor{token, pos, id, history, x, out} {
		be.Free(x)
	}
	be.FreeWeight(table.w)
}
