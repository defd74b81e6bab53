//go:build cgo

package gpu

import (
	"testing"

	"cera/backend/backendtest"
)

// BenchmarkAttention compares the ways to run attention, as BenchAttention says; "chosen" is what the backend picks by
// itself. A tenth of a second a line is enough: -bench Attention -benchtime 100ms.
func BenchmarkAttention(b *testing.B) {
	be, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	defer be.Close()
	variants := func(names ...string) []backendtest.AttentionVariant {
		list := []backendtest.AttentionVariant{{Name: "chosen", Use: func() { be.attention = attentionForce{} }}}
		for _, name := range names {
			force, err := parseAttention(name)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, backendtest.AttentionVariant{Name: name, Use: func() { be.attention = force }})
		}
		return list
	}
	backendtest.BenchAttention(b, be, backendtest.AttentionBench{
		Few:  variants("general", "split-256", "split-512", "split-1024"),
		Many: variants("general", "tile-64-16", "tile-64-32", "tile-128-16", "tile-128-32"),
	})
}
