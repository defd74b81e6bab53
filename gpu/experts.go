//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// expertForm forces one of the two forms of the product of experts, for tests and measurements.
type expertForm uint8

const (
	expertsByShape  expertForm = iota
	expertsBySlot              // reads and decodes rows of an expert's matrix for one slot
	expertsInPanels            // slots sorted by expert, then the product of panels
)

// expertPanels chooses how the products of so many slots with matrices of m rows of n elements run, of which a part has so many
// rows: in panels or, where those have no tile, slot by slot. Panels are made of all experts' matrices, and a tile takes as long
// however few of its rows are slots; a slot by itself reads and decodes all of its expert's matrix. As between the two products of MatMul,
// what counts is how many rows of x meet a matrix: here, as the ids are on the device, on average over all experts.
func (b *Backend) expertPanels(slots, experts, m, n, part int) panels {
	by := b.tune.experts
	if by == expertsByShape && slots > b.matVecRows*experts {
		by = expertsInPanels
	}
	// What is sorted, with its tiles, has to fit a binding.
	if by != expertsInPanels || int64(expertWords(slots, experts))*wordBytes > b.limits.MaxBinding {
		return panels{}
	}
	t := b.panelTile(slots < 2*lowRows*experts)
	p := panels{tile: t, depth: roundUp(n, t.Depth), parts: 1}
	p.rows = shaders.ExpertSort{TileRows: t.Rows}.Tiles(shaders.ExpertSortParams{Slots: u32(slots), Experts: u32(experts)}) * t.Rows
	p.cols = roundUp(part, t.Cols)
	p.room = b.panelRoom((p.rows + p.cols) * p.depth)
	most := p.room / (p.rows + p.cols)
	if most < t.Depth {
		return panels{}
	}
	p.step = p.stretch(min(most, int(min(b.pace.budget()/(float64(slots)*float64(m)), 1<<24))))
	return p
}

// expertWords is the most that sorted slots and their tiles take.
func expertWords(slots, experts int) int {
	return shaders.ExpertSort{TileRows: lowRows}.Words(shaders.ExpertSortParams{Slots: u32(slots), Experts: u32(experts)})
}

// expertMatMulPanels records the products of slots in panels. The operands are checked.
func (b *Backend) expertMatMulPanels(op string, n panels, w *weight, x, dst, ids backend.Tensor, xs, is, d *buffer) {
	room, err := b.keep(b.rooms, n.room, "panels", n.room)
	if err != nil {
		b.fail(op, err)
		return
	}
	sort := shaders.ExpertSort{TileRows: n.tile.Rows}
	s := shaders.ExpertSortParams{Slots: u32(dst.Rows), Experts: u32(w.rows / dst.N), IDOff: u32(ids.Off)}
	order, err := b.interim(sort.Words(s))
	if err != nil {
		b.fail(op, err)
		return
	}
	b.dispatch(op, sort, s, s.Grid(), whole(is), whole(order))
	ofX := shaders.Panel{Format: backend.F32.String(), Width: n.tile.Rows, Gather: true}
	ofW := shaders.Panel{Format: w.format.String(), Packed: w.packing != nil, Width: n.tile.Cols}
	v := shaders.ExpertPanel{Tile: n.tile}
	xPanels, wPanels := words(room, 0, n.rows*n.step), words(room, n.rows*n.step, n.cols*n.step)
	p := shaders.PanelParams{
		K: u32(w.n), Rows: u32(n.rows), Off: u32(x.Off), Stride: u32(x.Stride), Slots: s.Slots, PerRow: u32(dst.Rows / x.Rows),
	}
	q := shaders.PanelParams{K: u32(w.n), Stride: u32(w.n), RowUnits: u32(w.rowUnits())}
	t := shaders.ExpertPanelParams{
		M: u32(dst.N), Slots: s.Slots, Experts: s.Experts, Tiles: u32(sort.Tiles(s)), DstOff: u32(dst.Off), DstStride: u32(dst.Stride),
	}
	for at := 0; at < n.depth; at += n.step {
		depth := u32(min(n.step, n.depth-at))
		p.K0, p.Depth, q.K0, q.Depth = u32(at), depth, u32(at), depth
		t.Depth, t.Add = depth, u32(min(at, 1))
		b.dispatch(op, ofX, p, ofX.Grid(p), whole(xs), whole(order), xPanels)
		for _, k := range w.chunks {
			q.Rows, t.RowLo, t.RowHi = u32(k.hi-k.lo), u32(k.lo), u32(k.hi)
			b.dispatch(op, ofW, q, ofW.Grid(q), append(w.bindings(k), wPanels)...)
			b.dispatch(op, v, t, v.Grid(t), wPanels, xPanels, whole(order), whole(d))
		}
	}
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
