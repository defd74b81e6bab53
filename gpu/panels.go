//go:build cgo

package gpu

import (
	"cera/backend"
	"cera/shaders"
)

// matMulForm forces one of the two tiled products, for tests and measurements.
type matMulForm uint8

const (
	matMulInPanels matMulForm = iota // x and weights are decoded once to panels, of which tiles are filled as they come
	matMulDecoding                   // the kernel decodes weights while it fills its tiles, once for each tile of rows
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
	depth int // row length of the panels
	rows  int // of x at a time, whole tiles
	cols  int // of w at a time, whole tiles
	parts int // that the sums are split into
	room  int // in words, of the panels
}

// panels returns how a product of so many rows of n elements with a matrix of so many rows runs in panels, or with a part of
// it; one without rows does not, as there is no room for a tile of rows so long. How sums are split follows from the shape of the whole
// product alone, and not from the room, nor from what was measured of the device: so that a product gives the same bits
// each time.
func (b *Backend) panels(rows, n, matrix, part int) panels {
	if b.tune.matMul == matMulDecoding {
		return panels{}
	}
	t := shaders.Tile{Rows: 64, Cols: 128, Depth: 8}
	if rows <= 32 {
		t.Rows = 32
	}
	t = b.fitted(t, 0)
	rows, cols := roundUp(rows, t.Rows), roundUp(part, t.Cols)
	p := panels{tile: t, depth: roundUp(n, t.Depth)}
	p.room = b.panelRoom((rows + cols) * p.depth)
	most := p.room / p.depth // rows of both
	p.rows = evenly(rows, most/2, t.Rows)
	if p.rows == 0 {
		return panels{}
	}
	submit := b.pace.budget() / (float64(p.depth) * float64(p.rows))
	p.cols = evenly(cols, min(most-p.rows, max(t.Cols, int(min(submit, 1<<24)))), t.Cols)
	if p.cols == 0 {
		return panels{}
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

// roundUp returns the first multiple of step from n on.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// evenly cuts n, a multiple of step, into as few equal parts as have at most so many, multiples of step too, and returns how many
// each has but the last, which may have fewer; 0 where not even one step fits.
func evenly(n, most, step int) int {
	if most /= step; most == 0 {
		return 0
	}
	n /= step
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
	end := n.rows * n.depth
	xs, ws := words(room, 0, end), words(room, end, n.cols*n.depth)
	for r := 0; r < dst.Rows; r += n.rows {
		p := shaders.PanelParams{
			K: u32(w.n), Rows: u32(min(n.rows, dst.Rows-r)), Off: u32(x.Off + r*x.Stride), Stride: u32(x.Stride), Depth: u32(n.depth),
		}
		b.dispatch(op, ofX, p, ofX.Grid(p), whole(s), xs)
		for o := k.lo; o < k.hi; o += n.cols {
			q := shaders.PanelParams{
				K: u32(w.n), Rows: u32(min(n.cols, k.hi-o)), Stride: u32(w.n), Row0: u32(k.row0 + o - k.lo), RowUnits: u32(w.rowUnits()),
				Depth: u32(n.depth),
			}
			b.dispatch(op, ofW, q, ofW.Grid(q), append(w.bindings(k), ws)...)
			t := shaders.MatMulPanelParams{
				Depth: u32(n.depth), M: q.Rows, Rows: p.Rows, Part: u32(n.depth), Parts: 1,
				DstOff: u32(dst.Off + r*dst.Stride + o), DstStride: u32(dst.Stride),
			}
			if n.parts == 1 {
				b.dispatch(op, v, t, v.Grid(t), ws, xs, whole(d))
				continue
			}
			t.Part = u32(roundUp((n.depth+n.parts-1)/n.parts, n.tile.Depth))
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
			b.dispatch(op, shaders.MatMulSum{}, sum, sum.Grid(), partial, whole(d))
		}
	}
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

// panelBytes bounds the room that products of so many rows with matrices of at most cols rows of n elements take.
func (b *Backend) panelBytes(rows, n, cols int) int64 {
	room := b.panels(rows, n, cols, cols).room
	switch room {
	case 0:
		return 0
	case min(smallRoom, b.roomLimit()):
		return int64(room+b.sumWords()) * wordBytes
	}
	return int64(smallRoom+room+b.sumWords()) * wordBytes
}

// words binds n words of a buffer.
func words(buf *buffer, first, n int) binding {
	return binding{buf, uint64(first) * wordBytes, uint64(n) * wordBytes}
}
