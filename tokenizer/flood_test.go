package tokenizer

import (
	"testing"
	"time"
)

// Merges chosen to want the same place under a factor that is known do not make a table slow: each would go past all
// before it.
func TestMergeTableFlood(t *testing.T) {
	const n, known = 60_000, 0x9E3779B97F4A7C15 // 2^64 over the golden ratio, a common factor
	table := newMergeTable(n)
	mask := uint64(len(table.keys) - 1)
	type pair struct{ left, right int32 }
	var pairs []pair
	for left := int32(0); len(pairs) < n; left++ {
		// Pairs of one left part whose hashes are below 512.
		for right := int32(0); right < 1<<17 && len(pairs) < n; right++ {
			if (uint64(left)<<32|uint64(right)+1)*known>>32&mask < 512 {
				pairs = append(pairs, pair{left, right})
			}
		}
	}
	start := time.Now()
	for i, p := range pairs {
		table.add(p.left, p.right, int32(i), int32(i))
	}
	for i, p := range pairs {
		if rank, _ := table.get(p.left, p.right); rank != int32(i) {
			t.Fatalf("merge %d has rank %d", i, rank)
		}
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("%d merges took %v", n, took)
	}
}
