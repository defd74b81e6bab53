//go:build cgo

package gpu

import (
	"math/bits"

	"cera/backend"
	"cera/shaders"
)

// Memory returns what is allocated now.
func (b *Backend) Memory() Memory {
	m := b.memory
	m.Working += int64(b.stagingN) + b.ring.bytes()
	return m
}

// account adds a buffer to what is allocated, or with sign -1 takes it off.
func (b *Backend) account(buf *buffer, sign int64) {
	bytes := sign * int64(buf.total()) * wordBytes
	switch buf.kind {
	case tensorBuffer:
		b.memory.Tensors += bytes
	case weightBuffer:
		b.memory.Weights += bytes
	default:
		b.memory.Working += bytes
	}
}

// WeightBytes returns how many bytes LoadWeight allocates for a matrix [rows, n] in format f, or its error.
func (b *Backend) WeightBytes(f backend.Format, rows, n int) (int64, error) {
	rowBytes, err := b.weightShape(f, rows, n)
	if err != nil {
		return 0, err
	}
	packing, most := b.weightLayout(f, rowBytes, n)
	words := func(rows int) int64 {
		if packing != nil {
			return int64(packing.groups(rows, n)) * int64(packing.quants+packing.scales)
		}
		return (int64(rows)*int64(rowBytes) + wordBytes - 1) / wordBytes
	}
	return (int64(rows/most)*words(most) + words(rows%most)) * wordBytes, nil
}

// StagingBytes bounds the memory that weights pass through on their way, of which the largest takes so many bytes; Flush gives
// it back.
func (b *Backend) StagingBytes(largest int64) int64 {
	if !b.ring.takes(largest) {
		return 0
	}
	return int64(b.ring.most) * int64(b.ring.size)
}

// WorkingBytes bounds what Memory.Working grows to for work w, once weights are loaded. Copies of tensors that a binding cannot
// begin at, which live until the next submit, are not in it.
func (b *Backend) WorkingBytes(w Work) int64 {
	const paramBytes = 128 // of the largest parameters, rounded up
	// The splits of an attention have at most so many rows of heads, whichever kernel makes them.
	splits := min(shaders.MaxSplits, (w.Positions+shaders.SplitTile-1)/shaders.SplitTile)
	rows := min(w.Rows*w.Heads*splits, max(8*splitWorkgroups, shaders.TileRows*tileWorkgroups))
	interim := 2 * argMaxParts
	if splits > 1 {
		interim = max(interim, rows*(w.HeadDim+4))
	}
	top := shaders.TopKParams{Rows: 1, N: u32(w.Vocab), K: shaders.MaxTopK}
	top.Group()
	interim = max(interim, top.Words())
	if w.Slots > 0 {
		interim = max(interim, expertWords(w.Slots, w.Experts))
	}
	read := int64(max(1024, min(w.ReadWords, b.stagingMax())))
	halves := int64(3<<10) * wordBytes // of the trial of halves
	// There is a buffer for each power of two up to that, the largest less than twice as large as needed, and so all
	// less than four times.
	return maxCached*paramBytes + 4*int64(interim)*wordBytes + b.panelBytes(w) +
		int64(1)<<bits.Len64(uint64(read-1))*wordBytes + halves
}
