package cpufast

import (
	"runtime"
	"unsafe"

	"cera/backend"
	"cera/cpu"
	"cera/weights"
)

const (
	groupTokens = 12  // rows of x that lie side by side for the vector kernels
	callTokens  = 252 // rows of x that a call of them takes at most
	pieceRows   = 32  // of a weight: two vectors of AVX-512, which pieces are multiples of
	pieceBytes  = 256 << 10
	chunk       = 1024 // elements that are decoded at a time in pure Go, a multiple of every block
)

// piece is rows lo to hi-1 of a product's weight.
type piece struct {
	*cpu.Product
	columns []float32
	lo, hi  int
}

func (f *fast) matmul(products []cpu.Product) {
	columns := f.arrange(products)
	f.pieces = f.pieces[:0]
	for i := range products {
		p := &products[i]
		step := pieceSize(p)
		for lo := p.Lo; lo < p.Hi; {
			hi := min(p.Hi, lo/pieceRows*pieceRows+step)
			f.pieces = append(f.pieces, piece{p, columns[i], lo, hi})
			lo = hi
		}
	}
	f.parallel(len(f.pieces), func(s *scratch, i int) {
		switch p, m := &f.pieces[i], f.pieces[i].W.(*matrix); {
		case m.panel > 0:
			f.vectors(p, m.data, m.format, m.panel, 0)
		case f.v != nil:
			f.decoded(s, p)
		default:
			rowwise(s, p)
		}
	})
	clear(f.pieces) // they must not keep memory alive
}

// pieceSize returns how many rows of a weight a core takes at a time: enough that taking them costs nothing beside, and
// so few that the cores end together.
func pieceSize(p *cpu.Product) int {
	m := p.W.(*matrix)
	rows := min(pieceBytes/m.format.RowBytes(m.n), (p.Hi-p.Lo)/(4*runtime.GOMAXPROCS(0)))
	return max(1, rows/pieceRows) * pieceRows
}

// arrange returns what the vector kernels read of x, for each product: a single row as it is, several in groups of up
// to 12, column by column. Products of the same rows share it.
func (f *fast) arrange(products []cpu.Product) [][]float32 {
	out := make([][]float32, len(products))
	if f.v == nil {
		return out
	}
	words := 0
	shared := func(i int) bool {
		if i == 0 {
			return false
		}
		a, b := &products[i-1], &products[i]
		return len(a.From) == len(b.From) && &a.From[0] == &b.From[0] && &a.X[0] == &b.X[0] && a.Stride == b.Stride
	}
	type group struct {
		p     *cpu.Product
		first int // of the product's rows of x
		dst   []float32
	}
	var groups []group
	for i := range products {
		if p := &products[i]; len(p.From) > 1 && !shared(i) {
			words += len(p.From) * p.W.(*matrix).n
		}
	}
	free := sized(&f.columns, words)
	for i := range products {
		p, n := &products[i], products[i].W.(*matrix).n
		switch {
		case len(p.From) == 1:
			out[i] = p.X[p.From[0]*p.Stride:][:n]
		case shared(i):
			out[i] = out[i-1]
		default:
			out[i], free = free[:len(p.From)*n], free[len(p.From)*n:]
			for t := 0; t < len(p.From); t += groupTokens {
				groups = append(groups, group{p, t, out[i][t*n : min(t+groupTokens, len(p.From))*n]})
			}
		}
	}
	f.parallel(len(groups), func(_ *scratch, i int) {
		g := groups[i]
		n := g.p.W.(*matrix).n
		tokens := len(g.dst) / n
		for t, from := range g.p.From[g.first : g.first+tokens] {
			at := t
			for _, v := range g.p.X[from*g.p.Stride:][:n] {
				g.dst[at] = v
				at += tokens
			}
		}
	})
	return out
}

// vectors multiplies rows of panels, of which data begins with row base of the weight.
func (f *fast) vectors(p *piece, data []byte, format backend.Format, panel, base int) {
	n := p.W.(*matrix).n
	for t := 0; t < len(p.From); t += callTokens {
		tokens := min(callTokens, len(p.From)-t)
		x, at := p.columns[t*n:(t+tokens)*n], p.At[t:t+tokens]
		f.v.matmul(format, data, panel, n, p.lo-base, p.hi-base, x, tokens, p.Dst[p.lo-p.Lo:], at)
	}
}

// decoded multiplies rows in a format that has no kernel: a panel at a time is decoded.
func (f *fast) decoded(s *scratch, p *piece) {
	m := p.W.(*matrix)
	row, panel := sized(&s.row, m.n), sized(&s.panel, panelRows*m.n)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&panel[0])), 4*len(panel))
	whole := *p
	for lo := whole.lo; lo < whole.hi; lo += panelRows {
		part := whole
		part.lo, part.hi = lo, min(lo+panelRows, whole.hi)
		for r := part.lo; r < part.hi; r++ {
			m.decode(row, r, 0)
			for k, v := range row {
				panel[k*panelRows+r-lo] = v
			}
		}
		f.vectors(&part, bytes, backend.F32, len(bytes), lo)
	}
}

// rowwise multiplies rows without vectors: a chunk of a row is decoded and meets every row of x.
func rowwise(s *scratch, p *piece) {
	m := p.W.(*matrix)
	if dot := dots[m.format]; dot != nil && len(p.From) == 1 {
		x, size := p.X[p.From[0]*p.Stride:][:m.n], m.format.RowBytes(m.n)
		for o := p.lo; o < p.hi; o++ {
			p.Dst[p.At[0]+o-p.Lo] = dot(x, m.data[o*size:(o+1)*size])
		}
		return
	}
	buf, sums := sized(&s.row, min(chunk, m.n)), sized(&s.panel, len(p.From))
	for o := p.lo; o < p.hi; o++ {
		clear(sums)
		for k := 0; k < m.n; k += chunk {
			part := buf[:min(chunk, m.n-k)]
			m.decode(part, o, k)
			for i, from := range p.From {
				sums[i] += dot(p.X[from*p.Stride+k:][:len(part)], part)
			}
		}
		for i, at := range p.At {
			p.Dst[at+o-p.Lo] = sums[i]
		}
	}
}

// decode writes elements k on of row r of a matrix that is as in the file. LoadWeight checked the lengths, so that
// Decode cannot fail.
func (m *matrix) decode(dst []float32, r, k int) {
	from := r*m.format.RowBytes(m.n) + m.format.RowBytes(k)
	if weights.Decode(dst, m.format, m.data[from:from+m.format.RowBytes(len(dst))]) != nil {
		clear(dst)
	}
}
