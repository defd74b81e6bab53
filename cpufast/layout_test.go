package cpufast

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

// TestLayouts: every format that a backend must take has a layout, of all its bytes.
func TestLayouts(t *testing.T) {
	for _, f := range backend.Formats() {
		size := 0
		for _, u := range layouts[f] {
			size += u.size * u.count
		}
		if size != f.BlockBytes() {
			t.Errorf("%v: the units have %d bytes, a block %d", f, size, f.BlockBytes())
		}
	}
}

// TestPanels packs matrices whose last panel is full, or is not, and reads the rows back.
func TestPanels(t *testing.T) {
	eachLevel(t, func(t *testing.T, v *vector) {
		for _, f := range backend.AllFormats() {
			for _, rows := range []int{1, 15, 16, 17, 40} {
				n := 3 * f.Block()
				size := f.RowBytes(n)
				data := backendtest.RandomBlocks(f, rows, n, rand.Uint64())
				m := (&fast{v: v}).pack(f, rows, n, data).(*matrix)
				if _, has := layouts[f]; (m.panel > 0) != (v != nil && has) {
					t.Errorf("%v: panels of %d bytes", f, m.panel)
				}
				for r := range rows {
					row := make([]byte, size)
					m.Row(row, r)
					if !bytes.Equal(row, data[r*size:(r+1)*size]) {
						t.Errorf("%v: row %d of %d came back as other bytes", f, r, rows)
					}
				}
			}
		}
	})
}

// TestPanelOrder spells a panel of Q4_0 out: the scales of 16 rows, then four bytes of each.
func TestPanelOrder(t *testing.T) {
	if len(vectors()) == 0 {
		t.Skip("SKIPPED: this build has no vector kernels, and so no panels")
	}
	const rows, size = 16, 18
	data := make([]byte, rows*size)
	for i := range data {
		data[i] = byte(i / size * 16)
		if at := i % size; at >= 2 {
			data[i] += byte((at - 2) / 4)
		}
	}
	var want []byte
	for r := range rows {
		want = append(want, byte(r*16), byte(r*16))
	}
	for word := range 4 {
		for r := range rows {
			for range 4 {
				want = append(want, byte(r*16+word))
			}
		}
	}
	m := (&fast{v: &vectors()[0]}).pack(backend.Q4_0, rows, 32, data).(*matrix)
	if !bytes.Equal(m.data, want) {
		t.Errorf("the panel is\n%v, want\n%v", m.data, want)
	}
}

// TestAllocate: memory is zeroed and as long as asked for, whether large pages fit into it or not.
func TestAllocate(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 21, 5<<20 + 3} {
		b := allocate(n)
		if len(b) != n || len(bytes.Trim(b, "\x00")) != 0 {
			t.Errorf("allocate(%d) gave %d bytes, or some that are not zero", n, len(b))
		}
	}
}
