//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
	"cera/shaders"
)

// The form and the tile follow from the shape and from what the device has.
func TestExpertTile(t *testing.T) {
	none := shaders.Tile{}
	large, low := shaders.Tile{Rows: 64, Cols: 128, Depth: 16}, shaders.Tile{Rows: 32, Cols: 128, Depth: 16}
	forced := shaders.Tile{Rows: 128, Cols: 32, Depth: 8}
	for _, c := range []struct {
		name             string
		slots, experts   int
		matVecRows       int
		threads, storage int
		tune             tuning
		want             shaders.Tile
	}{
		{"a token", 8, 128, 8, 256, 16 << 10, tuning{}, none},
		{"eight slots an expert", 1024, 128, 8, 256, 16 << 10, tuning{}, none},
		{"more than eight", 1025, 128, 8, 256, 16 << 10, tuning{}, low},
		{"a prompt", 4096, 128, 8, 256, 16 << 10, tuning{}, low},
		{"a prompt of few experts", 1024, 8, 8, 256, 16 << 10, tuning{}, large},
		{"slots by themselves as for MatMul", 100, 8, 20, 256, 16 << 10, tuning{}, none},
		{"always in tiles", 1, 8, -1, 256, 16 << 10, tuning{}, low},
		{"few threads", 1024, 8, 8, 64, 16 << 10, tuning{}, shaders.Tile{Rows: 64, Cols: 64, Depth: 16}},
		{"few threads, low tiles", 511, 8, 8, 64, 16 << 10, tuning{}, low},
		{"little memory", 1024, 8, 8, 256, 12 << 10, tuning{}, shaders.Tile{Rows: 64, Cols: 64, Depth: 16}},
		{"forced by slot", 1024, 8, 8, 256, 16 << 10, tuning{experts: expertsBySlot}, none},
		{"forced by tile", 1, 8, 8, 256, 16 << 10, tuning{experts: expertsByTile}, low},
		{"forced tile", 1024, 8, 8, 256, 16 << 10, tuning{tile: forced}, forced},
		{"forced tile, few slots", 8, 8, 8, 256, 16 << 10, tuning{tile: forced}, none},
		{"more than a binding", 1 << 16, 8, 8, 256, 16 << 10, tuning{}, none},
	} {
		b := &Backend{matVecRows: c.matVecRows, maxThreads: c.threads, tune: c.tune}
		b.limits.WorkgroupStorage, b.limits.MaxBinding = c.storage, 1<<18
		if got := b.expertTile(c.slots, c.experts); got != c.want {
			t.Errorf("%s: found %+v, expected %+v", c.name, got, c.want)
		}
	}
}

// Slots come out by their experts, each expert's in their order, and every slot is in one tile of its expert, whatever the ids are.
func TestExpertSort(t *testing.T) {
	for _, threads := range []int{0, 64} {
		b := open(t, Options{Limits: Limits{Invocations: threads}})
		rng := rand.New(rand.NewPCG(rand.Uint64(), 3))
		for _, c := range []struct {
			name           string
			slots, experts int
			rows           int // of a tile
			id             func(s int) uint32
		}{
			{"one", 1, 1, 64, func(int) uint32 { return 0 }},
			{"none there is", 70, 3, 32, func(s int) uint32 { return []uint32{3, 4, math.MaxUint32}[s%3] }},
			{"one expert", 640, 5, 64, func(int) uint32 { return 3 }},
			{"the last expert", 129, 5, 32, func(int) uint32 { return 4 }},
			{"falling", 300, 300, 16, func(s int) uint32 { return uint32(299 - s) }},
			{"random", 4096, 128, 32, func(int) uint32 { return rng.Uint32N(128) }},
			{"random, some past the end", 1000, 60, 32, func(int) uint32 { return rng.Uint32N(80) }},
			{"more experts than slots", 50, 700, 64, func(int) uint32 { return rng.Uint32N(700) }},
			{"many", 70001, 4, 64, func(int) uint32 { return rng.Uint32N(5) }},
		} {
			t.Run(fmt.Sprintf("%s, %d threads", c.name, threads), func(t *testing.T) {
				list := make([]uint32, 7+c.slots)
				for s := range c.slots {
					list[7+s] = c.id(s)
				}
				ids := uploaded(b, "ids", list)
				v := shaders.ExpertSort{TileRows: c.rows}
				p := shaders.ExpertSortParams{Slots: u32(c.slots), Experts: u32(c.experts), IDOff: u32(ids.Off + 7)}
				out := filled(t, b, "order", 1, v.Words(p)+9, func(int, int) float32 { return 99 })
				b.dispatch("sort", v, p, p.Grid(), whole(ids.Buf.(*buffer)), whole(out.Buf.(*buffer)))
				var got []uint32
				for _, f := range read(t, b, out) {
					got = append(got, math.Float32bits(f))
				}
				b.Free(ids)
				b.Free(out)
				checkSorted(t, list[7:], got, v, p)
				for _, w := range got[v.Words(p):] {
					if w != math.Float32bits(99) {
						t.Fatalf("%d was written after the end", w)
					}
				}
			})
		}
	}
}

