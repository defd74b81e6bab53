package weights

import "testing"

// The golden blocks meet a part of the grids only. All of each table ascends and holds levels that there are, and a group
// of IQ2 has the middle level an even number of times: most wrong digits break one of these.
func TestGrids(t *testing.T) {
	for _, c := range []struct {
		name  string
		grid  []uint16
		bits  int // a level
		most  uint16
		pairs bool // the middle level comes in pairs
	}{
		{"grid1", grid1[:], 2, 2, false},
		{"grid2XXS", grid2XXS[:], 2, 2, true},
		{"grid2XS", grid2XS[:], 2, 2, true},
		{"grid2S", grid2S[:], 2, 2, true},
		{"grid3XXS", grid3XXS[:], 4, 7, false},
		{"grid3S", grid3S[:], 4, 7, false},
	} {
		for i, g := range c.grid {
			if i > 0 && g <= c.grid[i-1] {
				t.Errorf("%s: entry %d is %#04x after %#04x", c.name, i, g, c.grid[i-1])
			}
			middle := 0
			for at := 0; at < 16; at += c.bits {
				level := g >> at & (1<<c.bits - 1)
				if level > c.most {
					t.Errorf("%s: entry %d, %#04x, has a level of %d, expected at most %d", c.name, i, g, level, c.most)
				}
				if level == 1 {
					middle++
				}
			}
			if c.pairs && middle%2 != 0 {
				t.Errorf("%s: entry %d, %#04x, has the middle level %d times, expected an even number", c.name, i, g, middle)
			}
		}
	}
}
