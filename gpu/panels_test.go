//go:build cgo

package gpu

import (
	"testing"

	"cera/shaders"
)

// The tile, the parts of x and of the matrix and the splits of sums follow from the shape and the room; the splits from the shape
// alone.
func TestPanels(t *testing.T) {
	tall, low := shaders.Tile{Rows: 64, Cols: 128, Depth: 8}, shaders.Tile{Rows: 32, Cols: 128, Depth: 8}
	const fast, slow = 1e15, 2e9 // multiplications a second
	for _, c := range []struct {
		name            string
		rows, n, matrix int
		part            int // rows of the matrix's part; 0: all
		binding         int64
		rate            float64
		want            panels
	}{
		{"a prompt", 512, 4096, 14336, 0, 1 << 30, fast, panels{tall, 4096, 4096, 512, 14336, 1, largeRoom}},
		{"long rows", 512, 14336, 4096, 0, 1 << 30, fast, panels{tall, 14336, 14336, 512, 4096, 1, largeRoom}},
		{"few columns", 512, 4096, 1024, 0, 1 << 30, fast, panels{tall, 4096, 4096, 512, 1024, 4, largeRoom}},
		{"few tokens", 9, 4096, 4096, 0, 1 << 30, fast, panels{low, 4096, 4096, 32, 4096, 8, largeRoom}},
		{"rows that end inside of a tile", 65, 2049, 129, 0, 1 << 30, fast, panels{tall, 2056, 2056, 128, 256, 16, smallRoom}},
		{"a vocabulary", 512, 4096, 128256, 0, 1 << 30, fast, panels{tall, 4096, 4096, 512, 14336, 1, largeRoom}},
		{"a small model", 64, 64, 300, 0, 1 << 30, fast, panels{tall, 64, 64, 64, 384, 1, smallRoom}},
		{"a slow device", 9, 4096, 4096, 0, 1 << 30, slow, panels{low, 4096, 4096, 32, 640, 8, largeRoom}},
		{"a part of the matrix", 9, 4096, 4096, 200, 1 << 30, fast, panels{low, 4096, 4096, 32, 256, 8, largeRoom}},
		{"more rows than there is room for", 40000, 4096, 4096, 0, 1 << 30, fast, panels{tall, 4096, 4096, 8000, 4096, 1, largeRoom}},
		{"a small binding", 512, 4096, 4096, 0, 1 << 22, fast, panels{tall, 4096, 4096, 128, 128, 1, 1 << 20}},
		{"no room for a tile of whole rows", 64, 4096, 4096, 0, 1 << 20, fast, panels{tall, 4096, 1024, 64, 128, 1, 1 << 18}},
	} {
		b := &Backend{maxThreads: 256, pace: pace{rate: c.rate}}
		b.limits = Limits{WorkgroupStorage: 16 << 10, MaxBinding: c.binding, MaxBuffer: 1 << 30}
		part := c.part
		if part == 0 {
			part = c.matrix
		}
		got := b.panels(c.rows, c.n, c.matrix, part)
		if got != c.want {
			t.Errorf("%s: found %+v, expected %+v", c.name, got, c.want)
		}
		if (got.rows+got.cols)*got.step > got.room {
			t.Errorf("%s: %d + %d rows of %d do not fit %d words", c.name, got.rows, got.cols, got.step, got.room)
		}
	}
}