// checkSorted compares an order and its tiles with a sort on the host.
func checkSorted(t *testing.T, list, got []uint32, v shaders.ExpertSort, p shaders.ExpertSortParams) {
	t.Helper()
	expert := func(s uint32) uint32 { return min(list[s], p.Experts) }
	want := make([]uint32, len(list))
	for s := range want {
		want[s] = uint32(s)
	}
	slices.SortStableFunc(want, func(a, b uint32) int { return int(expert(a)) - int(expert(b)) })
	if !slices.Equal(got[:len(want)], want) {
		t.Fatal("the order of the slots differs")
	}
	next := uint32(0) // place of the order that no tile has had
	for i := range v.Tiles(p) {
		tile := got[len(want)+3*i:][:3]
		if tile[2] == 0 {
			continue
		}
		if tile[1] != next || tile[2] > uint32(v.TileRows) {
			t.Fatalf("tile %d has %d slots from %d on, expected up to %d from %d on", i, tile[2], tile[1], v.TileRows, next)
		}
		next += tile[2]
		for _, s := range want[tile[1]:next] {
			if expert(s) != tile[0] {
				t.Fatalf("tile %d is of expert %d, but has slot %d of expert %d", i, tile[0], s, expert(s))
			}
		}
	}
	if int(next) != len(list) {
		t.Fatalf("%d slots are in tiles, expected %d", next, len(list))
	}
}

// Where a submit holds few columns, a product of experts goes to the device in several dispatches, with the same bits.
func TestExpertsInParts(t *testing.T) {
	b := open(t, Options{})
	b.tune.experts = expertsByTile
	const experts, m, k, slots = 3, 300, 64, 90
	ids := uploaded(b, "ids", make([]uint32, slots))
	list := make([]uint32, slots)
	for s := range list {
		list[s] = uint32(s*7) % (experts + 1)
	}
	b.UploadU32(ids, list)
	x := filled(t, b, "x", slots, k, func(r, i int) float32 { return noise(1, r, i) })
	w := b.LoadWeight("w", backend.Q8_0, experts*m, k, encoded(backend.Q8_0, experts*m, k))
	run := func(rate float64) ([]float32, int) {
		dst := filled(t, b, "dst", slots, m, func(int, int) float32 { return 99 })
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		b.pace = pace{rate: rate, measured: sure}
		before := b.commands
		b.ExpertMatMul(dst, x, w, ids)
		commands := int(b.commands - before)
		out := read(t, b, dst)
		b.Free(dst)
		return out, commands
	}
	want, one := run(1e18)
	got, many := run(1)
	sameBits(t, "in parts", got, want)
	if one != 2 || many != 4 { // the sort, and 300 columns in tiles of 128
		t.Errorf("%d and %d commands, expected 2 and 4", one, many)
	}
	b.FreeWeight(w)
}
