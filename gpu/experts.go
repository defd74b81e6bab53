//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// expertForm forces one of the two forms of the product of experts, for tests and measurements.
type expertForm uint8

const (
	expertsByShape expertForm = iota
	expertsBySlot             // a workgroup an output: reads a row of an expert's matrix for one slot
	expertsByTile             // slots sorted by expert, then the tiled product
)

// expertTile chooses how the products of so many slots run: in tiles of the shape that it returns or, where that has no rows, slot
// by slot. Sorting takes a dispatch more, and a tile takes as long however few of its rows are slots; a slot by itself reads and
// decodes all of its expert's matrix. As between the two products of MatMul, what counts is how many rows of x meet a
// matrix: here, as the ids are on the device, on average over all experts.
func (b *Backend) expertTile(slots, experts int) shaders.Tile {
	by := b.tune.experts
	if by == expertsByShape && slots > b.matVecRows*experts {
		by = expertsByTile
	}
	// What is sorted, with its tiles, has to fit a binding.
	if by != expertsByTile || int64(expertWords(slots, experts))*wordBytes > b.limits.MaxBinding {
		return shaders.Tile{}
	}
	t := shaders.Tile{Rows: 64, Cols: 128, Depth: 16}
	if slots < t.Rows*experts { // most would be half empty
		t.Rows = minExpertRows
	}
	return b.fitted(t, shaders.ExpertTile{Tile: t}.Storage()-t.Bytes())
}

// minExpertRows is the smaller of the numbers of rows that tiles of experts have.
const minExpertRows = 32

// expertWords is the most that sorted slots and their tiles take.
func expertWords(slots, experts int) int {
	return shaders.ExpertSort{TileRows: minExpertRows}.Words(shaders.ExpertSortParams{Slots: u32(slots), Experts: u32(experts)})
}

// expertTiles records the products of slots in tiles. The operands are checked; p says what the parts of w share.
func (b *Backend) expertTiles(op string, p shaders.ExpertTileParams, t shaders.Tile, w *weight, ids backend.Tensor, x, is, dst *buffer) {
	sort := shaders.ExpertSort{TileRows: t.Rows}
	s := shaders.ExpertSortParams{Slots: p.Slots, Experts: p.Experts, IDOff: u32(ids.Off)}
	order, err := b.interim(sort.Words(s))
	if err != nil {
		b.fail(op, err)
		return
	}
	b.dispatch(op, sort, s, s.Grid(), whole(is), whole(order))
	p.Tiles = u32(sort.Tiles(s))
	v := shaders.ExpertTile{Format: w.format.String(), Packed: w.packing != nil, Tile: t}
	step := b.expertCols(p, t)
	for _, k := range w.chunks {
		p.RowLo, p.RowHi = u32(k.lo), u32(k.hi)
		for p.Col0 = 0; p.Col0 < p.M; p.Col0 += p.Cols {
			p.Cols = min(step, p.M-p.Col0)
			b.dispatch(op, v, p, v.Grid(p), whole(k.buf), whole(k.scalesOrSelf()), whole(x), whole(order), whole(dst))
		}
	}
}

// expertCols returns how many columns one dispatch takes, whole tiles: as many as a submit may.
func (b *Backend) expertCols(p shaders.ExpertTileParams, t shaders.Tile) uint32 {
	tile := float64(p.K) * float64(p.Slots) * float64(t.Cols)
	return uint32(min(max(1, b.pace.budget()/tile), 1<<16)) * u32(t.Cols)
}

// expertVec records the products of slots one by one. The operands are checked.
func (b *Backend) expertVec(op string, w *weight, x, dst, ids backend.Tensor, xs, is, d *buffer) {
	v := shaders.ExpertVec{MatVecPacked: b.matVec(w, 1, dst.N*dst.Rows)}
	for _, k := range w.chunks {
		p := shaders.ExpertVecParams{
			Units: u32(w.units(x)), M: u32(dst.N), K4: u32(w.n / 4), Tokens: 1, XOff4: u32(x.Off / 4), XStride4: u32(x.Stride / 4),
			DstOff: u32(dst.Off), DstStride: u32(dst.Stride), PerRow: u32(dst.Rows / x.Rows), IDOff: u32(ids.Off),
			Experts: u32(w.rows / dst.N), RowLo: u32(k.lo), RowHi: u32(k.hi),
		}
		b.dispatch(op, v, p, v.Grid(p, dst.Rows), whole(k.buf), whole(k.scalesOrSelf()), whole(xs), whole(is), whole(d))
	}
}
