package cpufast

import (
	"cera/backend"
	"cera/cpu"
)

// A packed matrix is cut into panels of 16 rows, the last filled up with zeros. Blocks of the rows of a panel that lie
// below each other are stored side by side, unit by unit: first the first unit of all 16 rows, then the second. So a
// vector of rows reads one unit of each of them at once, and the bytes are those of the file.
//
//	Q4_0, a block of 16 rows:  [ d of row 0 | d of row 1 | ... | bytes 0 to 3 of row 0's levels | of row 1's | ... ]

// panelRows is how many rows a panel has.
const panelRows = 16

// unit is a run of a block's bytes: count units of size bytes.
type unit struct{ size, count int }

// layouts says how blocks are cut into units, for the formats that the vector kernels read.
var layouts = map[backend.Format][]unit{
	backend.F32:    {{4, 1}},
	backend.F16:    {{2, 1}},
	backend.BF16:   {{2, 1}},
	backend.Q4_0:   {{2, 1}, {4, 4}},
	backend.Q4_1:   {{2, 2}, {4, 4}},
	backend.Q5_0:   {{2, 1}, {4, 5}},
	backend.Q5_1:   {{2, 2}, {4, 5}},
	backend.Q8_0:   {{2, 1}, {1, 32}},
	backend.Q2_K:   {{4, 20}, {2, 2}},
	backend.Q3_K:   {{4, 27}, {2, 1}},
	backend.Q4_K:   {{2, 2}, {4, 35}},
	backend.Q5_K:   {{2, 2}, {4, 43}},
	backend.Q6_K:   {{4, 52}, {2, 1}},
	backend.IQ4_NL: {{2, 1}, {4, 4}},
	backend.IQ4_XS: {{2, 2}, {4, 33}},
	backend.MXFP4:  {{1, 1}, {4, 4}},
}

// matrix is a weight, in panels or, where panel is 0, as in the file.
type matrix struct {
	format  backend.Format
	rows, n int
	data    []byte
	panel   int // bytes of a panel
}

func (f *fast) pack(format backend.Format, rows, n int, data []byte) cpu.Matrix {
	m := &matrix{format: format, rows: rows, n: n}
	if _, ok := layouts[format]; !ok || f.v == nil {
		m.data = allocate(len(data))
		copy(m.data, data)
		return m
	}
	m.panel = panelRows * format.RowBytes(n)
	panels := (rows + panelRows - 1) / panelRows
	m.data = allocate(panels * m.panel)
	f.parallel(panels, func(_ *scratch, p int) {
		rowBytes := format.RowBytes(n)
		for r := p * panelRows; r < min((p+1)*panelRows, rows); r++ {
			interleave(m.data[p*m.panel:(p+1)*m.panel], data[r*rowBytes:(r+1)*rowBytes], format, r%panelRows, true)
		}
	})
	return m
}

func (m *matrix) Row(dst []byte, r int) {
	if m.panel == 0 {
		copy(dst, m.data[r*len(dst):])
		return
	}
	p := r / panelRows * m.panel
	interleave(m.data[p:p+m.panel], dst, m.format, r%panelRows, false)
}

// interleave moves the units of row lane to their places in a panel or, where in is false, back.
func interleave(panel, row []byte, format backend.Format, lane int, in bool) {
	units := layouts[format]
	for len(row) > 0 {
		for _, u := range units {
			for range u.count {
				side := panel[lane*u.size:]
				if in {
					copy(side[:u.size], row)
				} else {
					copy(row[:u.size], side)
				}
				panel, row = panel[panelRows*u.size:], row[u.size:]
			}
		}
	}
}
