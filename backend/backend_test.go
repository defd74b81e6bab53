package backend

import "testing"

// TestReachOf: attention is laid out for its last position at least, and never past the cache.
func TestReachOf(t *testing.T) {
	for _, c := range []struct{ pos, ctx, want int }{
		{0, 4096, 256}, {255, 4096, 256}, {256, 4096, 1024}, {1023, 4096, 1024}, {1024, 4096, 4096}, {4095, 4096, 4096},
		{0, 100, 100}, {99, 100, 100}, {300, 700, 700},
		{5000, 4096, 4096}, // past the context: the step does no harm
	} {
		if got := Reach(c.pos, c.ctx); got != c.want {
			t.Errorf("position %d of %d: found a reach of %d, expected %d", c.pos, c.ctx, got, c.want)
		}
	}
}
