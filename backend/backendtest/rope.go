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
			{1, 1, 2, 2, 0}, {3, 4, 8, 8, 0}, {5, 3, 24, 24, 7}, {2, 8, 64, 32, 0}, {17, 2, 128, 128, 5},
			{1, 32, 80, 20, 0},
			{4, 5, 96, 6, 3}, {3, 2, 256, 192, 0}, {2, 3, 7, 2, 1}, {300, 300, 4, 2, 0},
		} {
			rope(t, be, style, c.rows, c.heads, c.headDim, c.rotDim, c.pad)
		}
	}
}

// turns are positions and a table of angles, of which rows that no position names hold poison.
type turns struct {
	at    []uint32
	table *operand
	pos   backend.Tensor
}

// putTurns lets positions go up and down.
func putTurns(be backend.Backend, rows, rotDim int) *turns {
	a := &turns{at: make([]uint32, rows)}
	named := map[int]bool{}
	for i := range a.at {
		a.at[i] = uint32((i*23 + 39) % 40)
		named[int(a.at[i])] = true
	}
	a.table = put(be, 40, rotDim, rotDim, func(r, i int) float32 {
		angle := float64(r) * float64(i/2+1) * 0.37
		switch {
		case !named[r]:
			return poison
		case i%2 == 0:
			return float32(math.Cos(angle))
		}
		return float32(math.Sin(angle))
	})
	a.pos = ids(be, a.at)
	return a
}

func (a *turns) free() {
	a.table.be.Free(a.pos)
	a.table.free()
}

// turned returns what a rotation makes of x.
func (a *turns) turned(x *operand, p backend.RoPE) func(r, i int) (float64, float64) {
	return func(r, i int) (float64, float64) {
		element := i % p.HeadDim
		if element >= p.RotDim {
			return float64(x.at(r, i)), 0
		}
		// The pair that the element belongs to, and whether it is the second of it.
		pair, second, distance := element/2, element%2 == 1, 1
		if p.Style == backend.RopeNeoX {
			pair, second, distance = element%(p.RotDim/2), element >= p.RotDim/2, p.RotDim/2
		}
		cos, sin := float64(a.table.at(int(a.at[r]), 2*pair)), float64(a.table.at(int(a.at[r]), 2*pair+1))
		self := float64(x.at(r, i))
		if second {
			other := float64(x.at(r, i-distance))
			return other*sin + self*cos, check.DotBound(2, math.Abs(other*sin)+math.Abs(self*cos))
		}
		other := float64(x.at(r, i+distance))
		return self*cos - other*sin, check.DotBound(2, math.Abs(self*cos)+math.Abs(other*sin))
	}
}

// rope checks one shape.
func rope(t *testing.T, be backend.Backend, style backend.RopeStyle, rows, heads, headDim, rotDim, pad int) {
	t.Helper()
	a, p := putTurns(be, rows, rotDim), backend.RoPE{Style: style, HeadDim: headDim, RotDim: rotDim}
	x := put(be, rows, heads*headDim, heads*headDim+pad, random(1, 1))
	be.RoPE(x.t, a.pos, a.table.t, p)
	what := fmt.Sprintf("%s, %d rows of %d heads, %d of %d rotate, padding %d", style, rows, heads, rotDim, headDim,
		pad)
	x.expect(t, what, a.turned(x, p))
	a.table.unchanged(t, what+": table")
	x.free()
	a.free()
}

// testRopeStoreKV holds keys in the cache to what the device has as rotated keys, bit for bit or rounded.
func testRopeStoreKV(t *testing.T, be backend.Backend) {
	for _, c := range []struct {
		rows, heads, kvHeads, headDim, rotDim, pad int
		together                                   bool // queries, keys and values are parts of one tensor
	}{
		{1, 1, 1, 2, 2, 0, false}, {1, 32, 8, 128, 128, 0, false}, {9, 4, 2, 8, 8, 4, false},
		{3, 6, 3, 24, 10, 1, false}, {2, 3, 1, 7, 4, 0, false},
		{5, 2, 1, 96, 6, 0, false}, {40, 71, 1, 64, 64, 3, false}, {2, 4, 2, 256, 192, 2, false},
		{3, 4, 2, 16, 16, 5, true},
	} {
		for _, style := range []backend.RopeStyle{backend.RopeNorm, backend.RopeNeoX} {
			for _, half := range []bool{false, true} {
				p := backend.RoPE{Style: style, HeadDim: c.headDim, RotDim: c.rotDim}
				what := fmt.Sprintf("%+v, %s, halves %v", c, style, half)
				nq, nkv := c.heads*c.headDim, c.kvHeads*c.headDim
				a := putTurns(be, c.rows, c.rotDim)
				parts := []*operand{put(be, c.rows, nq, nq+c.pad, random(1, 1)),
					put(be, c.rows, nkv, nkv+c.pad, random(2, 1)), put(be, c.rows, nkv, nkv+c.pad, random(3, 1))}
				if c.together {
					for _, x := range parts {
						x.free()
					}
					all := be.Alloc("queries, keys, values", 1, (nq+2*nkv+3*c.pad)*c.rows)
					at := 0
					for _, x := range parts {
						words := c.rows * x.t.Stride
						view := all.View(at, c.rows, x.t.Stride)
						be.Upload(view, x.host)
						view.N = x.t.N
						x.t, at = view, at+words
					}
				}
				q, k, v := parts[0], parts[1], parts[2]
				blank := func(int, int) float32 { return poison }
				kc, vc := putCache(be, half, 40, nkv, c.pad, blank), putCache(be, half, 40, nkv, 0, blank)
				be.RopeStoreKV(backend.KV{K: kc.t, V: vc.t, Half: half}, q.t, k.t, v.t, a.pos, a.table.t, p)
				q.expect(t, what+": q", a.turned(q, p))
				k.expect(t, what+": k", a.turned(k, p))
				v.unchanged(t, what+": v")
				rotated := k.read(t, what)
				row := map[int]int{} // of the tokens, by position
				for r, at := range a.at {
					row[int(at)] = r
				}
				for _, s := range []struct {
					cache *cache
					value func(r, i int) float32
				}{{kc, func(r, i int) float32 { return rotated[r*k.t.Stride+i] }}, {vc, v.at}} {
					s.cache.expectU32(t, what+": cache", func(r, i int) uint32 {
						from, stored := row[r]
						switch {
						case !stored:
							return math.Float32bits(s.cache.operand.at(r, i))
						case !half:
							return math.Float32bits(s.value(from, i))
						}
						bits := uint32(roundHalf(s.value(from, 2*i)))
						if 2*i+1 < nkv {
							bits |= uint32(roundHalf(s.value(from, 2*i+1))) << 16
						}
						return bits
					})
				}
				if c.together {
					be.Free(q.t)
				} else {
					q.free()
					k.free()
					v.free()
				}
				kc.free()
				vc.free()
				a.free()
			}
		}
	}
}
