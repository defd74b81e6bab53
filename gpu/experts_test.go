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

// The form, the tile and the stretches follow from the shape and from what the device has.
func TestExpertPanels(t *testing.T) {
	none := panels{}
	large, low, narrow := shaders.Tile{Rows: 64, Cols: 128, Depth: 8}, shaders.Tile{Rows: 32, Cols: 128, Depth: 8},
		shaders.Tile{Rows: 64, Cols: 64, Depth: 8}
	forced := shaders.Tile{Rows: 128, Cols: 32, Depth: 8}
	const fast, slow = 1e15, 2e9 // multiplications a second
	for _, c := range []struct {
		name             string
		slots, experts   int
		m, n             int
		matVecRows       int
		threads, storage int
		rate             float64
		tune             tuning
		want             panels
	}{
		{"a token", 8, 128, 768, 2048, 8, 256, 16 << 10, fast, tuning{}, none},
		{"eight slots an expert", 1024, 128, 768, 2048, 8, 256, 16 << 10, fast, tuning{}, none},
		{"more than eight", 1025, 128, 768, 2048, 8, 256, 16 << 10, fast, tuning{}, panels{low, 2048, 512, 161 * 32, 98304, 1, largeRoom}},
		{"a prompt", 4096, 128, 768, 2048, 8, 256, 16 << 10, fast, tuning{}, panels{low, 2048, 512, 257 * 32, 98304, 1, largeRoom}},
		{"a prompt of few experts", 1024, 8, 4096, 14336, 8, 256, 16 << 10, fast, tuning{}, panels{large, 14336, 1536, 25 * 64, 32768, 1, largeRoom}},
		{"small matrices", 80, 4, 100, 100, 8, 256, 16 << 10, fast, tuning{}, panels{low, 104, 104, 7 * 32, 512, 1, smallRoom}},
		{"a slow device", 80, 4, 1000, 1000, 8, 256, 16 << 10, slow, tuning{}, panels{low, 1000, 1000, 7 * 32, 4096, 1, largeRoom}},
		{"a slower one", 80, 4, 1000, 1000, 8, 256, 16 << 10, slow / 100, tuning{}, panels{low, 1000, 8, 7 * 32, 4096, 1, largeRoom}},
		{"slots by themselves as for MatMul", 100, 8, 64, 64, 20, 256, 16 << 10, fast, tuning{}, none},
		{"always in panels", 1, 8, 64, 64, -1, 256, 16 << 10, fast, tuning{}, panels{low, 64, 64, 9 * 32, 512, 1, smallRoom}},
		{"few threads", 1024, 8, 64, 64, 8, 64, 16 << 10, fast, tuning{}, panels{narrow, 64, 64, 25 * 64, 512, 1, smallRoom}},
		{"few threads, low tiles", 511, 8, 64, 64, 8, 64, 16 << 10, fast, tuning{}, panels{low, 64, 64, 24 * 32, 512, 1, smallRoom}},
		{"little memory", 1024, 8, 64, 64, 8, 256, 5 << 10, fast, tuning{}, panels{narrow, 64, 64, 25 * 64, 512, 1, smallRoom}},
		{"forced by slot", 1024, 8, 64, 64, 8, 256, 16 << 10, fast, tuning{experts: expertsBySlot}, none},
		{"forced in panels", 1, 8, 64, 64, 8, 256, 16 << 10, fast, tuning{experts: expertsInPanels}, panels{low, 64, 64, 9 * 32, 512, 1, smallRoom}},
		{"forced tile", 1024, 8, 64, 64, 8, 256, 16 << 10, fast, tuning{tile: forced}, panels{forced, 64, 64, 17 * 128, 512, 1, smallRoom}},
		{"little room", 80, 4, 1000, 1000, 8, 256, 16 << 10, fast, tuning{room: 40 << 10}, panels{low, 1000, 8, 7 * 32, 4096, 1, 40 << 10}},
		{"no room", 80, 4, 1000, 1000, 8, 256, 16 << 10, fast, tuning{room: 8 << 10}, none},
		{"more than a binding", 1 << 28, 8, 64, 64, 8, 256, 16 << 10, fast, tuning{}, none},
	} {
		b := &Backend{matVecRows: c.matVecRows, maxThreads: c.threads, tune: c.tune, pace: pace{rate: c.rate}}
		b.limits = Limits{WorkgroupStorage: c.storage, MaxBinding: 1 << 30, MaxBuffer: 1 << 30}
		got := b.expertPanels(c.slots, c.experts, c.m, c.n, c.experts*c.m)
		if got != c.want {
			t.Errorf("%s: found %+v, expected %+v", c.name, got, c.want)
		}
		if (got.rows+got.cols)*got.step > got.room {
			t.Errorf("%s: %d + %d rows of %d do not fit %d words", c.name, got.rows, got.cols, got.step, got.room)
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

// Where a submit does little, a product of experts goes to the device in stretches of its rows, with the same bits.
func TestExpertsInParts(t *testing.T) {
	b := open(t, Options{})
	b.tune.experts = expertsInPanels
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
	if one != 4 || many != 25 { // the sort, and for all of 64 elements or for 8 each the panels of x and of w and the product
		t.Errorf("%d and %d commands, expected 4 and 25", one, many)
	}
	b.FreeWeight(w)
}
