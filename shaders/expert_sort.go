package shaders

import "strconv"

// ExpertSort selects the sorting of slots by their experts, in tiles of up to so many slots.
type ExpertSort struct{ TileRows int }

// Program implements Variant.
func (v ExpertSort) Program() Program {
	return Program{
		File:     "expert_sort.wgsl",
		Entry:    "expert_sort",
		Defines:  map[string]string{"TM": strconv.Itoa(v.TileRows) + "u"},
		Bindings: []Access{Read, ReadWrite, Uniform}, // ids, order, params
	}
}

// ExpertSortParams: an id that is not below Experts sorts last.
type ExpertSortParams struct {
	Slots   uint32
	Experts uint32
	IDOff   uint32 // [slots] u32
	Pad0    uint32
}

// Grid returns the workgroups: one an expert, and one for the slots without.
func (p ExpertSortParams) Grid() Grid { return Fold(int(p.Experts) + 1) }

// Tiles returns how many tiles there are, empty ones among them: enough whatever the ids are.
func (v ExpertSort) Tiles(p ExpertSortParams) int {
	return int(p.Slots)/v.TileRows + int(p.Experts) + 1
}

// Words returns the size of what is written: the slots in their order, and three words a tile.
func (v ExpertSort) Words(p ExpertSortParams) int { return int(p.Slots) + 3*v.Tiles(p) }
