//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
)

// Weights of one format that follow one another are one dispatch, whatever the third's is.
func TestJoinedDispatches(t *testing.T) {
	b := open(t, Options{Pack: PackAlways})
	b.flushesHalves("a trial, whose commands are not to be counted")
	const n, rows = 1024, 16
	x := filled(t, b, "x", 1, n, func(r, i int) float32 { return noise(1, r, i) })
	for _, c := range []struct {
		name    string
		formats []backend.Format
		want    int // commands
	}{
		{"all alike", []backend.Format{backend.Q4_K, backend.Q4_K, backend.Q4_K}, 1},
		{"the last another", []backend.Format{backend.Q4_K, backend.Q4_K, backend.Q6_K}, 2},
		{"the first another", []backend.Format{backend.Q6_K, backend.Q4_K, backend.Q4_K}, 2},
		{"the middle another", []backend.Format{backend.Q4_K, backend.Q6_K, backend.Q4_K}, 3},
	} {
		var ws []backend.Weight
		var dst []backend.Tensor
		for _, f := range c.formats {
			ws = append(ws, b.LoadWeight("w", f, rows, n, encoded(f, rows, n)))
			dst = append(dst, b.Alloc("dst", 1, rows))
		}
		b.Join(ws...)
		before := b.commands
		b.MatMuls(dst, x, ws)
		if got := int(b.commands - before); got != c.want {
			t.Errorf("%s: %d commands, expected %d", c.name, got, c.want)
		}
		if err := b.Flush(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i := range ws {
			b.FreeWeight(ws[i])
			b.Free(dst[i])
		}
	}
}
