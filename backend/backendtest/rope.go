package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

func testRoPE(t *testing.T, be backend.Backend) {
	for _, style := range []backend.RopeStyle{backend.RopeNorm, backend.RopeNeoX} {
		for _, c := range []struct{ rows, heads, headDim, rotDim, pad int }{
			{1, 1, 2, 2, 0}, {3, 4, 8, 8, 0}, {5, 3, 24, 24, 7}, {2, 8, 64, 32, 0}, {17, 2, 128, 128, 5}, {1, 32, 80, 20, 0},
			{4, 5, 96, 6, 3}, {3, 2, 256, 192, 0}, {2, 3, 7, 2, 1}, {300, 300, 4, 2, 0},
		} {
			rope(t, be, style, c.rows, c.heads, c.headDim, c.rotDim, c.pad)
		}
	}
}

// rope checks one shape. Positions go up and down, and table rows that none of them names hold poison.
func rope(t *testing.T, be backend.Backend, style backend.RopeStyle, rows, heads, headDim, rotDim, pad int) {
	t.Helper()
	at := make([]uint32, rows)
	named := map[int]bool{}
	for i := range at {
		at[i] = uint32((i*23 + 39) % 40)
		named[int(at[i])] = true
	}
	table := put(be, 40, rotDim, rotDim, func(r, i int) float32 {
		angle := float64(r) * float64(i/2+1) * 0.37
		switch {
		case !named[r]:
			return poison
		case i%2 == 0:
			return float32(math.Cos(angle))
		}
		return float32(math.Sin(angle))
	})
	x := put(be, rows, heads*headDim, heads*headDim+pad, random(1, 1))
	pos := ids(be, at)
	be.RoPE(x.t, pos, table.t, backend.RoPE{Style: style, HeadDim: headDim, RotDim: rotDim})
	what := fmt.Sprintf("%s, %d rows of %d heads, %d of %d rotate, padding %d", style, rows, heads, rotDim, headDim, pad)
	x.expect(t, what, func(r, i int) (float64, float64) {
		element := i % headDim
		if element >= rotDim {
			return float64(x.at(r, i)), 0
		}
		// The pair that the element belongs to, and whether it is the second of it.
		pair, second, distance := element/2, element%2 == 1, 1
		if style == backend.RopeNeoX {
			pair, second, distance = element%(rotDim/2), element >= rotDim/2, rotDim/2
		}
		cos, sin := float64(table.at(int(at[r]), 2*pair)), float64(table.at(int(at[r]), 2*pair+1))
		self := float64(x.at(r, i))
		if second {
			other := float64(x.at(r, i-distance))
			return other*sin + self*cos, check.DotBound(2, math.Abs(other*sin)+math.Abs(self*cos))
		}
		other := float64(x.at(r, i+distance))
		return self*cos - other*sin, check.DotBound(2, math.Abs(self*cos)+math.Abs(other*sin))
	})
	table.unchanged(t, what+": table")
	x.free()
	table.free()
	be.Free(pos)
}
