//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

const (
	// panelWorkgroups is how many workgroups keep a large GPU busy: where there are fewer tiles, their sums are split.
	panelWorkgroups = 256
	// minSplit is how many steps of the tile's depth a split has at least.
	minSplit = 16
)

// panels says how a product runs in panels.
type panels struct {
	tile  shaders.Tile
	depth int // of the rows, whole steps of the tile
	step  int // of it at a time, which is the depth of the panels
	rows  int // of x at a time, whole tiles
	cols  int // of w at a time, whole tiles
	parts int // that the sums are split into
	room  int // in words, of the panels
}

// panels returns how a product of so many rows of n elements with a matrix of so many rows runs in panels, or with a part of
// it. How sums are split follows from the shape of the whole product and from what the device allows, and not from what was measured of
// it: so that a product gives the same bits each time.
func (b *Backend) panels(rows, n, matrix, part int) panels {
	t := b.panelTile(rows <= lowRows)
	rows, cols := roundUp(rows, t.Rows), roundUp(part, t.Cols)
	p := panels{tile: t, depth: roundUp(n, t.Depth)}
	p.step, p.parts = p.depth, 1
	p.room = b.panelRoom((rows + cols) * p.depth)
	most := p.room / p.depth // rows of both
	p.rows = evenly(rows, max(t.Rows, most/2), t.Rows)
	submit := b.pace.budget() / (float64(p.depth) * float64(p.rows))
	p.cols = evenly(cols, max(t.Cols, min(most-p.rows, int(min(submit, 1<<24)))), t.Cols)
	if p.rows+p.cols > most { // rows too long for one tile of them
		p.step = p.stretch(p.room / (p.rows + p.cols))
		return p
	}
	tiles := rows / t.Rows * (roundUp(matrix, t.Cols) / t.Cols)
	p.parts = max(1, min(panelWorkgroups/tiles, p.depth/t.Depth/minSplit))
	if b.tune.parts > 0 {
		p.parts = b.tune.parts
	}
	if b.sumWords() < sumRoom {
		p.parts = 1
	}
	return p
}

// lowRows is how many rows low tiles have.
const lowRows = 32

// panelTile chooses the tile of a product in panels, low where tiles of more rows would be empty for the most part.
func (b *Backend) panelTile(low bool) shaders.Tile {
	t := shaders.Tile{Rows: 64, Cols: 128, Depth: 8}
	if low {
		t.Rows = lowRows
	}
	return b.fitted(t)
}

// stretch returns how much of the depth is done at a time where the room allows so much, at least a step of the tile. Stretches begin
// with a group of Q8_0 where they can, so that no group is decoded twice.
func (p panels) stretch(most int) int {
	if most >= p.depth {
		return p.depth
	}
	unit := p.tile.Depth
	if most >= shaders.GroupQ8_0 {
		unit = shaders.GroupQ8_0
	}
	return evenly(roundUp(p.depth, unit), max(most, unit), unit)
}

// roundUp returns the first multiple of step from n on.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// evenly cuts n, a multiple of step, into as few equal parts as have at most so many, at least step, multiples of step too, and returns
// how many each has but the last, which may have fewer.
func evenly(n, most, step int) int {
	n, most = n/step, most/step
	parts := (n + most - 1) / most
	return (n + parts - 1) / parts * step
}

// matMulPanels records the product with one part of a weight. The operands are checked.
func (b *Backend) matMulPanels(op string, n panels, w *weight, k chunk, x, dst backend.Tensor, s, d *buffer) {
	room, err := b.keep(b.rooms, n.room, "panels", n.room)
	if err != nil {
		b.fail(op, err)
		return
	}
	ofX := shaders.Panel{Format: backend.F32.String(), Width: n.tile.Rows}
	ofW := shaders.Panel{Format: w.format.String(), Packed: w.packing != nil, Width: n.tile.Cols}
	v := shaders.MatMulPanel{Tile: n.tile}
	end := n.rows * n.step
	xs, ws := words(room, 0, end), words(room, end, n.cols*n.step)
	for r := 0; r < dst.Rows; r += n.rows {
		p := shaders.PanelParams{
			K: u32(w.n), Rows: u32(min(n.rows, dst.Rows-r)), Off: u32(x.Off + r*x.Stride), Stride: u32(x.Stride),
		}
		for o := k.lo; o < k.hi; o += n.cols {
			q := shaders.PanelParams{
				K: u32(w.n), Rows: u32(min(n.cols, k.hi-o)), Stride: u32(w.n), Row0: u32(k.row0 + o - k.lo), RowUnits: u32(w.rowUnits()),
			}
			t := shaders.MatMulPanelParams{
				M: q.Rows, Rows: p.Rows, DstOff: u32(dst.Off + r*dst.Stride + o), DstStride: u32(dst.Stride),
			}
			for at := 0; at < n.depth; at += n.step {
				q.K0, q.Depth = u32(at), u32(min(n.step, n.depth-at))
				if p.K0 != q.K0 || p.Depth != q.Depth { // else the panels of x are there
					p.K0, p.Depth = q.K0, q.Depth
					b.dispatch(op, ofX, p, ofX.Grid(p), whole(s), xs)
				}
				b.dispatch(op, ofW, q, ofW.Grid(q), append(w.bindings(k), ws)...)
				t.Depth, t.Add = q.Depth, u32(min(at, 1))
				b.multiply(op, v, t, n.parts, ws, xs, whole(d))
			}
		}
	}
}

// multiply records the product of panels, with its sums split into so many parts.
func (b *Backend) multiply(op string, v shaders.MatMulPanel, t shaders.MatMulPanelParams, parts int, ws, xs, dst binding) {
	t.Part, t.Parts = t.Depth, 1
	if parts == 1 {
		b.dispatch(op, v, t, v.Grid(t), ws, xs, dst)
		return
	}
	t.Part = u32(roundUp((int(t.Depth)+parts-1)/parts, v.Tile.Depth))
	t.Parts = (t.Depth + t.Part - 1) / t.Part
	sum := shaders.MatMulSumParams{M: t.M, Rows: t.Rows, Parts: t.Parts, DstOff: t.DstOff, DstStride: t.DstStride}
	t.DstOff, t.DstStride = 0, t.M
	sums, err := b.interim(b.sumWords())
	if err != nil {
		b.fail(op, err)
		return
	}
	partial := words(sums, 0, int(sum.Parts*sum.Rows*sum.M))
	b.dispatch(op, v, t, v.Grid(t), ws, xs, partial)
	b.dispatch(op, shaders.MatMulSum{}, sum, sum.Grid(), partial, dst)
}

// Room for panels, in words, is of two sizes, kept for good, as recorded steps refer to it: for small products and for all
// others, which are done in several parts where it does not hold them.
const (
	smallRoom = 1 << 20
	largeRoom = 1 << 26
	sumRoom   = panelWorkgroups * 64 * 128 // of the sums of splits, in words
)

// roomLimit is how many words a buffer that is bound holds at most.
func (b *Backend) roomLimit() int {
	return int(min(b.limits.MaxBinding/wordBytes, b.limits.MaxBuffer/wordBytes-guardWords))
}

// sumWords returns how many words the sums of splits get.
func (b *Backend) sumWords() int { return min(sumRoom, b.roomLimit()) }

// panelRoom returns how much room a product gets whose panels have so many words in all.
func (b *Backend) panelRoom(words int) int {
	switch {
	case b.tune.room > 0:
		return b.tune.room
	case words <= smallRoom:
		return min(smallRoom, b.roomLimit())
	}
	return min(largeRoom, b.roomLimit())
}

// panelBytes bounds the room that products take for work w: that for small ones, and the one for others where there are any.
func (b *Backend) panelBytes(w Work) int64 {
	room := b.panels(w.Rows, w.MatrixN, w.MatrixM, w.MatrixM).room
	if w.Experts > 0 {
		room = max(room, b.expertPanels(w.Slots, w.Experts, w.MatrixM/w.Experts, w.MatrixN, w.MatrixM).room)
	}
	if room > smallRoom {
		room += smallRoom
	}
	return int64(room+b.sumWords()) * wordBytes
}

// words binds n words of a buffer.
func words(buf *buffer, first, n int) binding {
	return binding{buf, uint64(first) * wordBytes, uint64(n) * wordBytes}
}
